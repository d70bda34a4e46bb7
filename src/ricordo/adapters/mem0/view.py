"""A view of vectors in one of mem0's stores; scope and partition are enforced here as well."""

import re
import struct
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ricordo.adapters.mem0.probing import probe
from ricordo.adapters.mem0.store import Store, payload_of, rows_of
from ricordo.errors import Invalid, Unavailable
from ricordo.ports import Point

PART, SCOPE = "user_id", "agent_id"
"""mem0's own keys, for its stores index these; what stands in them are keyed hashes."""

_KEY = re.compile(r"[0-9a-f]{16,128}")

_AT_ONCE = 100
"""Entries in one call; a call has a deadline, and some stores take their time for each entry."""

_NAMES = uuid.UUID("6f1c1c0e-7d1b-4b0e-9b1e-9f0c5a3d2b11")
_WHEN = "2026-01-01T00:00:00+00:00"
"""Some stores insist on a time; when something was remembered is not their business."""


class Mem0View:
    """Implements `ricordo.ports.VectorView` on a store of mem0's.

    A point's id is made of its scope and its memory, so one scope's change cannot touch another's.

    Args:
        store: mem0's configuration of a store: ``{"provider": "qdrant", "config": {…}}``.
        name: of the view.
        collection: of this build; made when it is opened.
        dimension: length of the vectors.
        patience: seconds that a call may take.
    """

    def __init__(
        self,
        store: Mapping[str, Any],
        *,
        name: str,
        collection: str,
        dimension: int,
        patience: float = 10.0,
    ) -> None:
        self.name = name
        self.engine = f"{store.get('provider')} through mem0"
        self._dimension = dimension
        self._store = Store(
            str(store.get("provider")),
            store.get("config") or {},
            collection=collection,
            dimension=dimension,
            patience=patience,
        )

    async def open(self, *, create: bool) -> None:
        """See `ricordo.ports.View`. mem0 makes what is missing in any case; `create` also tries
        out, with entries of nobody, that the store can do what a view needs."""
        self.engine = await self._store.open()
        if create:
            await probe(self, dimension=self._dimension)

    async def upsert(self, points: Sequence[Point], *, scope: str, fresh: bool) -> None:
        """See `ricordo.ports.VectorView`."""
        _check(scope, *(point.part for point in points))
        ids = [_id(scope, point.memory_id) for point in points]
        vectors = [list(struct.unpack(f"<{self._dimension}f", p.vector)) for p in points]
        payloads = [_payload(point, scope) for point in points]

        def work(store: Any, some: slice) -> None:
            if not fresh:
                for one in ids[some]:
                    store.delete(one)
            store.insert(vectors=vectors[some], payloads=payloads[some], ids=ids[some])

        for start in range(0, len(points), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            await self._store.call(partial(work, some=some))

    async def remove(self, ids: Sequence[str], *, scope: str) -> None:
        """See `ricordo.ports.VectorView`."""
        _check(scope)

        def work(store: Any, some: Sequence[str]) -> None:
            for memory_id in some:
                store.delete(_id(scope, memory_id))

        for start in range(0, len(ids), _AT_ONCE):
            await self._store.call(partial(work, some=ids[start : start + _AT_ONCE]))

    async def search(self, vector: bytes, *, part: str, limit: int) -> Sequence[str]:
        """See `ricordo.ports.VectorView`."""
        _check(part)
        question = list(struct.unpack(f"<{self._dimension}f", vector))

        def work(store: Any) -> list[Any]:
            asked = limit
            if self._store.traits.filters_late:
                asked = max(limit, store.index.ntotal)
            return rows_of(
                store.search(query="", vectors=question, top_k=asked, filters={PART: part})
            )

        rows = map(payload_of, await self._store.call(work))
        found = [str(row["memory_id"]) for row in rows if row.get(PART) == part]
        return found[:limit]

    async def inventory(self, scope: str) -> Mapping[str, str]:
        """See `ricordo.ports.View`."""
        _check(scope)
        rows = await self._listed({SCOPE: scope})
        return {str(r["memory_id"]): str(r["version"]) for r in rows if r.get(SCOPE) == scope}

    async def scopes(self) -> set[str]:
        """See `ricordo.ports.View`."""
        return {str(row[SCOPE]) for row in await self._listed(None) if row.get(SCOPE)}

    async def drop(self, scope: str) -> None:
        """See `ricordo.ports.View`: page by page, as far as the store lists. Raises `Unavailable`
        when something remains."""
        _check(scope)
        before: set[str] = set()
        while ids := {str(row["memory_id"]) for row in await self._page(scope)}:
            if ids <= before:
                raise Unavailable(f"view {self.name}: the store did not remove what it was told")
            await self.remove(sorted(ids), scope=scope)
            before = ids

    async def destroy(self) -> None:
        """See `ricordo.ports.View`."""
        await self._store.call(lambda store: store.delete_col())

    async def close(self) -> None:
        """See `ricordo.ports.View`."""
        await self._store.close()

    async def _page(self, scope: str) -> list[Mapping[str, Any]]:
        """Some of a scope's entries: all, or as many as the store lists."""
        rows = await self._rows({SCOPE: scope})
        return [row for row in map(payload_of, rows) if row.get(SCOPE) == scope]

    async def _listed(self, filters: Mapping[str, str] | None) -> list[Mapping[str, Any]]:
        rows = await self._rows(filters)
        most = self._store.traits.most_listed
        if len(rows) >= most:
            raise Invalid(
                f"view {self.name}: the store lists {most:,} entries at most, and holds more; "
                "use another store"
            )
        return [payload_of(row) for row in rows]

    async def _rows(self, filters: Mapping[str, str] | None) -> list[Any]:
        most = self._store.traits.most_listed

        def work(store: Any) -> list[Any]:
            return rows_of(store.list(filters=filters and dict(filters), top_k=most))

        return await self._store.call(work)


def _id(scope: str, memory_id: str) -> str:
    return str(uuid.uuid5(_NAMES, f"{scope}\0{memory_id}"))


def _payload(point: Point, scope: str) -> dict[str, Any]:
    return {
        PART: point.part,
        SCOPE: scope,
        "memory_id": point.memory_id,
        "version": point.version,
        "data": "",
        "hash": point.version,
        "created_at": _WHEN,
    }


def _check(*keys: str) -> None:
    """Only keyed hashes pass: no store can take one of these for a pattern."""
    for key in keys:
        if not _KEY.fullmatch(key):
            raise Invalid("a view knows scopes and partitions by keyed hashes in hex digits only")
