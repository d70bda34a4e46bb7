"""Subjects, payloads and trust of the Swiss AI Agent Protocol, by themselves."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo import Grant, Principal, Role
from ricordo.adapters.nats.exchange import meet
from ricordo.errors import Denied, Invalid, Unreadable
from ricordo.hosts.swiss import ANY, Identity, Sort, Subject, Trust
from ricordo.hosts.swiss.payload import MOST_BYTES, event_id, read_json, read_payload, write_event
from ricordo.hosts.swiss.requests import Person
from ricordo.hosts.swiss.telling import parted, recalled
from ricordo.model import OrganizationScope, Path, Recollection, Step, UserScope, check_id

CALM = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
"""No example fails for a slow machine."""

FIELDS = ("agent_class", "agent_id", "thread_id", "display_id", "run_id", "event_name", "event_id")


def _is_token(text: str) -> bool:
    try:
        check_id(text, what="token")
    except Invalid:
        return False
    return not any(c in ".*>" or c.isspace() for c in text)


BAD = (
    *("", ".", "*", ">", "a.b", "a b", "a*", ">a", " a", "x" * 257),
    *("\t", "\n", "\r\n", "\x00", "\x7f", "a\u00a0b", "a\u2028b", "a\u200bb"),
    *("e\u0301", "\ud800", "a\ufffdb"),
)
"""What is no token."""

letters = st.characters(
    codec="utf-8", categories=("L", "N", "P", "S"), exclude_characters=".*>/\ufffd"
)
tokens = st.text(letters, min_size=1, max_size=40).filter(_is_token)
subjects = st.builds(Subject, sort=st.sampled_from(Sort), **dict.fromkeys(FIELDS, tokens))


@CALM
@given(subjects)
def test_a_subject_is_read_as_it_was_written(subject: Subject) -> None:
    assert Subject.parse(str(subject)) == subject
    assert str(subject).count(".") == 8


@CALM
@given(st.text())
def test_any_text_is_a_subject_or_refused(text: str) -> None:
    """Whatever is read is written the same again; nothing else is raised."""
    try:
        found = Subject.parse(text)
    except Unreadable:
        return
    assert str(found) == text


@CALM
@given(
    subjects,
    st.sampled_from(FIELDS),
    st.sampled_from(BAD),
)
def test_no_token_can_part_a_subject_or_be_a_pattern(subject: Subject, name: str, bad: str) -> None:
    values = {field: getattr(subject, field) for field in FIELDS} | {name: bad}
    with pytest.raises(Unreadable) as told:
        Subject(sort=Sort.CONTROL, **values)
    assert name.split("_")[0] in str(told.value)


def test_a_class_with_a_slash_would_be_two_agents() -> None:
    """``a/b`` with ``c`` and ``a`` with ``b/c`` must not share a memory."""
    values = dict.fromkeys(FIELDS, "x")
    assert Subject(sort=Sort.CONTROL, **values | {"agent_id": "b/c"}).agent == "x/b/c"
    with pytest.raises(Unreadable, match="slash"):
        Subject(sort=Sort.CONTROL, **values | {"agent_class": "x/b"})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "agent",
        "agent.a.b.c.d.e.control_event.f",
        "agent.a.b.c.d.e.control_event.f.g.h",
        "agents.a.b.c.d.e.control_event.f.g",
        "agent.a.b.c.d.e.Control_Event.f.g",
        "agent.a.b.c.d.e.other_event.f.g",
        "agent.a.b..d.e.control_event.f.g",
        "agent.*.b.c.d.e.control_event.f.g",
        "agent.a.b.c.d.e.control_event.f.>",
    ],
)
def test_what_is_no_subject_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        Subject.parse(text)


@pytest.mark.parametrize(
    ("wanted", "kept", "both"),
    [
        ("a.*.x.*", "a.>", "a.*.x.*"),
        ("a.*.x.*", "a.b.>", "a.b.x.*"),
        ("a.*.x.*", "a.b.x.c", "a.b.x.c"),
        ("a.*.x.*", "a.b.*.c", "a.b.x.c"),
        ("a.*.x.*", "a.b.y.>", None),
        ("a.*.x.*", "b.>", None),
        ("a.*.x.*", "a.b.x", None),
        ("a.*.x.*", "a.b.x.c.d", None),
        ("a.*.x.*", "a.b.x.c.>", None),
        ("a.*.x.*", ">", "a.*.x.*"),
    ],
)
def test_a_consumer_asks_for_what_its_stream_keeps(
    wanted: str, kept: str, both: str | None
) -> None:
    assert meet(wanted, kept) == both


SUBJECT = Subject.parse("agent.RAGAgent.hr.t.d.r.control_event.RecallMemoryEvent.e1")


def test_an_event_is_read_as_it_was_written() -> None:
    written = write_event(
        SUBJECT, {"query": "who?"}, at=7, parents=["ControlEvent"], name={"en": "n"}, description={}
    )
    found = read_payload(written, subject=SUBJECT)
    assert found["query"] == "who?"
    assert found["_parent_event_names"] == ["RecallMemoryEvent", "ControlEvent"]
    assert found["created_at"] == 7


@CALM
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_a_payload_that_is_no_object_is_refused(value: Any) -> None:
    with pytest.raises(Unreadable):
        read_json(json.dumps(value).encode())


def test_a_payload_that_is_too_large_is_not_read() -> None:
    with pytest.raises(Unreadable, match="bytes"):
        read_json(b" " * (MOST_BYTES + 1))


@CALM
@given(st.binary(max_size=200))
def test_any_bytes_are_a_payload_or_refused(payload: bytes) -> None:
    try:
        read_json(payload)
    except Unreadable:
        return
    assert isinstance(json.loads(payload), dict)


def test_an_answers_id_is_that_of_its_request() -> None:
    assert event_id("a", "b") == event_id("a", "b") != event_id("ab", "")


def _identity(**tenants: str) -> Identity:
    trust = Trust(tenants={k.replace("__", "/"): v for k, v in tenants.items()}, namespaces=(None,))
    return Identity(trust=trust, verifier=None)


ALICE = Person(id="alice", tenant="acme")


def test_by_default_nobodys_word_is_taken() -> None:
    assert _identity().of_word(ALICE, subject=SUBJECT) is None


def test_the_narrowest_rule_of_trust_holds() -> None:
    """An agent's own rule is before its class's, and that before everybody's."""
    rules = {ANY: "all", "RAGAgent": "class", "RAGAgent/hr": "agent"}
    nobody = Person(id="alice")
    for left_out in ([], ["RAGAgent/hr"], ["RAGAgent/hr", "RAGAgent"]):
        trust = Trust(tenants={k: v for k, v in rules.items() if k not in left_out})
        found = Identity(trust=trust, verifier=None).of_word(nobody, subject=SUBJECT)
        wanted = {0: "agent", 1: "class", 2: "all"}[len(left_out)]
        assert found == Principal(tenant=wanted, user="alice")


def test_a_trusted_person_reads_what_the_operator_says() -> None:
    found = _identity(RAGAgent="acme").of_word(ALICE, subject=SUBJECT)
    grants = frozenset({Grant(role=Role.READER, namespace=None)})
    assert found == Principal(tenant="acme", user="alice", grants=grants)


def test_a_person_of_another_tenant_is_denied() -> None:
    with pytest.raises(Denied):
        _identity(RAGAgent="globex").of_word(ALICE, subject=SUBJECT)


def test_whoever_may_name_the_tenant_must_name_one() -> None:
    identity = _identity(RAGAgent=ANY)
    assert identity.of_word(Person(id="alice"), subject=SUBJECT) is None
    found = identity.of_word(ALICE, subject=SUBJECT)
    assert found is not None
    assert found.tenant == "acme"


def test_a_token_and_an_event_name_the_same_person() -> None:
    alice = Principal(tenant="acme", user="alice")
    Identity.check_same(alice, None)
    Identity.check_same(alice, ALICE)
    Identity.check_same(alice, Person(id="alice"))
    for other in (Person(id="bob"), Person(id="alice", tenant="globex")):
        with pytest.raises(Denied):
            Identity.check_same(alice, other)


def _step(scope: Any, start: str, end: str) -> Step:
    return Step("r_1", scope, start, "uses", end, True, ("m_1",))


def test_a_walk_that_begins_in_a_persons_graph_is_theirs() -> None:
    """Promise 1: what leads from a person's facts to the organization's is not shown as shared."""
    own, shared = UserScope(tenant="acme", user="alice"), OrganizationScope(tenant="acme")
    joined = Path(steps=(_step(own, "alice", "Falcon"), _step(shared, "Falcon", "mesh")))
    public = Path(steps=(_step(shared, "Falcon", "mesh"),))
    found = parted(Recollection(paths=(joined, public)))
    assert found.user.paths == (joined,)
    assert found.organization.paths == (public,)


def test_an_answer_of_nothing_has_empty_blocks() -> None:
    reply = SUBJECT.control("MemoryRecalledEvent", event_id="e2")
    data = json.loads(recalled(reply, None, tool_call_id="call", at=1))
    assert data["user_block"] == data["organization_block"] == []
    assert data["tool_call_id"] == "call"
