"""Promise 7: whatever is claimed, in whatever order, the graph keeps all its rules."""

import itertools
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from graphlib import TopologicalSorter
from pathlib import Path

import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo.adapters.sqlite import SqliteLedger
from ricordo.memory.integrity import Admission, admit
from ricordo.memory.vocabulary import Cardinality, RelationType, Vocabulary
from ricordo.model import (
    Entity,
    EntityClaim,
    Kind,
    Memory,
    Origin,
    Relation,
    RelationClaim,
    Scope,
    UserScope,
)
from ricordo.ports import Reading, Writing

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
VOCABULARY = Vocabulary.load()
USERS = itertools.count(1)
NUMBERS = itertools.count(1)

# Few names and mostly undated claims, so that claims meet.
NAMES = ("I", "Anna", "Bert", "bert ", "Cleo", "Falcon", "it")
PHRASES = (
    "part of", "contains", "reports to", "supervises", "married to", "lives in", "works on",
    "related to", "is related to", "associated with", "friends with", "parent of",
    "child of", "plays chess with", "does not use",
)  # fmt: skip
days = st.one_of(
    st.none(), st.none(), st.none(), st.integers(-20, 20).map(lambda n: START + timedelta(days=n))
)
claims = st.builds(
    RelationClaim,
    source=st.builds(EntityClaim, name=st.sampled_from(NAMES), type=st.none()),
    relation=st.sampled_from(PHRASES),
    target=st.builds(
        EntityClaim,
        name=st.sampled_from(NAMES),
        type=st.sampled_from((None, None, None, None, "person", "place")),
    ),
    valid_from=days,
    valid_until=days,
)
statements = st.lists(
    st.tuples(st.lists(claims, min_size=1, max_size=6), st.integers(0, 2)), min_size=1, max_size=10
)


def new_id(kind: str) -> str:
    return f"{kind}_{next(NUMBERS):08}"


@pytest_asyncio.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[SqliteLedger]:
    async with SqliteLedger.open(tmp_path / "memory.db", clock=lambda: START) as opened:
        yield opened


async def state(
    ledger: SqliteLedger, scope: Scope, stated: Sequence[RelationClaim], *, at: datetime, ago: int
) -> tuple[Memory, Admission]:
    memory = Memory(
        id=new_id("m"),
        scope=scope,
        kind=Kind.FACT,
        text=f"memory {next(NUMBERS)}",
        origins=(Origin(at=at - timedelta(days=ago), agent="coder"),),
        recorded_at=at,
        updated_at=at,
    )

    async def work(tx: Writing) -> Admission:
        await tx.put(memory, indexed=None, space=None)
        return await admit(
            tx, stated, scope=scope, memory=memory, vocabulary=VOCABULARY, at=at, new_id=new_id
        )

    return memory, await ledger.write(work, scope=scope)


async def everything(
    ledger: SqliteLedger, scope: Scope, memories: Sequence[Memory]
) -> tuple[list[Relation], dict[str, Entity]]:
    """All relations ever admitted in the scope, and all entities by id."""

    async def look(tx: Reading) -> tuple[list[Relation], dict[str, Entity]]:
        relations = await tx.relations_of([m.id for m in memories], scope=scope)
        names = ["user", *(name.casefold().strip() for name in NAMES)]
        entities = await tx.entities(names, scope=scope)
        return relations, {entity.id: entity for entity in entities.values()}

    return await ledger.read(look, scopes=[scope])


def meant(relation: Relation) -> RelationType:
    return VOCABULARY.relations.get(relation.type) or RelationType(name=relation.type)


def holders(relation: Relation) -> tuple[str, ...]:
    """Whose single value it is: the source's; both ends' where it is symmetric."""
    ends = (relation.source, relation.target)
    return ends if meant(relation).symmetric else ends[:1]


def check(relations: Sequence[Relation], entities: dict[str, Entity], known: set[str]) -> None:
    current = [relation for relation in relations if relation.closed_at is None]
    for relation in relations:
        assert relation.source != relation.target
        assert relation.evidence
        assert set(relation.evidence) <= known
        assert {relation.source, relation.target} <= entities.keys()
        kind = meant(relation)
        for end, allowed in ((relation.source, kind.domain), (relation.target, kind.range)):
            fits = VOCABULARY.narrowed(entities[end].type, allowed) is not None
            assert fits or relation.closed_at is not None
        if relation.valid_from and relation.valid_until:
            assert relation.valid_from <= relation.valid_until
    used = {end for relation in relations for end in (relation.source, relation.target)}
    assert entities.keys() == used
    same = Counter(
        (r.type, frozenset({r.source, r.target}) if meant(r).symmetric else (r.source, r.target))
        for r in current
    )
    assert all(count == 1 for count in same.values())
    single = Counter(
        (r.type, holder)
        for r in current
        if meant(r).cardinality is Cardinality.ONE
        for holder in holders(r)
    )
    assert all(count == 1 for count in single.values())
    for name in {r.type for r in current if meant(r).hierarchical}:
        sorter: TopologicalSorter[str] = TopologicalSorter()
        for relation in current:
            if relation.type == name:
                sorter.add(relation.source, relation.target)
        sorter.prepare()  # raises CycleError on a cycle


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(statements)
async def test_after_any_claims_the_graph_keeps_every_rule(
    ledger: SqliteLedger, statements: list[tuple[list[RelationClaim], int]]
) -> None:
    scope = UserScope(tenant="acme", user=f"user-{next(USERS)}")
    memories: list[Memory] = []
    refused = 0
    for number, (stated, ago) in enumerate(statements, start=1):
        at = START + timedelta(days=number)
        memory, admission = await state(ledger, scope, stated, at=at, ago=ago)
        memories.append(memory)
        assert len(admission.refusals) <= len(stated)
        if not admission.refusals:
            assert admission.relations or admission.closed
        refused += len(admission.refusals)
        relations, entities = await everything(ledger, scope, memories)
        check(relations, entities, {m.id for m in memories})

    async def look(tx: Reading) -> int:
        return len(await tx.refusals(scope=scope, limit=1_000))

    assert await ledger.read(look, scopes=[scope]) == refused
