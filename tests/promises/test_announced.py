"""Everything that becomes true is announced, as what it is: ids and origins, never a text."""

from datetime import timedelta
from pathlib import Path

from ricordo import Ricordo, UserMemory
from ricordo.access import user_scope
from ricordo.events import (
    Event,
    OrganizationMemoryDocumented,
    OrganizationMemoryRecalled,
    OrganizationMemoryUpdated,
    OrganizationRelationUpdated,
    TurnParked,
    TurnReplayed,
    UserMemoryProposed,
    UserMemoryRecalled,
    UserMemoryRefused,
    UserMemoryStored,
    UserMemoryUpdated,
    UserMergeDecided,
    UserMergeProposed,
    UserRelationUpdated,
)
from ricordo.memory.portable import Record
from ricordo.memory.restoring import read_record, restore
from ricordo.model import OrganizationScope, Origin
from tests.support.consolidating import claim
from tests.support.fake_model import FakeModel
from tests.support.opening import Clock, opened, person
from tests.support.talking import answer, extractor, item, turn


async def told(memory: Ricordo, *kinds: type[Event], since: int = 0) -> list[Event]:
    """What was announced, of these kinds."""
    found = await memory.ledger.announced(after=since, limit=1_000)
    return [event for _, event in found if isinstance(event, kinds or (Event,))]


async def test_a_proposed_merge_and_what_a_person_decides_are_told(
    memory: Ricordo, coder: UserMemory, me: UserMemory
) -> None:
    """Review decided, also where it is about two entities."""
    for name in ("k8s", "Kubernetes", "Project Falcon", "project-falcon"):
        await coder.remember(f"Runs {name}", relations=[claim("user", "uses", name)])
    await me.consolidate()
    first, second = await me.merge_proposals()
    await me.approve_merge(first.id)
    await me.reject_merge(second.id)
    proposed = await told(memory, UserMergeProposed)
    assert [e.proposal_id for e in proposed if isinstance(e, UserMergeProposed)] == [
        first.id,
        second.id,
    ]
    decided = [e for e in await told(memory, UserMergeDecided) if isinstance(e, UserMergeDecided)]
    assert [(e.proposal_id, e.approved, e.by) for e in decided] == [
        (first.id, True, "alice"),
        (second.id, False, "alice"),
    ]
    assert (decided[1].entity_id, decided[1].into_id) == (second.source, second.target)


async def test_a_relation_that_a_newer_value_closes_is_told(
    memory: Ricordo, coder: UserMemory
) -> None:
    """Promise 12: also where the memory stays, for it says more than that."""
    home, bike = claim("user", "lives in", "Bern"), claim("user", "likes", "bicycles")
    first = await coder.remember("Lives in Bern and likes bicycles", relations=[home, bike])
    [closed] = [r.id for r in first.relations if r.type == "lives_in"]
    second = await coder.remember("Lives in Rome", relations=[claim("user", "lives in", "Rome")])
    [event] = await told(memory, UserRelationUpdated)
    assert isinstance(event, UserRelationUpdated)
    assert (event.relation_ids, event.change) == ((closed,), "closed")
    assert event.origins == second.memory.origins
    assert not await told(memory, UserMemoryUpdated), "the memory itself did not change"


async def test_the_origin_that_led_to_an_event_is_its_last(
    memory: Ricordo, coder: UserMemory, clock: Clock
) -> None:
    """Promise 9: also where what was said earlier arrives later, and where it ends a memory."""
    said = {
        run: Origin(at=clock.at - timedelta(minutes=ago), run_id=run, agent="coder")
        for run, ago in (("first", 5), ("late", 9), ("moved", 1))
    }
    home = [claim("user", "lives in", "Bern")]
    first = await coder.remember("Lives in Bern", relations=home, origin=said["first"])
    again = await coder.remember("Lives in Bern", relations=home, origin=said["late"])
    assert again.memory.id == first.memory.id
    assert again.memory.origins == (said["late"], said["first"]), "oldest first"
    rome = [claim("user", "lives in", "Rome")]
    await coder.remember("Lives in Rome", relations=rome, origin=said["moved"])
    runs = [
        (type(event).__name__, [origin.run_id for origin in event.origins])
        for event in await told(memory, UserMemoryStored, UserMemoryUpdated, UserRelationUpdated)
    ]
    assert runs == [
        ("UserMemoryStored", ["first"]),
        ("UserMemoryStored", ["first", "late"]),
        ("UserRelationUpdated", ["moved"]),
        ("UserMemoryUpdated", ["late", "first", "moved"]),
        ("UserMemoryStored", ["moved"]),
    ]


async def test_an_organization_s_closed_relation_is_told(memory: Ricordo) -> None:
    curator = memory.organization(person(admin=[None]))
    for home in ("Bern", "Rome"):
        await curator.document(f"Ann lives in {home}", relations=[claim("Ann", "lives in", home)])
    changed = await told(memory, OrganizationRelationUpdated)
    assert [e.change for e in changed if isinstance(e, OrganizationRelationUpdated)] == ["closed"]


async def test_a_relation_whose_last_day_is_over_is_told(
    memory: Ricordo, coder: UserMemory, me: UserMemory, clock: Clock
) -> None:
    stays = claim("user", "stays at", "Hotel Post", valid_until=clock.at + timedelta(days=1))
    likes = claim("user", "likes", "hotels")
    stored = await coder.remember("Stays at Hotel Post, likes hotels", relations=[stays, likes])
    [lapsed] = [r.id for r in stored.relations if r.type == "stays_at"]
    clock.pass_by(days=2)
    report = await me.consolidate()
    await me.undo_consolidation(str(report.pass_id))
    changed = await told(memory, UserRelationUpdated)
    assert [(e.relation_ids, e.change) for e in changed if isinstance(e, UserRelationUpdated)] == [
        ((lapsed,), "lapsed"),
        ((lapsed,), "reopened"),
    ]


async def test_what_extraction_refuses_and_what_is_tried_again_are_told(
    tmp_path: Path, clock: Clock
) -> None:
    """Promises 4 and 8: a statement without a quote, a turn that was parked and is replayed."""
    with FakeModel(lambda _: answer(item("Owns a boat", "I own a boat"))) as model:
        async with opened(tmp_path, clock=clock, extractor=extractor(model)) as memory:
            me, coder = memory.user(person()), memory.user(person(), agent="coder")
            await coder.observe(turn("I work on Project Falcon these days", clock=clock))
            await memory.intake.drain()
            [kept] = await me.refusals()
            [refused] = await told(memory, UserMemoryRefused)
            assert isinstance(refused, UserMemoryRefused)
            assert refused.refusal_id == kept.id
            assert refused.origins[0].run_id == "r1"


async def test_a_replayed_turn_is_told(tmp_path: Path, clock: Clock) -> None:
    """Promise 4: parked visibly, and visibly tried anew."""
    with FakeModel(lambda _: answer()) as model:
        async with opened(tmp_path, clock=clock, extractor=extractor(model)) as memory:
            me, coder = memory.user(person()), memory.user(person(), agent="coder")
            await coder.observe(turn("I work on Project Falcon these days", clock=clock))
            batch = await memory.ledger.claim(at=clock(), size=1, patience=0, lease=60)
            assert batch is not None
            await memory.ledger.park(batch, reason="Malformed", at=clock())
            [letter] = await me.dead_letters()
            await me.replay(letter.job.id)
            parked, replayed = await told(memory, TurnParked, TurnReplayed)
            assert isinstance(parked, TurnParked)
            assert isinstance(replayed, TurnReplayed)
            assert (replayed.thread_id, replayed.run_id) == (parked.thread_id, parked.run_id)
            [origin] = parked.origins
            whose = (origin.agent, origin.thread_id, origin.display_id, origin.run_id)
            assert whose == ("coder", "t1", "d1", "r1")


async def test_a_recall_is_told_as_of_the_run_that_asked(memory: Ricordo, clock: Clock) -> None:
    """Promise 9; but a person's run is no business of the organization's events."""
    curator = person(admin=[None])
    coder = memory.user(curator, agent="coder")
    await coder.remember("Works on Project Falcon")
    await memory.organization(curator).document("Project Falcon uses microservices")
    origin = Origin(at=clock(), agent="coder", thread_id="t1", run_id="r9")
    await coder.recall("Project Falcon", deadline=60, origin=origin)
    await coder.recall("Project Falcon", deadline=60)
    await memory.services.journal.flush()
    own = await told(memory, UserMemoryRecalled)
    assert [event.origins for event in own] == [(origin,), ()]
    shared = await told(memory, OrganizationMemoryRecalled)
    assert [event.origins for event in shared] == [(), ()]


async def test_an_import_says_what_it_stores(memory: Ricordo) -> None:
    """What is new is stored, or proposed; what is only history was imported."""
    scope, shared = user_scope(person()), OrganizationScope(tenant="acme")
    records: list[Record] = [
        {"text": "Works on Falcon"},
        {"text": "Owns a boat", "status": "proposed"},
        {"text": "Lived in Bern", "status": "superseded"},
    ]
    for record in records:
        found = read_record(record, scope=scope, agent="coder", now=memory.services.clock())
        assert await restore(memory.services, found, by="alice")
        assert not await restore(memory.services, found, by="alice")
    found = read_record(records[0], scope=shared, agent="coder", now=memory.services.clock())
    assert await restore(memory.services, found, by="alice")
    assert [type(event) for event in await told(memory)] == [
        UserMemoryStored,
        UserMemoryProposed,
        UserMemoryUpdated,
        OrganizationMemoryDocumented,
    ]
    assert not await told(memory, OrganizationMemoryUpdated)
