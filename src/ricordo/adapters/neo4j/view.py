"""The graph view on a Bolt server."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ricordo.adapters.neo4j.server import Row, Server
from ricordo.adapters.neo4j.statements import statements
from ricordo.errors import Invalid, NotFound, RicordoError
from ricordo.ports import Edge, EdgeSeen, Node, Place

_KEY = re.compile(r"[0-9a-f]{16,128}")

_BUILD = re.compile(r"[0-9a-z_]{1,64}")

_AT_ONCE = 5_000
"""Entities removed in one transaction."""


class Neo4jGraphView:
    """Implements `ricordo.ports.GraphView` with the official driver.

    Args:
        url: of the server: ``bolt://``, ``neo4j://``, or these with ``+s`` or ``+ssc``.
        name: of the view.
        build: its name, of letters, digits and ``_``; each build has labels of its own.
        patience: seconds that a call may take.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str,
        user: str,
        password: str,
        build: str,
        database: str | None = None,
        patience: float = 10.0,
    ) -> None:
        if not _BUILD.fullmatch(build):
            raise ValueError("the name of a build has letters, digits and _ only")
        self.name = name
        self.engine = url
        self._say = statements(build)
        self._build = build
        self._server = Server(
            url, user=user, password=password, database=database, patience=patience
        )

    async def open(self, *, create: bool) -> None:
        """See `ricordo.ports.View`."""
        try:
            self.engine = await self._server.open()
            if create:
                for statement in self._say.schema:
                    await self._server.change(statement, {})
            elif not await self.scopes():
                raise NotFound(f"view {self.name}: nothing of build {self._build} is there")
        except (RicordoError, asyncio.CancelledError):
            await self.close()
            raise

    async def upsert(self, nodes: Sequence[Node], edges: Sequence[Edge], *, scope: str) -> None:
        """See `ricordo.ports.GraphView`; all of it, or nothing."""
        _check(scope, *(key for node in nodes for key in node.keys))
        rows = [_node(node, scope) for node in nodes]
        names = [name for node in nodes for name in _names(node, scope)]
        calls: list[tuple[str, Row]] = []
        if rows:
            calls += [
                (self._say.put_nodes, {"rows": rows, "scope": scope}),
                (self._say.clear_names, {"rows": rows, "scope": scope}),
                (self._say.put_names, {"rows": names, "scope": scope}),
            ]
        if edges:
            uids = [_uid(scope, edge.id) for edge in edges]
            calls += [
                (self._say.clear_edges, {"uids": uids, "scope": scope}),
                (self._say.put_edges, {"rows": [_edge(e, scope) for e in edges], "scope": scope}),
            ]
        if calls:
            await self._server.write(calls)

    async def remove(self, nodes: Sequence[str], edges: Sequence[str], *, scope: str) -> None:
        """See `ricordo.ports.GraphView`."""
        _check(scope)
        owners = {"uids": [_uid(scope, one) for one in nodes], "scope": scope}
        relations = {"uids": [_uid(scope, one) for one in edges], "scope": scope}
        await self._server.write(
            [
                (self._say.clear_edges, relations),
                (self._say.drop_names, owners),
                (self._say.drop_nodes, owners),
            ]
        )

    async def named(self, keys: Sequence[str], *, scopes: Sequence[str]) -> list[tuple[Place, str]]:
        """See `ricordo.ports.GraphView`."""
        _check(*scopes, *keys)
        uids = [_uid(scope, key) for scope in scopes for key in keys]
        rows = await self._server.read(self._say.named, {"uids": uids, "scopes": list(scopes)})
        return [((row["scope"], row["id"]), row["key"]) for row in rows]

    async def edges(
        self, places: Sequence[Place], *, at: int, limit: int
    ) -> tuple[list[EdgeSeen], bool]:
        """See `ricordo.ports.GraphView`; in the order of the entities and of the relations' ids."""
        _check(*(scope for scope, _ in places))
        values = {
            "places": [
                {"uid": _uid(scope, id_), "scope": scope, "number": number}
                for number, (scope, id_) in enumerate(places)
            ],
            "at": at,
            "limit": limit + 1,
        }
        met: list[tuple[int, str, bool, str]] = [
            (row["number"], row["id"], forward, row["far"])
            for statement, forward in ((self._say.inward, False), (self._say.outward, True))
            for row in await self._server.read(statement, values)
        ]
        met.sort(key=lambda one: one[:3])
        seen = [(places[number], id_, far, forward) for number, id_, forward, far in met[:limit]]
        return seen, len(met) <= limit

    async def twins(
        self, places: Sequence[Place], *, scopes: Sequence[str]
    ) -> list[tuple[Place, Place, str]]:
        """See `ricordo.ports.GraphView`."""
        _check(*scopes, *(scope for scope, _ in places))
        values = {"uids": [_uid(*place) for place in places], "scopes": list(scopes)}
        rows = await self._server.read(self._say.twins, values)
        return [((r["scope"], r["id"]), (r["other"], r["twin"]), r["key"]) for r in rows]

    async def drop(self, scope: str) -> None:
        """See `ricordo.ports.View`."""
        _check(scope)
        for statement in self._say.drop_scope:
            while await self._gone(statement, scope):
                pass

    async def inventory(self, scope: str) -> Mapping[str, str]:
        """See `ricordo.ports.View`: an entity is ``n:`` and its id, a relation ``e:`` and its."""
        _check(scope)
        nodes = await self._server.read(self._say.inventory_nodes, {"scope": scope})
        edges = await self._server.read(self._say.inventory_edges, {"scope": scope})
        found = {f"n:{row['id']}": str(row["version"]) for row in nodes}
        return found | {f"e:{row['id']}": str(row["version"]) for row in edges}

    async def scopes(self) -> set[str]:
        """See `ricordo.ports.View`."""
        asked = (self._say.scopes, self._say.name_scopes)
        rows = [row for one in asked for row in await self._server.read(one, {})]
        return {str(row["scope"]) for row in rows}

    async def destroy(self) -> None:
        """See `ricordo.ports.View`."""
        for scope in await self.scopes():
            await self.drop(scope)
        for statement in self._say.drop_schema:
            await self._server.change(statement, {})

    async def close(self) -> None:
        """See `ricordo.ports.View`."""
        await self._server.close()

    async def _gone(self, statement: str, scope: str) -> int:
        [row] = await self._server.change(statement, {"scope": scope, "limit": _AT_ONCE})
        return int(row["gone"])


def _uid(scope: str, id_: str) -> str:
    return f"{scope}/{id_}"


def _node(node: Node, scope: str) -> Row:
    keys: Any = list(node.keys)
    return {"uid": _uid(scope, node.id), "id": node.id, "version": node.version, "keys": keys}


def _names(node: Node, scope: str) -> list[Row]:
    owner = _uid(scope, node.id)
    return [
        {"uid": _uid(scope, key), "key": key, "owner": owner, "id": node.id} for key in node.keys
    ]


def _edge(edge: Edge, scope: str) -> Row:
    return {
        "uid": _uid(scope, edge.id),
        "id": edge.id,
        "source": _uid(scope, edge.source),
        "target": _uid(scope, edge.target),
        "type": edge.type,
        "since": edge.since,
        "until": edge.until,
        "version": edge.version,
    }


def _check(*keys: str) -> None:
    """Only keyed hashes pass: no server can take one of these for anything else."""
    for key in keys:
        if not _KEY.fullmatch(key):
            raise Invalid("a view knows scopes and names by keyed hashes in hex digits only")
