"""Where a page ended, sealed, so that only what a page returned leads on from it."""

import base64
import binascii
import hmac
import json
from typing import Any

from ricordo.columns.scopes import scope_key
from ricordo.columns.times import micros
from ricordo.errors import Invalid
from ricordo.model import Memory, Scope

_SEAL = 12


def cursor_after(last: Memory, *, scope: Scope, secret: bytes) -> str:
    """The cursor that leads on after a page's last memory."""
    place = json.dumps([micros(last.recorded_at), last.id]).encode()
    return base64.urlsafe_b64encode(_seal(place, scope, secret) + place).decode()


def position_of(cursor: str, *, scope: Scope, secret: bytes) -> tuple[Any, ...]:
    """Where a page ended. The seal binds a cursor to this ledger and scope.

    Raises:
        Invalid: it is not a cursor that a page of this scope returned.
    """
    try:
        raw = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise Invalid("the cursor is not one that a page returned") from error
    seal, place = raw[:_SEAL], raw[_SEAL:]
    if not hmac.compare_digest(seal, _seal(place, scope, secret)):
        raise Invalid("the cursor is not one that a page of this scope returned")
    return tuple(json.loads(place))


def _seal(place: bytes, scope: Scope, secret: bytes) -> bytes:
    bound = json.dumps(["cursor", *scope_key(scope)]).encode() + place
    return hmac.digest(secret, bound, "sha256")[:_SEAL]
