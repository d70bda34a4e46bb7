"""What an event is called: its type, its schema, and the subject on which it is announced.

type       ricordo.user.memory.stored.v1
schema     urn:ricordo:event:user.memory.stored:1
subject    ricordo.acme.events.user.memory.stored.3f2a…
           prefix  tenant events of thing happened key
"""

import re
from functools import cache
from typing import NamedTuple
from urllib.parse import quote

from ricordo.errors import UnknownVersion, Unreadable
from ricordo.events import ALL, Event, UserEvent
from ricordo.model import OrganizationScope, Scope
from ricordo.wire.tokens import token

VERSION = 1
"""The version of every event's data today. Fields may be added in it; anything else is a new one.
"""

_TYPE = re.compile(r"ricordo\.(user|organization)\.([a-z]+)\.([a-z]+)\.v([1-9]\d{0,8})")


class Name(NamedTuple):
    """What an event is called, in three words."""

    of: str
    thing: str
    happened: str

    def __str__(self) -> str:
        return ".".join(self)


@cache
def name_of(kind: type[Event]) -> Name:
    """The name of a class of events, for example ``user.memory.stored``."""
    of = "user" if issubclass(kind, UserEvent) else "organization"
    words = [word.lower() for word in re.findall(r"[A-Z][a-z]+", kind.__name__)]
    thing, happened = words[-2:]
    return Name(of, thing, happened)


_KINDS = {name_of(kind): kind for kind in ALL}


def type_of(kind: type[Event]) -> str:
    """Its type in an envelope."""
    return f"ricordo.{name_of(kind)}.v{VERSION}"


def kind_of(written: str) -> type[Event]:
    """The class of a type.

    Raises:
        UnknownVersion: of an event that is known in another version.
        Unreadable: of none that is known.
    """
    found = _TYPE.fullmatch(written)
    kind = _KINDS.get(Name(found[1], found[2], found[3])) if found else None
    if found is None or kind is None:
        raise Unreadable(f"{written[:80]!a} is no type of event that this version knows")
    if int(found[4]) != VERSION:
        raise UnknownVersion(
            f"{written[:80]!a} is of version {found[4]}; this version of Ricordo reads version "
            f"{VERSION}"
        )
    return kind


def schema_of(kind: type[Event]) -> str:
    """The name of the schema of its data."""
    return f"urn:ricordo:event:{name_of(kind)}:{VERSION}"


def source_of(tenant: str) -> str:
    """What announces the events of a tenant."""
    return f"/ricordo/tenants/{quote(tenant, safe='')}"


def event_subject(kind: type[Event], *, prefix: str, scope: Scope, key: str) -> str:
    """The subject on which an event is announced.

    Args:
        key: of the scope, as `subject_key` gives it.
    """
    return f"{prefix}.{token(scope.tenant)}.events.{name_of(kind)}.{key}"


def subject_key(scope: Scope, *, person: str) -> str:
    """The last token of a subject: an organization's namespace, or the person's keyed hash."""
    if isinstance(scope, OrganizationScope):
        return token(scope.namespace)
    return token(person)


def person_events(tenant: str, person: str, *, prefix: str) -> str:
    """A pattern of all subjects on which events of one person are announced.

    Args:
        person: their keyed hash.
    """
    return f"{prefix}.{token(tenant)}.events.user.*.*.{token(person)}"


def tenant_events(tenant: str, *, prefix: str) -> str:
    """A pattern of all subjects on which events of one tenant are announced."""
    return f"{prefix}.{token(tenant)}.events.>"
