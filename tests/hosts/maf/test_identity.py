"""A session has an owner, who survives being stored, and nobody is served without one."""

import json
import warnings

import pytest
from agent_framework import AgentSession
from hypothesis import given
from hypothesis import strategies as st

from ricordo.access import grants_of
from ricordo.errors import Denied, Invalid
from ricordo.hosts.maf import identify, new_session, owner_of, principal_of
from ricordo.hosts.maf.identity import IDENTITY_KEY, OWNER_KEY, as_id, place_of
from ricordo.model import Principal

ALICE = Principal(
    tenant="acme",
    user="alice",
    grants=grants_of(reader=[None, "platform"], curator=["platform"]),
)


def stored_and_restored(session: AgentSession) -> AgentSession:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return AgentSession.from_dict(json.loads(json.dumps(session.to_dict())))


def test_a_new_session_names_its_principal_with_all_grants() -> None:
    session = new_session("t1", principal=ALICE, display_id="d1")
    assert principal_of(session) == ALICE
    assert session.session_id == "t1"
    assert place_of(session).display_id == "d1"


def test_identity_survives_storage_as_plain_json() -> None:
    session = stored_and_restored(new_session("t1", principal=ALICE, display_id="d1"))
    assert principal_of(session) == ALICE
    assert place_of(session) == place_of(new_session("t1", principal=ALICE, display_id="d1"))
    assert session.state[OWNER_KEY] == owner_of(ALICE)


def test_a_session_without_principal_is_denied() -> None:
    """Promise 5: identity fails closed."""
    with pytest.raises(Denied, match="new_session"):
        principal_of(AgentSession())


@pytest.mark.parametrize(
    "identity",
    [
        {},
        {"tenant": "acme", "user": "", "grants": []},
        {"tenant": "acme", "user": "*\n", "grants": []},
        {"tenant": "acme", "user": "alice"},
        {"tenant": "acme", "user": "alice", "grants": [{"role": "god", "namespace": None}]},
        {"tenant": "acme", "user": "alice", "grants": ["admin"]},
        {"tenant": "acme", "user": "alice", "grants": None},
        {"tenant": 7, "user": "alice", "grants": []},
    ],
)
def test_a_damaged_identity_is_denied(identity: dict[str, object]) -> None:
    session = AgentSession()
    session.state[IDENTITY_KEY] = identity
    with pytest.raises(Denied):
        principal_of(session)


def test_an_identity_that_is_no_mapping_is_denied() -> None:
    session = AgentSession()
    session.state[IDENTITY_KEY] = "alice"
    with pytest.raises(Denied):
        principal_of(session)


def test_grants_can_be_renewed_and_a_session_cannot_change_hands() -> None:
    session = new_session("t1", principal=ALICE, display_id="d1")
    fewer = Principal(tenant="acme", user="alice")
    identify(session, principal=fewer)
    assert principal_of(session) == fewer
    assert place_of(session).display_id == "d1"
    for other in (
        Principal(tenant="acme", user="bob"),
        Principal(tenant="other", user="alice"),
    ):
        with pytest.raises(Denied, match="somebody else"):
            identify(session, principal=other)
    assert principal_of(session) == fewer


def test_a_display_id_must_be_an_id() -> None:
    with pytest.raises(Invalid, match="display_id"):
        new_session(principal=ALICE, display_id="a\nb")


ids = st.text(
    st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp", "Zs")), min_size=1, max_size=12
)


@given(ids, ids, ids, ids)
def test_no_two_principals_share_an_owner(t1: str, u1: str, t2: str, u2: str) -> None:
    """Promise 1: the owner that other stores see is unambiguous across tenants."""
    try:
        first, second = Principal(tenant=t1, user=u1), Principal(tenant=t2, user=u2)
    except Invalid:
        return
    assert (owner_of(first) == owner_of(second)) == ((t1, u1) == (t2, u2))


@pytest.mark.parametrize("user", ["*", "..", "a/b", "a b", "a:b", "%2E", "~", "ünï", "\\"])
def test_an_owner_is_no_pattern_path_or_blank_to_other_stores(user: str) -> None:
    owner = owner_of(Principal(tenant="acme", user=user))
    assert owner.count(":") == 1
    assert not set(owner) & set("*/\\ ~.?")
    assert owner.isascii()


def test_a_session_id_that_is_no_id_is_still_a_thread() -> None:
    assert as_id("plain") == "plain"
    assert as_id("bad\nid") == as_id("bad\nid")
    assert as_id("bad\nid") != as_id("bad\n id")
    assert as_id("\ud800").startswith("sha256-")
    assert place_of(new_session("x" * 5_000, principal=ALICE)).thread_id.startswith("sha256-")
