"""Everything that is kept in a scope, as records, one after the other."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ricordo.memory.portable import (
    Record,
    dead_letter_record,
    memory_record,
    refusal_record,
    relation_record,
    revision_record,
    turn_record,
)
from ricordo.memory.portable_graph import graph_records
from ricordo.model import Listing, Memory, Refusal, Relate, Scope, Turn
from ricordo.ports import Ledger, Reading

ALL = 1 << 62
"""No bound on refusals, dead letters and turns: an export that ends early would not say so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Which memories, refusals and queued work an export shows."""

    memory: Callable[[Memory], bool]
    refusal: Callable[[Refusal], bool]
    work: Callable[[Turn | Relate], bool]


async def export(ledger: Ledger, *, scope: Scope, shown: Shown) -> AsyncIterator[Record]:
    """What is kept in a scope, as far as it is to be shown, record by record."""

    async def named(tx: Reading) -> list[Record]:
        return await graph_records(tx, scope=scope)

    for record in await ledger.read(named, scopes=[scope]):
        yield record

    listing = Listing(limit=200)
    while True:
        page = listing

        async def look(tx: Reading, page: Listing = page) -> tuple[list[Record], str | None]:
            found = await tx.page(page, scope=scope)
            seen = [memory for memory in found.memories if shown.memory(memory)]
            return [await _whole(tx, m, scope=scope) for m in seen], found.cursor

        records, cursor = await ledger.read(look, scopes=[scope])
        for record in records:
            yield record
        if cursor is None:
            break
        listing = replace(listing, after=cursor)

    async def refused(tx: Reading) -> Sequence[Refusal]:
        return await tx.refusals(scope=scope, limit=ALL)

    for refusal in await ledger.read(refused, scopes=[scope]):
        if shown.refusal(refusal):
            yield {"record": "refusal", **refusal_record(refusal)}
    for letter in await ledger.dead_letters(scope=scope, limit=ALL):
        if shown.work(letter.job.work):
            yield {"record": "dead_letter", **dead_letter_record(letter)}
    for turn in await ledger.waiting(scope=scope, limit=ALL):
        if shown.work(turn):
            yield {"record": "turn", **turn_record(turn)}


async def _whole(tx: Reading, memory: Memory, *, scope: Scope) -> Record:
    extra: Mapping[str, object] = {
        "history": [revision_record(r) for r in await tx.history(memory.id, scope=scope)],
        "relations": [relation_record(r) for r in await tx.relations_of([memory.id], scope=scope)],
    }
    return {"record": "memory", **memory_record(memory), **extra}
