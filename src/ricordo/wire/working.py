"""Signs of waiting work, letters about what was refused, and the subjects of both.

work       ricordo.acme.work.3f2a…
           prefix  tenant    key, as an event's
dead       ricordo.acme.dead.work
           prefix  tenant    sort
"""

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from ricordo.errors import RicordoError, UnknownVersion, Unreadable
from ricordo.model import Scope
from ricordo.wire.data import time_read, time_written
from ricordo.wire.tokens import COMMON, token, value_of

SIGN_VERSION = 1
MOST_SIGN = 2_048
"""Bytes of a sign that is read; it holds no text, so a larger one is none."""

_ID = re.compile(r"[0-9a-f]{16,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignData:
    """What a sign says.

    Args:
        id: of the turn: a keyed hash, so that a turn that is told twice has one sign.
        due: when the turn is extracted at the latest, if no others join it.
    """

    id: str
    due: datetime

    def claim(self, subject: str) -> str:
        """What its maker vouches for, in one line."""
        return f"sign {SIGN_VERSION} {subject} {self.id} {time_written(self.due)}"


def write_sign(sign: SignData, *, seal: str) -> bytes:
    """A sign as it is published.

    Args:
        seal: of `SignData.claim`, by the ledger's own secret.
    """
    data = {"version": SIGN_VERSION, "id": sign.id, "due": time_written(sign.due), "seal": seal}
    return json.dumps(data).encode()


def read_sign(payload: bytes) -> tuple[SignData, str]:
    """A sign, and the seal that is to be checked.

    Raises:
        UnknownVersion: it is of another version. Unreadable: it is no sign.
    """
    data = read_object(payload, most=MOST_SIGN)
    check_version(data, known=SIGN_VERSION)
    id_, seal = data.get("id"), data.get("seal")
    if not isinstance(id_, str) or not _ID.fullmatch(id_):
        raise Unreadable("a sign's id is a hash in hexadecimal digits")
    if not isinstance(seal, str) or not seal.isascii():
        raise Unreadable("a sign has a seal")
    return SignData(id=id_, due=time_read(data.get("due"), what="due")), seal


def read_object(payload: bytes, *, most: int) -> dict[str, Any]:
    """A JSON object from outside. Raises `Unreadable`; shows none of its text."""
    if len(payload) > most:
        raise Unreadable(f"the message has {len(payload):,} bytes; at most {most:,} are read")
    try:
        data = json.loads(payload, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Unreadable("the message is no JSON") from error
    if not isinstance(data, dict):
        raise Unreadable("the message is no JSON object")
    return cast("dict[str, Any]", data)


def check_version(data: dict[str, Any], *, known: int) -> None:
    """Raise `UnknownVersion` for a message of another version, `Unreadable` for one of none."""
    version = data.get("version")
    if type(version) is not int or version < 1:
        raise Unreadable("the message has no version, which is a whole number from 1 on")
    if version != known:
        raise UnknownVersion(
            f"the message is of version {version % 10**9}; this version of Ricordo reads version "
            f"{known}"
        )


def write_dead(
    payload: bytes, *, subject: str, error: RicordoError, at: datetime, **more: str | int
) -> bytes:
    """A letter about a message that was refused: why, and how to know it again.

    The message itself is not in it, for nobody could erase from there what it may say.

    Args:
        more: where it still lies, for example.
    """
    data = {
        "version": 1,
        "at": time_written(at),
        "subject": subject,
        "error": type(error).__name__,
        "reason": str(error),
        "bytes": len(payload),
        "sha256": hashlib.sha256(payload).hexdigest(),
    }
    return json.dumps({**data, **more}).encode()


def work_subject(scope: Scope, *, prefix: str, key: str) -> str:
    """The subject of signs of one scope.

    Args:
        key: of the scope, as `subject_key` gives it.
    """
    return f"{prefix}.{token(scope.tenant)}.work.{key}"


def work_pattern(*, prefix: str) -> str:
    """A pattern of the subjects of all signs."""
    return f"{prefix}.*.work.>"


def dead_subject(refused: str, *, prefix: str, sort: str) -> str:
    """The subject of letters about messages that were refused.

    Args:
        refused: the subject of such a message; its tenant's are together.
    """
    tenant = refused.removeprefix(f"{prefix}.").partition(".")[0]
    try:
        value_of(tenant)
    except Unreadable:
        tenant = COMMON
    return f"{prefix}.{tenant}.dead.{sort}"


def _no_number(_: str) -> float:
    raise ValueError("no number of JSON")
