"""The graph of a scope as a walk reads it: row numbers, one covering index per direction."""

from collections.abc import Sequence
from datetime import datetime

from ricordo.adapters.postgres.session import Session, storable
from ricordo.columns.scopes import NOWHERE
from ricordo.columns.times import LATEST, micros
from ricordo.model import Scope
from ricordo.ports import Link

_END = (
    "select f.place - 1, r.id, f.node, r.{far}, r.row, {forward} "
    "from unnest(%(nodes)s::bigint[]) with ordinality f (node, place) "
    "join relations r on r.{near} = f.node and r.scope_id = %(scope)s "
    "and (r.valid_from is null or r.valid_from <= %(at)s) "
    f"and coalesce(r.valid_until, r.closed_at, {LATEST}) > %(at)s"
)
_LINKS = "{} union all {}".format(
    _END.format(near="source_row", far="target_row", forward=1),
    _END.format(near="target_row", far="source_row", forward=0),
)
_ANY_LINKS = f"{_LINKS} limit %(limit)s"
_FIRST_LINKS = f"{_LINKS} order by 1, 2, 6 limit %(limit)s"


class WalkReading(Session):
    """See `ricordo.ports.Walking`."""

    async def nodes(self, keys: Sequence[str], *, scope: Scope) -> dict[str, int]:
        """See `ricordo.ports.Walking`."""
        return dict(
            await self._rows(
                "select key, entity_row from names where scope_id = %s and key = any(%s)",
                self._number(scope),
                storable(keys),
            )
        )

    async def links(
        self, nodes: Sequence[int], *, scope: Scope, at: datetime, limit: int
    ) -> list[Link]:
        """See `ricordo.ports.Walking`."""
        values = {
            "nodes": list(nodes),
            "scope": self._number(scope),
            "at": micros(at),
            "limit": limit + 1,
        }
        found: list[Link] = await self._rows_named(_ANY_LINKS, values)
        if len(found) > limit:
            # Only a hub has so many. Otherwise sorting here is cheaper: these are sorted runs.
            return await self._rows_named(_FIRST_LINKS, values | {"limit": limit})
        return sorted(found)

    async def twins(
        self, nodes: Sequence[int], *, scope: Scope, other: Scope, apart: Sequence[str]
    ) -> list[tuple[int, int]]:
        """See `ricordo.ports.Walking`."""
        here, there = self._number(scope), self._number(other)
        if NOWHERE in (here, there):
            return []
        return await self._rows(
            "select distinct n.entity_row, o.entity_row from names n "
            "join names o on o.scope_id = %s and o.key = n.key "
            "where n.scope_id = %s and n.entity_row = any(%s) and n.key <> all(%s) order by 1, 2",
            there,
            here,
            list(nodes),
            storable(apart),
        )

    async def described(
        self, relations: Sequence[int], *, scope: Scope
    ) -> dict[int, tuple[str, str, str, tuple[str, ...]]]:
        """See `ricordo.ports.Walking`."""
        found = await self._rows(
            "select r.row, s.name, r.type, t.name, r.supported_by from relations r "
            "join entities s on s.row = r.source_row join entities t on t.row = r.target_row "
            "where r.row = any(%s) and r.scope_id = %s",
            list(relations),
            self._number(scope),
        )
        return {
            row: (source, type_, target, tuple(evidence))
            for row, source, type_, target, evidence in found
        }
