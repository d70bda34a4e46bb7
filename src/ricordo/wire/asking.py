"""Requests and answers on a message bus: JSON in version 1, errors by their names alone.

subject    ricordo.acme.ask.recall
           prefix  tenant   what is asked for
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ricordo.errors import RicordoError, Unreadable
from ricordo.wire.tokens import token, value_of
from ricordo.wire.working import check_version, read_object

ASK_VERSION = 1
MOST_REQUEST = 1_048_576
"""Bytes of a request that is read."""

DEADLINE = "Ricordo-Deadline"
"""Header: the seconds in which an answer is of use."""

AUTHORIZATION = "Authorization"
"""Header: ``Bearer`` and the token that says who asks."""

INBOX = "_INBOX"
"""Answers go to subjects that begin so, and to no other: whoever asks must not make the one who
answers write where they may not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskData:
    """What a request says.

    Args:
        body: what is asked for, in its own words.
        deadline: seconds; None leaves it to the header, or to whoever answers.
    """

    body: Mapping[str, Any]
    deadline: float | None = None


def read_ask(payload: bytes) -> AskData:
    """A request.

    Raises:
        UnknownVersion: it is of another version. Unreadable: it is no request.
    """
    data = read_object(payload, most=MOST_REQUEST)
    check_version(data, known=ASK_VERSION)
    body = data.get("body", {})
    if not isinstance(body, dict):
        raise Unreadable("a request's body is an object")
    deadline = data.get("deadline")
    return AskData(
        body=cast("dict[str, Any]", body),
        deadline=None if deadline is None else read_deadline(deadline),
    )


def read_deadline(value: object) -> float:
    """Seconds above 0, as a number or (in a header) as text. Raises `Unreadable`."""
    if isinstance(value, str) and len(value) <= _LONGEST_NUMBER:
        try:
            value = float(value)
        except ValueError as error:
            raise Unreadable("a deadline is a number of seconds") from error
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _FOREVER:
        raise Unreadable("a deadline is a number of seconds above 0")
    return float(value)


def write_answer(result: Mapping[str, Any]) -> bytes:
    """An answer as it is sent."""
    return json.dumps({"version": ASK_VERSION, "result": result}, ensure_ascii=False).encode(
        errors="replace"
    )


def write_error(error: RicordoError) -> bytes:
    """An error as it is sent: its name, and that of its branch of the tree for those who do not
    know the name. Not its message, which is for the operator of the one who answers."""
    lineage = [kind.__name__ for kind in type(error).__mro__ if issubclass(kind, RicordoError)]
    branch = lineage[-2] if len(lineage) > 1 else lineage[-1]
    return json.dumps(
        {"version": ASK_VERSION, "error": {"type": lineage[0], "branch": branch}}
    ).encode()


def ask_subject(tenant: str, *, prefix: str, what: str) -> str:
    """The subject on which something is asked on behalf of a tenant; ``*`` is anything."""
    return f"{prefix}.{token(tenant)}.ask.{what}"


def ask_pattern(*, prefix: str) -> str:
    """A pattern of all subjects on which anything is asked, well formed or not."""
    return f"{prefix}.*.ask.>"


def read_ask_subject(subject: str, *, prefix: str) -> tuple[str, str]:
    """The tenant and what is asked for. Raises `Unreadable`."""
    parts = subject.removeprefix(f"{prefix}.").split(".")
    if len(parts) != _PARTS or parts[1] != "ask":
        raise Unreadable("a request's subject is a tenant's token, `ask`, and what is asked for")
    tenant = value_of(parts[0])
    if tenant is None:
        raise Unreadable("a request's subject names a tenant")
    return tenant, parts[2]


def answerable(reply: str, *, tenant: str | None) -> bool:
    """Whether an answer may go there: to the common inbox, to one of that tenant's own, or where a
    server sends answers on to another account."""
    if any(character in reply for character in "*> \t\r\n"):
        return False
    own = () if tenant is None else (f"{INBOX}_{token(tenant)}.",)
    return reply.startswith((f"{INBOX}.", f"{_ELSEWHERE}.", *own))


_ELSEWHERE = "_R_"
"""By what a server replaces the inbox of whoever asks from another account."""

_PARTS = 3
_FOREVER = 1e9
_LONGEST_NUMBER = 32
