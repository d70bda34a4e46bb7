"""Promise 7 and design §6: nothing enters a graph that breaks one of the rules (a) to (i)."""

import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from ricordo.adapters.sqlite import SqliteLedger
from ricordo.errors import NotFound
from ricordo.events import UserRelationRefused
from ricordo.memory.integrity import Admission, admit
from ricordo.memory.vocabulary import Vocabulary
from ricordo.model import (
    Entity,
    EntityClaim,
    Kind,
    Memory,
    OrganizationScope,
    Origin,
    Refusal,
    Relation,
    RelationClaim,
    Rule,
    Scope,
    Source,
    UserScope,
)
from ricordo.ports import Reading, Writing

ALICE = UserScope(tenant="acme", user="alice")
PLATFORM = OrganizationScope(tenant="acme", namespace="platform")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
OPEN = Vocabulary.load()
STRICT = Vocabulary.load(mode="strict")


def day(number: int) -> datetime:
    return START + timedelta(days=number)


def claim(
    source: str,
    relation: str,
    target: str,
    *,
    types: tuple[str | None, str | None] = (None, None),
    since: datetime | None = None,
    until: datetime | None = None,
) -> RelationClaim:
    return RelationClaim(
        source=EntityClaim(name=source, type=types[0]),
        relation=relation,
        target=EntityClaim(name=target, type=types[1]),
        valid_from=since,
        valid_until=until,
    )


class Graph:
    """States claims in a real ledger, each time with a new memory, a day later."""

    def __init__(self, ledger: SqliteLedger, *, scope: Scope = ALICE) -> None:
        self.ledger = ledger
        self.scope = scope
        self.days = itertools.count(1)
        numbers = itertools.count(1)
        self.new_id: Callable[[str], str] = lambda kind: f"{kind}_{next(numbers):06}"

    def memory(self, **fields: Any) -> Memory:
        at = day(next(self.days))
        identity = self.new_id("m")
        defaults: dict[str, Any] = {
            "id": identity,
            "scope": self.scope,
            "kind": Kind.FACT,
            "text": f"memory {identity}",
            "origins": (Origin(at=at, agent="coder", thread_id=identity, run_id="run"),),
            "recorded_at": at,
            "updated_at": at,
        }
        return Memory(**defaults | fields)

    async def state(
        self,
        *claims: RelationClaim,
        vocabulary: Vocabulary = OPEN,
        memory: Memory | None = None,
        scope: Scope | None = None,
        **fields: Any,
    ) -> Admission:
        """Store a memory with these claims."""
        stated = memory or self.memory(**fields)

        async def work(tx: Writing) -> Admission:
            if not await tx.memories([stated.id], scope=self.scope):
                await tx.put(stated, indexed=None, space=None)
            return await admit(
                tx,
                claims,
                scope=scope or self.scope,
                memory=stated,
                vocabulary=vocabulary,
                at=stated.updated_at,
                new_id=self.new_id,
            )

        return await self.ledger.write(work, scope=self.scope)

    async def entity(self, name: str) -> Entity | None:
        async def look(tx: Reading) -> Entity | None:
            return (await tx.entities([name.casefold()], scope=self.scope)).get(name.casefold())

        return await self.ledger.read(look, scopes=[self.scope])

    async def edges(self, name: str, *, at: datetime | None = None) -> list[Relation]:
        """Relations that touch the entity, with origins."""
        entity = await self.entity(name)
        assert entity is not None

        async def look(tx: Reading) -> list[Relation]:
            found = await tx.edges([entity.id], scope=self.scope, at=at, limit=1_000)
            evidence = [m for relation in found for m in relation.evidence]
            whole = await tx.relations_of(evidence, scope=self.scope)
            return [relation for relation in whole if relation.id in {r.id for r in found}]

        return await self.ledger.read(look, scopes=[self.scope])

    async def refusals(self) -> list[Refusal]:
        async def look(tx: Reading) -> list[Refusal]:
            return await tx.refusals(scope=self.scope, limit=1_000)

        return await self.ledger.read(look, scopes=[self.scope])


@pytest_asyncio.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[SqliteLedger]:
    async with SqliteLedger.open(tmp_path / "memory.db", clock=lambda: day(1_000)) as opened:
        yield opened


@pytest.fixture
def graph(ledger: SqliteLedger) -> Graph:
    return Graph(ledger)


def triples(relations: Sequence[Relation]) -> list[tuple[str, str, str]]:
    return [(r.source_name, r.type, r.target_name) for r in relations]


def rules(admission: Admission) -> list[Rule | None]:
    return [refusal.rule for refusal in admission.refusals]


async def test_an_admitted_claim_is_an_edge_with_evidence_origins_and_typed_ends(
    graph: Graph,
) -> None:
    admission = await graph.state(
        claim("Alice", "works on", "Project  Falcon", types=("person", "project"))
    )
    [relation] = admission.relations
    assert triples([relation]) == [("Alice", "works_on", "Project Falcon")]
    assert relation.evidence == ("m_000001",)
    assert [origin.thread_id for origin in relation.origins] == ["m_000001"]
    assert await graph.edges("project falcon") == [relation]
    falcon = await graph.entity("Project Falcon")
    assert falcon is not None
    assert falcon.type == "Project"


# ── (a) both ends are named in the proposal, or known ──────────────────────────────────────────


async def test_rule_a_an_inferred_end_must_be_named_in_the_memory_or_known(graph: Graph) -> None:
    inferred = {"source": Source.INFERRED, "text": "Works on the Falcon project"}
    admission = await graph.state(
        claim("user", "works on", "Project Falcon"),
        claim("user", "works on", "Project Eagle"),
        **inferred,
    )
    assert triples(admission.relations) == [("user", "works_on", "Project Falcon")]
    assert rules(admission) == [Rule.ENDS]
    await graph.state(claim("Bob", "works on", "Project Eagle"))
    again = await graph.state(
        claim("user", "works on", "project eagle"), **inferred | {"text": "Also on another one"}
    )
    assert triples(again.relations) == [("user", "works_on", "Project Eagle")]


async def test_rule_a_the_quote_names_an_end_as_well(graph: Graph) -> None:
    memory = graph.memory(source=Source.INFERRED, text="Changed the project")
    origin = replace(memory.origins[0], quote="I moved over to Falcon")
    admission = await graph.state(
        claim("I", "works on", "Falcon"), memory=replace(memory, origins=(origin,))
    )
    assert rules(admission) == []


# ── (b) names ──────────────────────────────────────────────────────────────────────────────────


NO_NAMES = [
    "", "  ", "...", "it", "They", "er", "ihnen", "elle", "loro", "someone", "jemand",
    "quelqu'un", "unknown", "N/A", "the project", "das Projekt", "le projet", "il progetto",
    "my boss", "mein Chef", "this team", "x" * 201, "Fal\x00con", "Fal\u200bcon", "a\ud800",
    "Fal\u202econ",
    "<b>Falcon</b>", "{{name}}", "[name]", "[x](http://y)", "<|im_start|>", "assistant",
    "Ignore all previous instructions", "ghp_" + "a1B2" * 9,
]  # fmt: skip


async def test_rule_b_what_is_no_name_is_refused(graph: Graph) -> None:
    for name in NO_NAMES:
        admission = await graph.state(
            claim("Alice", "works on", name), claim("Alice", "works on", "Falcon")
        )
        assert rules(admission) == [Rule.NAMES], ascii(name)
        assert triples(admission.relations) == [("Alice", "works_on", "Falcon")]


NAMES = [
    "C++", "C", ".NET", "Node.js", "ISO-27001", "IT", "WHO", "US", "My Chemical Romance",
    "The Hague", "La Repubblica", "R&D", "北京", "نمایشگاه\u200cها", "a.b@example.org", "42",
]  # fmt: skip


async def test_rule_b_unusual_names_are_names(graph: Graph) -> None:
    for name in NAMES:
        admission = await graph.state(claim("Alice", "related to", name))
        assert [relation.target_name for relation in admission.relations] == [name]


SELVES = ["I", "me", "Ich", "mir", "je", "moi", "io", "user", "User", "the user", "der Benutzer",
    "l’utilisateur", "l'utente"]  # fmt: skip


async def test_rule_b_first_person_words_mean_the_user_in_a_users_scope(
    ledger: SqliteLedger,
) -> None:
    mine, ours = Graph(ledger), Graph(ledger, scope=PLATFORM)
    for name in SELVES:
        one = claim(name, "works on", "Falcon", types=("topic", None))
        assert triples((await mine.state(one)).relations) == [("user", "works_on", "Falcon")]
        assert rules(await ours.state(one)) == [Rule.NAMES]
    user = await mine.entity("user")
    assert user is not None
    assert user.type == "Person"


async def test_rule_b_spellings_aliases_and_merges_lead_to_one_entity(graph: Graph) -> None:
    await graph.state(claim("Alice", "uses", "Kubernetes"), claim("Alice", "uses", "kube"))
    kubernetes, kube = await graph.entity("kubernetes"), await graph.entity("kube")
    assert kubernetes is not None
    assert kube is not None

    async def work(tx: Writing) -> None:
        await tx.put_entity(replace(kubernetes, aliases=("K8s",)))
        await tx.merge_entities(kube.id, kubernetes.id, at=day(50), scope=ALICE)

    await graph.ledger.write(work, scope=ALICE)
    admission = await graph.state(
        claim("Bob", "uses", "k8s"),
        claim("Bob", "uses", "  KUBE "),
        claim("Bob", "uses", "the KUBERNETES"),
    )
    assert triples(admission.relations) == [("Bob", "uses", "Kubernetes")]


# ── (c) vocabulary ─────────────────────────────────────────────────────────────────────────────


async def test_rule_c_an_inverse_spelling_is_stored_in_the_canonical_direction(
    graph: Graph,
) -> None:
    admission = await graph.state(
        claim("ACME", "employs", "Bob", types=("company", "person")),
        claim("Falcon", "enthält", "Search"),
    )
    assert triples(admission.relations) == [
        ("Bob", "works_for", "ACME"),
        ("Search", "part_of", "Falcon"),
    ]


async def test_rule_c_strict_refuses_and_open_admits_an_unlisted_relation(graph: Graph) -> None:
    unlisted = claim("Alice", "Plays chess with", "Bob")
    assert rules(await graph.state(unlisted, vocabulary=STRICT)) == [Rule.VOCABULARY]
    admission = await graph.state(unlisted)
    assert triples(admission.relations) == [("Alice", "plays_chess_with", "Bob")]


@pytest.mark.parametrize("phrase", ["", "does not use", "x" * 100_000, "→", "password=hunter2x"])
async def test_rule_c_open_mode_admits_no_negation_and_no_sentence(
    graph: Graph, phrase: str
) -> None:
    assert rules(await graph.state(claim("Alice", phrase, "Bob"))) == [Rule.VOCABULARY]


# ── (d) types ──────────────────────────────────────────────────────────────────────────────────


async def test_rule_d_types_outside_domain_and_range_are_refused(graph: Graph) -> None:
    admission = await graph.state(
        claim("Bern", "works for", "ACME", types=("place", None)),
        claim("Alice", "lives in", "ACME", types=(None, "company")),
    )
    assert rules(admission) == [Rule.TYPES, Rule.TYPES]
    assert await graph.entity("acme") is None
    assert "Person" in admission.refusals[0].reason


async def test_rule_d_missing_types_are_inferred_and_bind_later_claims(graph: Graph) -> None:
    await graph.state(claim("Carla", "lives in", "Lugano"))
    carla, lugano = await graph.entity("carla"), await graph.entity("lugano")
    assert carla is not None
    assert lugano is not None
    assert (carla.type, lugano.type) == ("Person", "Place")
    assert rules(await graph.state(claim("Lugano", "works for", "ACME"))) == [Rule.TYPES]


async def test_rule_d_a_known_type_stays_unless_it_becomes_more_precise(graph: Graph) -> None:
    await graph.state(claim("Falcon", "related to", "Eagle"))
    await graph.state(claim("Alice", "works on", "Falcon", types=(None, "project")))
    falcon = await graph.entity("falcon")
    assert falcon is not None
    assert falcon.type == "Project"
    await graph.state(claim("Falcon", "related to", "Search", types=("place", None)))
    assert await graph.entity("falcon") == falcon


async def test_rule_d_a_thing_becomes_nothing_that_its_other_relations_rule_out(
    graph: Graph,
) -> None:
    await graph.state(claim("Alice", "works on", "Falcon"))
    assert rules(await graph.state(claim("Bob", "reports to", "Falcon"))) == [Rule.TYPES]
    assert rules(await graph.state(claim("Falcon", "is written in", "Rust"))) == []


async def test_rule_d_an_unlisted_type_is_refused_only_by_a_strict_vocabulary(
    graph: Graph,
) -> None:
    odd = claim("Alice", "owns", "Gizmo", types=("person", "gadget"))
    assert rules(await graph.state(odd, vocabulary=STRICT)) == [Rule.TYPES]
    assert rules(await graph.state(odd)) == []


# ── (e) self-loops ─────────────────────────────────────────────────────────────────────────────


async def test_rule_e_a_self_loop_is_refused_in_any_spelling(graph: Graph) -> None:
    admission = await graph.state(
        claim("Falcon", "depends on", "falcon"), claim("I", "knows", "the user")
    )
    assert rules(admission) == [Rule.SELF_LOOP, Rule.SELF_LOOP]
    assert await graph.entity("falcon") is None


async def test_rule_e_a_declared_reflexive_relation_may_loop(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text("[relations.calls]\nreflexive = true\n", encoding="utf-8")
    admission = await graph.state(
        claim("Parser", "calls", "parser"), vocabulary=Vocabulary.load(path)
    )
    [relation] = admission.relations
    assert relation.source == relation.target


# ── (f) one current value ──────────────────────────────────────────────────────────────────────


async def test_rule_f_a_new_value_closes_the_old_one(graph: Graph) -> None:
    first = await graph.state(claim("I", "live in", "Bern"))
    second = await graph.state(claim("I", "live in", "Basel"))
    [old] = second.closed
    assert old.id == first.relations[0].id
    assert old.closed_at == day(2)
    assert old.valid_until == day(2)
    assert old.evidence == ("m_000001",)
    assert old.origins == first.relations[0].origins
    assert triples(await graph.edges("user")) == [("user", "lives_in", "Basel")]
    then = await graph.edges("user", at=day(1))
    assert ("user", "lives_in", "Bern") in triples(then)


async def test_rule_f_the_old_value_ends_when_the_new_one_began(graph: Graph) -> None:
    await graph.state(claim("I", "live in", "Bern", since=day(-900)))
    moved = await graph.state(claim("I", "live in", "Basel", since=day(-30)))
    assert [(r.target_name, r.valid_from, r.valid_until) for r in moved.closed] == [
        ("Bern", day(-900), day(-30))
    ]


async def test_rule_f_an_older_value_becomes_history_and_closes_nothing(graph: Graph) -> None:
    await graph.state(claim("I", "live in", "Basel", since=day(-30)))
    ended = await graph.state(claim("I", "live in", "Rome", since=day(-900), until=day(-500)))
    earlier = await graph.state(claim("I", "live in", "Bern", since=day(-400)))
    assert ended.closed == earlier.closed == ()
    assert [(r.closed_at, r.valid_until) for r in ended.relations] == [(day(2), day(-500))]
    assert [(r.closed_at, r.valid_until) for r in earlier.relations] == [(day(3), day(-30))]
    assert triples(await graph.edges("user")) == [("user", "lives_in", "Basel")]
    assert triples(await graph.edges("user", at=day(-300))) == [("user", "lives_in", "Bern")]


async def test_rule_f_a_conversation_imported_late_does_not_undo_what_is_newer(
    graph: Graph,
) -> None:
    await graph.state(claim("I", "live in", "Basel"))
    late = await graph.state(
        claim("I", "live in", "Bern"), origins=(Origin(at=day(-365), agent="coder"),)
    )
    assert late.closed == ()
    assert late.relations[0].closed_at is not None
    assert triples(await graph.edges("user")) == [("user", "lives_in", "Basel")]


async def test_rule_f_both_ends_of_a_symmetric_single_relation_are_freed(graph: Graph) -> None:
    await graph.state(claim("Anna", "married to", "Bert"), claim("Cleo", "married to", "Dan"))
    third = await graph.state(claim("Bert", "verheiratet mit", "Cleo"))
    assert sorted(triples(third.closed)) == [
        ("Anna", "married_to", "Bert"),
        ("Cleo", "married_to", "Dan"),
    ]


async def test_rule_f_a_memory_may_not_state_two_current_values(graph: Graph) -> None:
    admission = await graph.state(
        claim("I", "live in", "Bern"),
        claim("I", "live in", "Basel"),
        claim("Bob", "live in", "Bern", since=day(-90)),
        claim("Bob", "live in", "Basel", since=day(-9)),
    )
    assert rules(admission) == [Rule.CARDINALITY]
    assert triples(await graph.edges("bob")) == [("Bob", "lives_in", "Basel")]


async def test_rule_f_an_end_before_the_beginning_is_refused(graph: Graph) -> None:
    admission = await graph.state(claim("I", "works on", "Falcon", since=day(5), until=day(4)))
    assert rules(admission) == [Rule.CARDINALITY]


async def test_rule_f_a_stated_end_closes_what_was_current(graph: Graph) -> None:
    await graph.state(claim("I", "works on", "Falcon"))
    left = await graph.state(claim("I", "works on", "Falcon", until=day(-1)))
    [closed] = left.closed
    assert closed.valid_until == day(-1)
    assert closed.evidence == ("m_000001", left.closed[0].evidence[-1])
    assert await graph.edges("falcon") == []
    again = await graph.state(claim("I", "works on", "Falcon", until=day(-1)))
    assert [relation.id for relation in again.relations] == [closed.id]


async def test_rule_f_a_value_whose_last_day_has_passed_is_no_rival(graph: Graph) -> None:
    memory = graph.memory(updated_at=day(1))
    await graph.state(claim("I", "live in", "Bern", until=day(2)), memory=memory)
    back = await graph.state(claim("I", "live in", "Bern"), updated_at=day(9))
    assert [(r.target_name, r.valid_until) for r in back.closed] == [("Bern", day(2))]
    assert [r.valid_until for r in await graph.edges("user")] == [None]


async def test_rule_f_a_plan_is_not_undone_by_restating_the_present(graph: Graph) -> None:
    await graph.state(claim("I", "live in", "Rome", since=day(300)))
    now = await graph.state(claim("I", "live in", "Bern"))
    assert now.closed == ()
    assert triples(await graph.edges("user", at=day(100))) == [("user", "lives_in", "Bern")]
    assert triples(await graph.edges("user", at=day(400))) == [("user", "lives_in", "Rome")]


# ── (g) hierarchies ────────────────────────────────────────────────────────────────────────────


async def test_rule_g_a_hierarchy_never_leads_back(graph: Graph) -> None:
    admission = await graph.state(
        claim("Search", "part of", "Falcon"),
        claim("Falcon", "part of", "Platform"),
        claim("Platform", "part of", "Suite"),
        claim("Suite", "part of", "Search"),
        claim("Search", "contains", "Platform"),
        claim("Search", "related to", "Suite"),
    )
    assert rules(admission) == [Rule.HIERARCHY, Rule.HIERARCHY]
    assert len(admission.relations) == 4


async def test_rule_g_a_refused_cycle_closes_no_old_value(graph: Graph) -> None:
    await graph.state(claim("Bob", "reports to", "Carla"), claim("Carla", "reports to", "Dan"))
    admission = await graph.state(claim("Carla", "reports to", "Bob"))
    assert rules(admission) == [Rule.HIERARCHY]
    assert admission.closed == ()
    assert ("Carla", "reports_to", "Dan") in triples(await graph.edges("carla"))


async def test_rule_g_a_hierarchy_too_deep_to_check_is_refused(graph: Graph) -> None:
    steps = [claim(f"Box {n}", "part of", f"Box {n + 1}") for n in range(70)]
    assert rules(await graph.state(*steps)) == []
    assert rules(await graph.state(claim("Box 900", "part of", "Box 0"))) == []
    admission = await graph.state(claim("Box 70", "part of", "Box 0"))
    assert rules(admission) == [Rule.HIERARCHY]
    assert "too large" in admission.refusals[0].reason


# ── (h) scope ──────────────────────────────────────────────────────────────────────────────────


async def test_rule_h_a_relation_stays_in_its_memorys_scope(graph: Graph) -> None:
    other = graph.memory(scope=UserScope(tenant="acme", user="bob"))

    async def work(tx: Writing) -> Admission:
        return await admit(
            tx,
            [claim("Alice", "works on", "Falcon")],
            scope=ALICE,
            memory=replace(other, scope=ALICE),
            vocabulary=OPEN,
            at=day(1),
            new_id=graph.new_id,
        )

    # Evidence from elsewhere does not exist here; the ledger says so and nothing is stored.
    with pytest.raises(NotFound, match="no memory"):
        await graph.ledger.write(work, scope=ALICE)
    assert await graph.entity("falcon") is None


async def test_rule_h_a_memory_of_another_scope_is_refused(graph: Graph) -> None:
    admission = await graph.state(
        claim("Alice", "works on", "Falcon"), scope=UserScope(tenant="acme", user="bob")
    )
    assert rules(admission) == [Rule.SCOPE]


async def test_rule_h_a_preference_has_no_relations(graph: Graph) -> None:
    admission = await graph.state(
        claim("user", "likes", "Chess"), kind=Kind.PREFERENCE, agent="coder"
    )
    assert rules(admission) == [Rule.SCOPE]
    assert await graph.entity("chess") is None


async def test_rule_h_equal_names_in_two_scopes_are_two_entities(ledger: SqliteLedger) -> None:
    mine, ours = Graph(ledger), Graph(ledger, scope=PLATFORM)
    await mine.state(claim("I", "works on", "Falcon"))
    await ours.state(claim("Falcon", "uses", "microservices"))
    assert triples(await mine.edges("falcon")) == [("user", "works_on", "Falcon")]
    assert triples(await ours.edges("falcon")) == [("Falcon", "uses", "microservices")]


# ── (i) evidence ───────────────────────────────────────────────────────────────────────────────


async def test_rule_i_the_same_again_adds_evidence_and_origin_not_an_edge(graph: Graph) -> None:
    first = await graph.state(claim("Alice", "works on", "Falcon"), confidence=0.6)
    second = await graph.state(claim("alice", "arbeitet an", "FALCON"), confidence=0.9)
    [edge] = await graph.edges("falcon")
    assert edge == second.relations[0]
    assert edge.id == first.relations[0].id
    assert len(edge.evidence) == len(edge.origins) == 2
    assert edge.confidence == 0.9


async def test_rule_i_a_symmetric_relation_is_the_same_either_way_round(graph: Graph) -> None:
    await graph.state(claim("Falcon", "integrates with", "Eagle"))
    again = await graph.state(claim("Eagle", "integrates with", "Falcon"))
    assert triples(again.relations) == [("Falcon", "integrates_with", "Eagle")]
    assert len(await graph.edges("falcon")) == 1


async def test_rule_i_the_same_memory_again_changes_nothing(graph: Graph) -> None:
    memory = graph.memory()
    one = claim("Alice", "works on", "Falcon")
    first = await graph.state(one, one, memory=memory)
    second = await graph.state(one, memory=memory)
    assert first.relations == second.relations
    assert len(first.relations) == 1


# ── refusals ───────────────────────────────────────────────────────────────────────────────────


async def test_a_refusal_is_kept_announced_and_stops_no_other_claim(graph: Graph) -> None:
    admission = await graph.state(
        claim("it", "works on", "Falcon"),
        claim("Alice", "works on", "Falcon"),
        claim("Falcon", "uses", "falcon"),
    )
    assert rules(admission) == [Rule.NAMES, Rule.SELF_LOOP]
    assert len(admission.relations) == 1
    kept = await graph.refusals()
    assert {refusal.id for refusal in kept} == {refusal.id for refusal in admission.refusals}
    assert [r.claim for r in admission.refusals if r.rule is Rule.NAMES] == [
        claim("it", "works on", "Falcon")
    ]
    events = [event for _, event in await graph.ledger.announced(after=0, limit=100)]
    assert all(isinstance(event, UserRelationRefused) for event in events)
    assert [(e.refusal_id, e.rule) for e in events if isinstance(e, UserRelationRefused)] == [
        (refusal.id, refusal.rule) for refusal in admission.refusals
    ]
    assert "Falcon" not in repr(events)


async def test_a_reason_never_repeats_the_claim_and_a_secret_is_not_kept(graph: Graph) -> None:
    secret = "ghp_" + "a1B2" * 9
    admission = await graph.state(claim("Alice", "works on", secret), claim("Zorro", "", "Bob"))
    assert admission.refusals[0].claim is None
    assert not any("Zorro" in refusal.reason for refusal in admission.refusals)
    assert secret not in repr(await graph.refusals())


async def test_an_oversized_or_broken_name_is_kept_short_and_storable(graph: Graph) -> None:
    admission = await graph.state(claim("x" * 1_000_000, "works on", "a\x00\ud800"))
    [refusal] = await graph.refusals()
    assert refusal.claim is not None
    assert len(refusal.claim.source.name) == 200
    assert refusal.claim.target.name == "a\ufffd\ufffd"
    assert rules(admission) == [Rule.NAMES]


async def test_a_hub_with_thousands_of_relations_hides_none_of_them(graph: Graph) -> None:
    topics = [claim("I", "interested in", f"Topic {n}") for n in range(1_040)]
    await graph.state(claim("I", "live in", "Bern"), *topics)
    moved = await graph.state(
        claim("I", "live in", "Basel"), claim("I", "interested in", "Topic 1039")
    )
    assert triples(moved.closed) == [("user", "lives_in", "Bern")]
    assert [len(relation.evidence) for relation in moved.relations] == [1, 2]
