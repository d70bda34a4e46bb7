"""The visibility table, cell by cell, and the minting of scopes (promises 1, 2, 3)."""

import itertools

import pytest

from ricordo import access
from ricordo.access import PreferenceVisibility, grants_of
from ricordo.errors import Denied, Invalid
from ricordo.model import (
    Grant,
    Kind,
    OrganizationScope,
    Partition,
    Principal,
    Role,
    UserScope,
)

ALICE = UserScope(tenant="acme", user="alice")
PLATFORM = OrganizationScope(tenant="acme", namespace="platform")
READERS = {
    "alice, coder": (Principal(tenant="acme", user="alice"), "coder"),
    "alice, helper": (Principal(tenant="acme", user="alice"), "helper"),
    "alice": (Principal(tenant="acme", user="alice"), None),
    "bob, coder": (Principal(tenant="acme", user="bob"), "coder"),
    "reader": (
        Principal(tenant="acme", user="rita", grants=grants_of(reader=["platform"])),
        "coder",
    ),
    "reader of hr": (
        Principal(tenant="acme", user="rob", grants=grants_of(reader=["hr"])),
        "coder",
    ),
    "reader of the common": (
        Principal(tenant="acme", user="cy", grants=grants_of(reader=[None])),
        None,
    ),
    "alice elsewhere": (
        Principal(tenant="other", user="alice", grants=grants_of(admin=["platform"])),
        "coder",
    ),
}
PREFERENCE = Partition(scope=ALICE, kind=Kind.PREFERENCE, agent="coder")
FACT = Partition(scope=ALICE, kind=Kind.FACT)
DOCUMENTED = Partition(scope=PLATFORM, kind=Kind.FACT)
OWN, AGENT, USER = "agent or user", PreferenceVisibility.AGENT, PreferenceVisibility.USER

TABLE = {
    (PREFERENCE, AGENT): {"alice, coder", "alice"},
    (PREFERENCE, USER): {"alice, coder", "alice, helper", "alice"},
    (FACT, AGENT): {"alice, coder", "alice, helper", "alice"},
    (FACT, USER): {"alice, coder", "alice, helper", "alice"},
    (DOCUMENTED, AGENT): {"reader"},
    (DOCUMENTED, USER): {"reader"},
}


@pytest.mark.parametrize(
    ("cell", "name"), list(itertools.product(TABLE, READERS)), ids=lambda value: str(value)[:60]
)
def test_every_cell_of_the_visibility_table(cell, name: str) -> None:
    """Promises 1 and 2: who wrote × who reads × kind × scope."""
    partition, visibility = cell
    principal, agent = READERS[name]
    sees = access.may_see(partition, principal, agent=agent, visibility=visibility)
    assert sees == (name in TABLE[cell])


def test_what_is_not_in_the_table_is_seen_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Default deny."""
    monkeypatch.setattr(access, "VISIBILITY", {})
    assert not access.may_see(FACT, Principal(tenant="acme", user="alice"), agent=None)


@pytest.mark.parametrize("role", Role)
def test_roles_include_the_ones_before_them(role: Role) -> None:
    principal = Principal(
        tenant="acme", user="u", grants=frozenset({Grant(role=role, namespace="n")})
    )
    assert [access.has_role(principal, "n", wanted) for wanted in Role] == [
        role.rank >= wanted.rank for wanted in Role
    ]


def test_the_common_namespace_is_not_all_namespaces() -> None:
    """Promise 3: a grant is for exactly one namespace; there is no wildcard."""
    principal = Principal(tenant="acme", user="u", grants=grants_of(admin=[None]))
    assert access.readable(principal) == (OrganizationScope(tenant="acme"),)
    with pytest.raises(Denied, match="'platform'"):
        access.readable(principal, namespaces=["platform"])
    with pytest.raises(Denied):
        access.organization_scope(principal, "platform", role=Role.READER)


@pytest.mark.parametrize("namespace", ["*", "%", "platform,hr"])
def test_a_namespace_is_a_name_and_no_pattern(namespace: str) -> None:
    principal = Principal(tenant="acme", user="u", grants=grants_of(curator=["platform", "hr"]))
    with pytest.raises(Denied):
        access.organization_scope(principal, namespace, role=Role.CURATOR)


def test_one_namespace_is_written_and_it_must_be_clear_which() -> None:
    one = Principal(tenant="acme", user="u", grants=grants_of(curator=["platform"], reader=["hr"]))
    assert access.sole_namespace(one, None, given=False, role=Role.CURATOR) == "platform"
    two = Principal(tenant="acme", user="u", grants=grants_of(curator=["platform", "hr"]))
    with pytest.raises(Denied, match="'hr', 'platform'"):
        access.sole_namespace(two, None, given=False, role=Role.CURATOR)
    none = Principal(tenant="acme", user="u")
    with pytest.raises(Denied, match="no namespace"):
        access.sole_namespace(none, None, given=False, role=Role.CURATOR)


def test_readable_scopes_come_in_one_order() -> None:
    """Same input, same output: the order never depends on a set's."""
    names = ["zoo", None, "apes", "mice"]
    principal = Principal(tenant="acme", user="u", grants=grants_of(reader=names))
    assert [s.namespace for s in access.readable(principal)] == [None, "apes", "mice", "zoo"]


@pytest.mark.parametrize(
    "value",
    ["", " a", "a ", "a\x00b", "a\nb", "e\u0301", "\u202eevil", "\ud800", "x" * 257, 7, None],
)
def test_ids_that_cannot_serve_are_refused_by_name(value: object) -> None:
    """Bad input: the message names the role of the id and shows nothing raw."""
    with pytest.raises(Invalid, match=r"^user "):
        Principal(tenant="acme", user=value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value", ["*", "%", "..", "../../etc", "'; drop table", "é", "日本", "x" * 256]
)
def test_odd_ids_are_taken_as_they_are(value: str) -> None:
    assert Principal(tenant=value, user=value).user == value
