"""What is stored as JSON comes back equal, whatever it holds."""

import sqlite3
import typing
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.adapters.sqlite.outbox import announce, announced
from ricordo.adapters.sqlite.schema import migrate, migrations
from ricordo.adapters.sqlite.session import add_scope
from ricordo.columns.codec import dumps, loads, loads_all
from ricordo.columns.times import micros, moment
from ricordo.errors import Corrupt, Invalid
from ricordo.events import ALL, Event
from ricordo.model import (
    EntityClaim,
    OrganizationScope,
    Origin,
    RelationClaim,
    Rule,
    Said,
    Scope,
    Speaker,
    Turn,
    UserScope,
)

ids = st.sampled_from(["a", "ä", "🦉", "x/../y", "%", "'", "a b", "i" * 256])
texts = st.text(st.characters(), max_size=30) | st.sampled_from(["\0", "\ud800", "\u2028", '"\\'])
times = st.datetimes(
    datetime.fromisoformat("1900-01-01"),
    datetime.fromisoformat("2200-01-01"),
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45))]),
)
users = st.builds(UserScope, tenant=ids, user=ids)
organizations = st.builds(OrganizationScope, tenant=ids, namespace=st.none() | ids)
origins = st.builds(
    Origin,
    at=times,
    agent=st.none() | ids,
    thread_id=st.none() | ids,
    display_id=st.none() | ids,
    run_id=st.none() | ids,
    author=st.none() | ids,
    message_ids=st.lists(ids, max_size=3).map(tuple),
    quote=st.none() | texts,
)
turns = st.builds(
    Turn,
    thread_id=ids,
    run_id=ids,
    agent=ids,
    at=times,
    display_id=st.none() | ids,
    said=st.lists(
        st.builds(
            Said,
            speaker=st.sampled_from(Speaker),
            text=texts,
            id=st.none() | ids,
            trusted=st.booleans(),
        ),
        max_size=4,
    ).map(tuple),
)
ends = st.builds(EntityClaim, name=texts, type=st.none() | texts)
claims = st.builds(
    RelationClaim,
    source=ends,
    relation=texts,
    target=ends,
    valid_from=st.none() | times,
    valid_until=st.none() | times,
)

BY_HINT: dict[Any, st.SearchStrategy[Any]] = {
    str: texts,
    str | None: st.none() | texts,
    bool: st.booleans(),
    int: st.integers(0, 2**40),
    datetime: times,
    Rule: st.sampled_from(Rule),
    UserScope: users,
    OrganizationScope: organizations,
    Scope: users | organizations,
    tuple[str, ...]: st.lists(texts, max_size=3).map(tuple),
    tuple[Origin, ...]: st.lists(origins, max_size=2).map(tuple),
}


def any_of(kind: type[Event]) -> st.SearchStrategy[Event]:
    hints = typing.get_type_hints(kind)
    return st.builds(kind, **{each.name: BY_HINT[hints[each.name]] for each in fields(kind)})


@pytest.fixture(scope="module")
def outbox() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, steps=migrations(), path=":memory:")
    yield connection
    connection.close()


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_event_comes_back_equal(outbox: sqlite3.Connection, kind: type[Event]) -> None:
    """A new class of events is covered by being in `ALL`."""

    @given(any_of(kind))
    def check(event: Event) -> None:
        for erased in (False, True):
            if not erased:
                add_scope(outbox, event.scope)
            announce(outbox, event, erased=erased)
            (place,) = outbox.execute("select max(position) from outbox").fetchone()
            assert announced(outbox, after=place - 1, limit=1) == [(place, event)]

    check()


@given(turns)
def test_every_turn_comes_back_equal(turn: Turn) -> None:
    assert loads(Turn, dumps(turn)) == turn


@given(st.lists(claims, max_size=3).map(tuple))
def test_every_claim_comes_back_equal(some: tuple[RelationClaim, ...]) -> None:
    written = dumps(some)
    assert loads_all(RelationClaim, written) == some
    assert written.isascii()


@given(origins)
def test_every_origin_comes_back_equal(origin: Origin) -> None:
    assert loads(Origin, dumps(origin)) == origin


@given(times)
def test_times_are_exact(time: datetime) -> None:
    assert moment(micros(time)) == time


def test_a_time_needs_a_zone() -> None:
    with pytest.raises(Invalid, match="time zone"):
        micros(datetime.fromisoformat("2026-01-01"))


def test_an_event_of_an_unknown_kind_is_corrupt(outbox: sqlite3.Connection) -> None:
    outbox.execute("insert into outbox (kind, payload) values ('Unheard', '{}')")
    (place,) = outbox.execute("select max(position) from outbox").fetchone()
    with pytest.raises(Corrupt, match="Unheard"):
        announced(outbox, after=place - 1, limit=1)
    outbox.execute("delete from outbox where position = ?", (place,))
