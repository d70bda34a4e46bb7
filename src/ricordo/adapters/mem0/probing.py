"""Trying out a store before it is trusted: with entries of nobody, removed again."""

import secrets
import struct
from typing import TYPE_CHECKING

from ricordo.errors import Invalid
from ricordo.ports import Point

if TYPE_CHECKING:
    from ricordo.adapters.mem0.view import Mem0View

_CROWD = 12
"""Nearer entries of another partition, which a filter must keep from starving an answer."""


async def probe(view: "Mem0View", *, dimension: int) -> None:
    """See that the store filters while it searches, replaces, lists and deletes.

    Raises:
        Invalid: it does not; the message says what.
    """
    mine, others = secrets.token_hex(32), secrets.token_hex(32)
    asked, far = _vector(dimension, 0), _vector(dimension, 1)
    try:
        crowd = [_point(f"probe-{n}", others, asked) for n in range(_CROWD)]
        await view.upsert(crowd, scope=others, fresh=True)
        await view.upsert([_point("probe", mine, far)], scope=mine, fresh=True)
        found = await view.search(asked, part=mine, limit=1)
        _require(view, list(found) == ["probe"], "it filters after its search, so answers starve")
        await view.upsert([_point("probe", mine, asked, "2")], scope=mine, fresh=False)
        listed = await view.inventory(mine)
        _require(view, dict(listed) == {"probe": "2"}, "it does not replace or list by scope")
        await view.remove(["probe"], scope=mine)
        left = await view.inventory(mine)
        _require(view, not left, "it does not delete what it is told to")
        kept = await view.inventory(others)
        _require(view, len(kept) == _CROWD, "it deletes more than it is told to")
    finally:
        await view.drop(mine)
        await view.drop(others)


def _require(view: "Mem0View", holds: bool, fault: str) -> None:
    if not holds:
        raise Invalid(f"{view.engine} cannot hold a view: {fault}")


def _point(memory_id: str, part: str, vector: bytes, version: str = "1") -> Point:
    return Point(memory_id=memory_id, part=part, vector=vector, version=version)


def _vector(dimension: int, axis: int) -> bytes:
    return struct.pack(f"<{dimension}f", *(float(n == axis) for n in range(dimension)))
