"""Values for the suites: people who must not see each other, memories, turns, a clock by hand."""

from array import array
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ricordo.model import (
    Entity,
    Indexed,
    Kind,
    Memory,
    OrganizationScope,
    Origin,
    Partition,
    Relation,
    Said,
    Scope,
    Space,
    Speaker,
    Status,
    Turn,
    UserScope,
    new_id,
)
from ricordo.ports import Ledger, Reading, Rows, Writing

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
"""When the suites' time begins."""

ALICE = UserScope(tenant="acme", user="alice")
BOB = UserScope(tenant="acme", user="bob")
OTHER_ALICE = UserScope(tenant="globex", user="alice")
COMMON = OrganizationScope(tenant="acme")
PLATFORM = OrganizationScope(tenant="acme", namespace="platform")
LOOKALIKE = OrganizationScope(tenant="acme", namespace="alice")
SCOPES: tuple[Scope, ...] = (ALICE, BOB, OTHER_ALICE, COMMON, PLATFORM, LOOKALIKE)
"""Neighbours of each other in every respect in which a scope can be mistaken."""

SPACE = Space(model="test", dimension=4, transform="none", words="test-1")
OTHER_SPACE = Space(model="test", dimension=4, transform="whitened", words="test-1")


class HandClock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> datetime:
        """Move on, and return the new time."""
        self.now += timedelta(seconds=seconds)
        return self.now


def memory(text: str = "Works on Project Falcon", **more: Any) -> Memory:
    """A fact of Alice, unless told otherwise."""
    at = more.pop("at", START)
    held: dict[str, Any] = {
        "id": new_id("m"),
        "scope": ALICE,
        "kind": Kind.FACT,
        "recorded_at": at,
        "updated_at": at,
        "origins": (origin(at=at),),
    }
    return Memory(text=text, **{**held, **more})


def preference(
    text: str = "Prefers short examples", *, agent: str = "coder", **more: Any
) -> Memory:
    """A preference that Alice's agent learned."""
    return memory(text, kind=Kind.PREFERENCE, agent=agent, **more)


def origin(*, at: datetime = START, **more: Any) -> Origin:
    """A turn in Alice's conversation."""
    held: dict[str, Any] = {"agent": "coder", "thread_id": "thread-1", "run_id": "run-1"}
    return Origin(at=at, **{**held, **more})


def indexed(seed: int = 1) -> Indexed:
    """An index row that can be told from others by its seed."""
    vector = array("f", [float(seed), 0.0, 0.0, 1.0])
    terms = array("Q", [seed, seed + 1, 2**64 - 1])
    return Indexed(
        vector=vector.tobytes(),
        terms=terms.tobytes(),
        counts=array("H", [1, 2, 3]).tobytes(),
        length=6,
    )


def entity(name: str, *, scope: Scope = ALICE, **more: Any) -> Entity:
    """An entity with an id of its own."""
    held: dict[str, Any] = {"id": new_id("n"), "type": "thing", "recorded_at": START}
    return Entity(name=name, scope=scope, **{**held, **more})


def relation(source: Entity, target: Entity, *evidence: Memory, **more: Any) -> Relation:
    """A relation between two entities, supported by memories."""
    held: dict[str, Any] = {"id": new_id("r"), "type": "uses", "recorded_at": START}
    return Relation(
        scope=source.scope,
        source=source.id,
        target=target.id,
        source_name=source.name,
        target_name=target.name,
        evidence=tuple(each.id for each in evidence),
        **{**held, **more},
    )


def turn(run: int | str = 1, *, text: str = "I work on Falcon", **more: Any) -> Turn:
    """A turn of Alice with her coder."""
    held: dict[str, Any] = {"thread_id": "thread-1", "agent": "coder", "at": START}
    said = (
        Said(speaker=Speaker.USER, text=text, id="msg-1"),
        Said(speaker=Speaker.ASSISTANT, text="Noted.", trusted=False),
    )
    return Turn(run_id=f"run-{run}", said=said, **{**held, **more})


FACTS = Partition(scope=ALICE, kind=Kind.FACT)
"""Where Alice's facts are ranked."""


async def store(ledger: Ledger, *memories: Memory, first_seed: int = 1) -> None:
    """Put memories with index rows, each in a transaction of its own."""
    for seed, each in enumerate(memories, first_seed):
        await replace_with(ledger, each, seed=seed)


async def replace_with(ledger: Ledger, changed: Memory, *, seed: int | None) -> None:
    """Put one memory; without a seed it keeps its index row."""

    async def work(tx: Writing) -> None:
        if seed is None:
            await tx.put(changed, indexed=None, space=None)
        else:
            await tx.put(changed, indexed=indexed(seed), space=SPACE)

    await ledger.write(work, scope=changed.scope)


async def stored(ledger: Ledger, *ids: str, scope: Scope = ALICE) -> list[Memory]:
    """The memories of these ids."""
    return await ledger.read(lambda tx: tx.memories(ids, scope=scope), scopes=[scope])


async def rows(ledger: Ledger, *, since: int | None = None, of: Partition = FACTS) -> Rows:
    """A partition's index rows."""
    return await ledger.read(lambda tx: tx.rows(partition=of, since=since), scopes=[of.scope])


async def graph(ledger: Ledger, entities: Sequence[Entity], relations: Sequence[Relation]) -> None:
    """Put entities and relations of one scope."""

    async def work(tx: Writing) -> None:
        for each in entities:
            await tx.put_entity(each)
        for each in relations:
            await tx.put_relation(each)

    await ledger.write(work, scope=entities[0].scope if entities else relations[0].scope)


async def edges(
    ledger: Ledger,
    *entities: Entity,
    at: datetime | None = None,
    limit: int = 100,
    scope: Scope = ALICE,
) -> list[Relation]:
    """One hop from these entities."""
    ids = [each.id for each in entities]

    async def look(tx: Reading) -> list[Relation]:
        return await tx.edges(ids, scope=scope, at=at, limit=limit)

    return await ledger.read(look, scopes=[scope])


async def found_entities(ledger: Ledger, *keys: str, scope: Scope = ALICE) -> dict[str, Entity]:
    """Entities by normalised name or alias."""
    return await ledger.read(lambda tx: tx.entities(keys, scope=scope), scopes=[scope])


async def sound(ledger: Ledger) -> None:
    """Fail unless the ledger's own check finds nothing."""
    problems = [f"{f.check}: {f.problem}" for f in await ledger.check() if f.problem]
    assert not problems, problems


ANY_STATUS = tuple(Status)
