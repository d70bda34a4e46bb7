"""The walk through a graph view: the same search as on the ledger's rows, checked against them."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from ricordo.adapters.local.atlas import Atlas
from ricordo.adapters.local.graph import LocalGraph, meeting, spreading
from ricordo.adapters.local.telling import Changed, Telling
from ricordo.errors import RicordoError, Unavailable
from ricordo.model import Scope, name_key
from ricordo.ports import GraphView, Ledger, Reading, ViewBuild, Walk

REST = 5.0
"""Seconds for which a view that failed is not asked, so that only one recall waits for it."""

Serving = Callable[[], tuple[GraphView, ViewBuild]]


class ViewedGraph:
    """Implements `ricordo.ports.GraphIndex` over a graph view.

    A scope whose graph changed since the view was fed is walked on the ledger's rows, together with
    the others that were asked for; and so is everything when the view fails, is slow, tells
    something that the ledger does not hold, or knows none of the names that the walk begins with
    while the ledger knows one: then it lost what it held. So the answer is the ledger's, whoever
    found it.

    Args:
        local: walks on the ledger's rows.
        serving: the view to ask, and its build; raises `Unavailable` when there is none.
        patience: seconds that the view may take.
    """

    def __init__(
        self, local: LocalGraph, ledger: Ledger, *, serving: Serving, patience: float = 0.1
    ) -> None:
        self._local = local
        self._ledger = ledger
        self._serving = serving
        self._patience = patience
        self._resting = float("-inf")

    async def walk(
        self,
        names: Sequence[str],
        *,
        scopes: Sequence[Scope],
        hops: int,
        at: datetime,
        nodes: int = 200,
        fan: int = 1_000,
    ) -> Walk:
        """See `ricordo.ports.GraphIndex`."""
        if hops < 1 or nodes < 1 or not scopes or not names:
            return Walk()

        async def search(atlas: Atlas) -> Walk:
            return await spreading(atlas, names, hops=hops, nodes=nodes, fan=fan)

        found = await self._viewed(search, names=names, scopes=scopes, at=at)
        if found is not None:
            return found
        return await self._local.walk(names, scopes=scopes, hops=hops, at=at, nodes=nodes, fan=fan)

    async def paths(
        self, start: str, end: str, *, scopes: Sequence[Scope], hops: int, at: datetime
    ) -> Walk:
        """See `ricordo.ports.GraphIndex`."""
        if hops < 1 or not scopes:
            return Walk()

        async def search(atlas: Atlas) -> Walk:
            return await meeting(atlas, start, end, hops=hops)

        found = await self._viewed(search, names=(start,), scopes=scopes, at=at)
        if found is not None:
            return found
        return await self._local.paths(start, end, scopes=scopes, hops=hops, at=at)

    async def _viewed(
        self,
        search: Callable[[Atlas], Awaitable[Walk]],
        *,
        names: Sequence[str],
        scopes: Sequence[Scope],
        at: datetime,
    ) -> Walk | None:
        """What the view tells; None where the ledger's rows must be asked."""
        if time.monotonic() < self._resting:
            return None
        try:
            view, build = self._serving()
        except Unavailable:
            return None
        asked = tuple(dict.fromkeys(scopes))
        keys = {scope: await self._ledger.subject(scope=scope) for scope in asked}
        if not await self._is_fed(build, keys):
            return None
        telling = Telling(view, self._ledger, keys=keys, at=at)
        try:
            async with asyncio.timeout(self._patience):
                found = await search(Atlas(telling, scopes=asked, at=at))
        except Changed:
            return None
        except (RicordoError, TimeoutError):
            self._resting = time.monotonic() + REST
            return None
        if telling.knows_none and await self._is_named(names, scopes=asked):
            return None
        return found

    async def _is_named(self, names: Sequence[str], *, scopes: Sequence[Scope]) -> bool:
        """Whether the ledger knows one of these names."""

        async def look(tx: Reading) -> bool:
            known = [await tx.nodes(keys, scope=scope) for scope in scopes]
            return any(known)

        keys = [key for key in dict.fromkeys(map(name_key, names)) if key]
        return await self._ledger.read(look, scopes=tuple(scopes))

    async def _is_fed(self, build: ViewBuild, keys: dict[Scope, str]) -> bool:
        """Whether the view has everything that the ledger acknowledged of these scopes."""
        # First how far the view is, then how far the ledger: the view can only have gone further.
        marks = await self._ledger.marks(build, marks=[(key, "") for key in keys.values()])

        async def look(tx: Reading) -> dict[Scope, int]:
            return {scope: await tx.graph_position(scope=scope) for scope in keys}

        positions = await self._ledger.read(look, scopes=tuple(keys))
        return all(
            (key, "") in marks and marks[key, ""] >= positions[scope] for scope, key in keys.items()
        )
