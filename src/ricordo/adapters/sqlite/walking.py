"""The graph of a scope as a walk reads it: row numbers, one covering index per direction."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from ricordo.adapters.sqlite.session import NOWHERE, Session, as_list
from ricordo.adapters.sqlite.times import micros
from ricordo.model import Scope
from ricordo.ports import Link

_EVER = (1 << 63) - 1

_END = (
    "select f.key, r.id, f.value, r.{far}, r.row, {forward} from json_each(:nodes) f "
    "cross join relations r on r.{near} = f.value and r.scope_id = :scope "
    "and (r.valid_from is null or r.valid_from <= :at) "
    f"and coalesce(r.valid_until, r.closed_at, {_EVER}) > :at"
)
_LINKS = "{} union all {}".format(
    _END.format(near="source_row", far="target_row", forward=1),
    _END.format(near="target_row", far="source_row", forward=0),
)
_ANY_LINKS = f"{_LINKS} limit :limit"
_FIRST_LINKS = f"{_LINKS} order by 1, 2, 6 limit :limit"


class WalkReading(Session):
    """See `ricordo.ports.Walking`."""

    async def nodes(self, keys: Sequence[str], *, scope: Scope) -> dict[str, int]:
        """See `ricordo.ports.Walking`."""
        return dict(
            self._rows(
                "select n.key, n.entity_row from json_each(?) f "
                "cross join names n on n.scope_id = ? and n.key = f.value",
                as_list(keys),
                self._number(scope),
            )
        )

    async def links(
        self, nodes: Sequence[int], *, scope: Scope, at: datetime, limit: int
    ) -> list[Link]:
        """See `ricordo.ports.Walking`."""
        values = {
            "nodes": _numbers(nodes),
            "scope": self._number(scope),
            "at": micros(at),
            "limit": limit + 1,
        }
        found: list[Link] = self._connection.execute(_ANY_LINKS, values).fetchall()
        if len(found) > limit:
            # Only a hub has so many. Otherwise sorting here is cheaper: these are sorted runs.
            found = self._connection.execute(_FIRST_LINKS, values | {"limit": limit}).fetchall()
        else:
            found.sort()
        return found

    async def twins(
        self, nodes: Sequence[int], *, scope: Scope, other: Scope, apart: Sequence[str]
    ) -> list[tuple[int, int]]:
        """See `ricordo.ports.Walking`."""
        here, there = self._number(scope), self._number(other)
        if NOWHERE in (here, there):
            return []
        return self._rows(
            "select distinct n.entity_row, o.entity_row from json_each(?) f "
            "cross join names n on n.entity_row = f.value and n.scope_id = ? "
            "cross join names o on o.scope_id = ? and o.key = n.key "
            "where n.key not in (select value from json_each(?)) order by 1, 2",
            _numbers(nodes),
            here,
            there,
            as_list(apart),
        )

    async def described(
        self, relations: Sequence[int], *, scope: Scope
    ) -> dict[int, tuple[str, str, str, tuple[str, ...]]]:
        """See `ricordo.ports.Walking`."""
        found = self._rows(
            "select r.row, s.name, r.type, t.name, r.supported_by from json_each(?) f "
            "cross join relations r on r.row = f.value and r.scope_id = ? "
            "cross join entities s on s.row = r.source_row "
            "cross join entities t on t.row = r.target_row",
            _numbers(relations),
            self._number(scope),
        )
        return {
            row: (source, type_, target, tuple(evidence.split("\0")))
            for row, source, type_, target, evidence in found
        }


def _numbers(values: Iterable[int]) -> str:
    """Numbers as one parameter, for `json_each`."""
    return f"[{','.join(map(str, values))}]"
