"""Events for others: named without wildcards, written without words or people, read with care."""

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cloudevents.core.v1.event import CloudEvent
from hypothesis import given
from hypothesis import strategies as st

from ricordo.adapters.nats import read_event, write_event
from ricordo.errors import Invalid, UnknownVersion, Unreadable
from ricordo.events import (
    ALL,
    Event,
    TurnParked,
    UserMemoryErased,
    UserMemoryForgotten,
    UserMemoryProposed,
    UserMemoryStored,
)
from ricordo.model import OrganizationScope, Origin, Rule, UserScope, check_id
from ricordo.wire import (
    LEAST,
    event_subject,
    kind_of,
    name_of,
    people,
    person_events,
    room_in,
    subject_key,
    tenant_events,
    token,
    type_of,
    value_of,
)
from ricordo.wire.fitting import RESERVE
from tests.support.publishing import validator

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
ALICE = UserScope(tenant="acme", user="alice@example.org")
PLATFORM = OrganizationScope(tenant="acme", namespace="platform")
SECRET = "my salary is 123456"


def _usable(text: str) -> bool:
    try:
        check_id(text, what="id")
    except Invalid:
        return False
    return True


ids = st.text(min_size=1, max_size=60).filter(_usable)


def hashes_of(event: Event) -> Mapping[UserScope, str]:
    return {person: f"{abs(hash(person)):032x}" for person in people(event)}


def example(kind: type[Event]) -> Event:
    """An event of each kind with every field filled."""
    origin = Origin(
        at=NOON,
        agent="coder",
        thread_id="t 1",
        display_id="d.1",
        run_id="r*1",
        author="bob@example.org",
        message_ids=("m1", "m2"),
        quote=SECRET,
    )
    filled: dict[str, Any] = {
        "id": "e_1",
        "at": NOON,
        "scope": PLATFORM if kind.__name__.startswith("Organization") else ALICE,
        "origins": (origin,),
        "memory_id": "m_1",
        "memory_ids": ("m_1", "m_2"),
        "entity_id": "n_1",
        "into_id": "n_2",
        "merge_id": "g_1",
        "proposal_id": "p_1",
        "kind": "fact",
        "reasons": ("sensitive",),
        "relation_ids": ("r_1",),
        "version": 2,
        "change": "edited",
        "agent": "coder",
        "subject": "ab" * 32,
        "refusal_id": "x_1",
        "rule": next(iter(Rule)),
        "thread_id": "t 1",
        "run_id": "r*1",
        "reason": f"Malformed: {SECRET}",
        "approved": True,
        "by": "bob@example.org",
    }
    return kind(**{field.name: filled[field.name] for field in fields(kind)})


def public(event: Event, *, hashes: Mapping[UserScope, str]) -> Event:
    """An event as others may see it."""
    changes: dict[str, Any] = {}
    tenant = event.scope.tenant

    def hashed(user: str | None) -> str | None:
        return None if user is None else hashes[UserScope(tenant=tenant, user=user)]

    changes["origins"] = tuple(
        replace(origin, quote=None, author=hashed(origin.author)) for origin in event.origins
    )
    if isinstance(event, UserMemoryErased):
        changes["scope"] = UserScope(tenant=tenant, user=event.subject)
    elif isinstance(event.scope, UserScope):
        changes["scope"] = UserScope(tenant=tenant, user=hashes[event.scope])
    if hasattr(event, "by"):
        changes["by"] = hashed(event.by)
    if isinstance(event, TurnParked):
        changes["reason"] = "Malformed"
    return replace(event, **changes)


def write(event: Event, *, position: int = 7) -> bytes:
    return write_event(event, position=position, hashes=hashes_of(event))


@given(ids, ids)
def test_two_ids_never_share_a_token(one: str, other: str) -> None:
    """Whatever an id holds, it is one token, no wildcard, and can be read back."""
    written = token(one)
    assert not set(written) & set(".*> \t\r\n")
    assert written.isascii()
    assert (written == token(other)) == (one == other)
    if not written.startswith("=="):
        assert value_of(written) == one


def test_long_ids_stay_apart_though_they_cannot_be_read_back() -> None:
    one, other = "ö" * 255 + "a", "ö" * 255 + "b"
    assert token(one) != token(other)
    assert len(token(one)) < 100
    with pytest.raises(Unreadable):
        value_of(token(one))


@pytest.mark.parametrize(
    "written", ["", "a.b", "*", ">", "a b", "=4", "=zz", "=61", "=ff", "=" * 2]
)
def test_what_is_no_token_is_refused(written: str) -> None:
    with pytest.raises(Unreadable):
        value_of(written)


def test_the_common_namespace_has_a_token_of_its_own() -> None:
    assert value_of(token(None)) is None
    assert token(None) == token("") not in {token("="), token("-")}


@pytest.mark.parametrize("kind", ALL)
def test_every_event_has_a_name_and_a_subject(kind: type[Event]) -> None:
    """Scopes have distinct subjects, which tell nothing of a person."""
    assert kind_of(type_of(kind)) is kind
    event = example(kind)
    key = subject_key(event.scope, person="ab12")
    subject = event_subject(kind, prefix="ricordo", scope=event.scope, key=key)
    of = "organization" if isinstance(event.scope, OrganizationScope) else "user"
    assert subject.startswith(f"ricordo.acme.events.{of}.")
    assert subject == f"ricordo.acme.events.{name_of(kind)}.{key}"
    assert len(subject.split(".")) == 7
    assert "alice" not in subject
    assert tenant_events("acme", prefix="ricordo") == "ricordo.acme.events.>"
    assert person_events("acme", "ab12", prefix="ricordo") == "ricordo.acme.events.user.*.*.ab12"


def test_names_are_distinct() -> None:
    assert len({type_of(kind) for kind in ALL}) == len(ALL)


@pytest.mark.parametrize("kind", ALL)
def test_an_event_comes_back_as_others_may_see_it(kind: type[Event]) -> None:
    """Round trip: ids and origins are all there, people are hashes, words are gone."""
    event = example(kind)
    payload = write(event)
    found = read_event(payload)
    assert found.position == 7
    assert found.event == public(event, hashes=hashes_of(event))
    assert found.event.id == event.id
    origin = found.event.origins[0]
    assert (origin.thread_id, origin.display_id, origin.run_id) == ("t 1", "d.1", "r*1")
    text = payload.decode()
    for word in (SECRET, "123456", "alice", "bob@"):
        assert word not in text


@given(st.lists(ids, max_size=4), ids, ids, st.integers(1, 2**62))
def test_any_ids_survive(memory_ids: list[str], tenant: str, agent: str, position: int) -> None:
    event = UserMemoryStored(
        id="e_1",
        at=NOON,
        scope=UserScope(tenant=tenant, user="u"),
        memory_id=agent,
        kind="fact",
        relation_ids=tuple(memory_ids),
        origins=(Origin(at=NOON, agent=agent),),
    )
    found = read_event(write(event, position=position))
    assert found.event == public(event, hashes=hashes_of(event))
    assert found.position == position


def test_the_newest_origins_are_told() -> None:
    """A memory that was said a thousand times does not make a message too large."""
    origins = tuple(Origin(at=NOON + timedelta(minutes=n), run_id=f"r{n}") for n in range(1_000))
    event = replace(example(UserMemoryStored), origins=origins)
    assert [o.run_id for o in read_event(write(event)).event.origins][-1] == "r999"
    assert len(read_event(write(event)).event.origins) == 100
    assert json.loads(write(event))["data"]["left_out"] == {"origins": 900}
    assert "left_out" not in json.loads(write(example(UserMemoryStored)))["data"]


@pytest.mark.parametrize("kind", [UserMemoryStored, UserMemoryProposed, UserMemoryForgotten])
@pytest.mark.parametrize("room", [room_in(LEAST), room_in(1 << 20)])
def test_every_event_fits_into_a_message(kind: type[Event], room: int) -> None:
    """Promise 4 for all others: no event is too large to leave, whatever led to it."""
    huge = tuple(f"{n:06d}".ljust(256, "\N{BRAIN}") for n in range(2_400))
    origin = Origin(at=NOON, agent=huge[0], thread_id=huge[0], run_id=huge[0], message_ids=huge)
    event = example(kind)
    names = {field.name for field in fields(kind)}
    more: dict[str, Any] = {"origins": (*event.origins, *[origin] * 60)}
    lists = ("relation_ids", "memory_ids", "reasons")
    more |= {name: huge for name in lists if name in names}
    event = replace(event, **more)
    payload = write_event(event, position=7, hashes=hashes_of(event), room=room)
    assert len(payload) < room + RESERVE <= 1 << 20
    data = json.loads(payload)["data"]
    validator(f"{kind.__name__}Data").validate(data)
    found, left = read_event(payload).event, data["left_out"]
    for name, value in more.items():
        assert len(getattr(found, name)) + left.get(name, 0) == len(value)
    told = sum(len(told.message_ids) for told in found.origins)
    whole = event.origins[len(event.origins) - len(found.origins) :]
    assert told + left.get("message_ids", 0) == sum(len(one.message_ids) for one in whole)
    if found.origins:
        assert found.origins[-1].message_ids[-1] == huge[-1]


def test_an_erasure_names_the_hash_of_the_receipt() -> None:
    event = UserMemoryErased(
        id="e_1", at=NOON, scope=UserScope(tenant="acme", user="ab" * 32), subject="ab" * 32
    )
    assert people(event) == set()
    assert read_event(write(event)).event == event


def test_binary_mode_is_read_too() -> None:
    envelope = json.loads(write(example(UserMemoryStored)))
    data = envelope.pop("data")
    headers = {f"ce-{name}": value for name, value in envelope.items()}
    headers["content-type"] = "application/json"
    assert read_event(json.dumps(data).encode(), headers) == read_event(
        write(example(UserMemoryStored))
    )


def test_the_envelope_is_one_of_cloudevents() -> None:
    envelope = json.loads(write(example(UserMemoryStored)))
    data = envelope.pop("data")
    assert set(envelope) - {"sequence"} == {
        "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema",
    }  # fmt: skip
    assert envelope["type"] == "ricordo.user.memory.stored.v1"
    assert envelope["source"] == "/ricordo/tenants/acme"
    assert envelope["dataschema"] == "urn:ricordo:event:user.memory.stored:1"
    assert envelope["subject"] == f"user/{data['scope']['user']}"
    CloudEvent({**envelope, "time": NOON}, data)


def test_another_version_is_told_apart_from_nonsense() -> None:
    envelope = json.loads(write(example(UserMemoryStored)))
    envelope["type"] = "ricordo.user.memory.stored.v2"
    with pytest.raises(UnknownVersion, match="version 2"):
        read_event(json.dumps(envelope).encode())
    envelope["type"] = "ricordo.user.memory.dreamt.v1"
    with pytest.raises(Unreadable, match="no type") as caught:
        read_event(json.dumps(envelope).encode())
    assert not isinstance(caught.value, UnknownVersion)


def _without(*path: str) -> bytes:
    envelope = json.loads(write(example(UserMemoryStored)))
    inside = envelope
    for name in path[:-1]:
        inside = inside[name]
    del inside[path[-1]]
    return json.dumps(envelope).encode()


def _with(value: object, *path: str) -> bytes:
    envelope = json.loads(write(example(UserMemoryStored)))
    inside = envelope
    for name in path[:-1]:
        inside = inside[name]
    inside[path[-1]] = value
    return json.dumps(envelope).encode()


BAD = {
    "empty": b"",
    "no JSON": b"{",
    "no text": b"\xff\xfe",
    "no object": b"[1]",
    "a number": b"7",
    "too deep": b"[" * 100_000,
    "too large": b" " * 2_000_000,
    "no type": _without("type"),
    "no id": _without("id"),
    "no time": _without("time"),
    "no sequence": _without("sequence"),
    "no data": _without("data"),
    "no scope": _without("data", "scope"),
    "no memory": _without("data", "memory_id"),
    "other specversion": _with("9.9", "specversion"),
    "type of a number": _with(7, "type"),
    "id of a list": _with([], "id"),
    "time of a word": _with("soon", "time"),
    "time without zone": _with("2026-05-04T12:00:00", "time"),
    "time of a number": _with(5, "time"),
    "time before all years of UTC": _with("0001-01-01T00:00:00+01:00", "time"),
    "time after all years of UTC": _with("9999-12-31T23:59:59-01:00", "time"),
    "sequence of a number": _with(5, "sequence"),
    "sequence below zero": _with("-5", "sequence"),
    "sequence of too many digits": _with("1" * 5_000, "sequence"),
    "data of a list": _with([], "data"),
    "scope of an organization": _with(
        {"type": "organization", "tenant": "acme", "namespace": None}, "data", "scope"
    ),
    "scope of a user with a control character": _with(
        {"type": "user", "tenant": "acme", "user": "a\u0000b"}, "data", "scope"
    ),
    "memory of a number": _with(5, "data", "memory_id"),
    "memory of null": _with(None, "data", "memory_id"),
    "relations of a word": _with("r_1", "data", "relation_ids"),
    "relations of numbers": _with([1], "data", "relation_ids"),
    "origins of words": _with(["x"], "data", "origins"),
    "origin without time": _with([{"run_id": "r"}], "data", "origins"),
    "origin with a bad time": _with([{"at": "2026-13-40T00:00:00Z"}], "data", "origins"),
    "origin before all years of UTC": _with(
        [{"at": "0001-01-01T00:00:00+01:00"}], "data", "origins"
    ),
    "origin with a bad id": _with(
        [{"at": "2026-05-04T12:00:00Z", "run_id": ""}], "data", "origins"
    ),
    "forged source": _with("/ricordo/tenants/other", "source"),
    "forged tenant": _with({"type": "user", "tenant": "other", "user": "ab"}, "data", "scope"),
}


@pytest.mark.parametrize("payload", BAD.values(), ids=BAD.keys())
def test_what_is_no_event_is_refused(payload: bytes) -> None:
    """By one error of ours, which shows nothing of it."""
    with pytest.raises(Unreadable) as caught:
        read_event(payload)
    assert len(str(caught.value)) < 300


def test_fields_that_are_not_known_are_let_be() -> None:
    """A field may be added within a version."""
    assert read_event(_with("x", "data", "mood")) == read_event(write(example(UserMemoryStored)))
    assert read_event(_with("x", "mood")).event.id == "e_1"
