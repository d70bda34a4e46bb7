"""The graph of a scope as a walk reads it: row numbers, one covering index per direction."""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from ricordo.adapters.sqlite.session import Session, as_list, as_numbers
from ricordo.columns.scopes import NOWHERE
from ricordo.columns.times import micros
from ricordo.model import Scope
from ricordo.ports import Link

_FEW = 256
"""Names of a scope, aliases included, that are read at once."""

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

    still: ClassVar[bool] = False
    """Whether nothing can change while this transaction lasts."""

    _twins: dict[tuple[int, int, str], dict[int, list[int]] | None] | None = None

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
            "nodes": as_numbers(nodes),
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
        shared = self._shared(here, there, as_list(apart))
        if shared is not None:
            return [(node, twin) for node in sorted(set(nodes)) for twin in shared.get(node, ())]
        return self._rows(
            "select distinct n.entity_row, o.entity_row from json_each(?) f "
            "cross join names n on n.entity_row = f.value and n.scope_id = ? "
            "cross join names o on o.scope_id = ? and o.key = n.key "
            "where n.key not in (select value from json_each(?)) order by 1, 2",
            as_numbers(nodes),
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
            as_numbers(relations),
            self._number(scope),
        )
        return {
            row: (source, type_, target, tuple(evidence.split("\0")))
            for row, source, type_, target, evidence in found
        }

    def _shared(self, here: int, there: int, apart: str) -> dict[int, list[int]] | None:
        """All twins of two scopes, where one has so few names that reading them once is less than
        looking up everything that a walk meets; None where neither has.
        """
        if not self.still:
            return None
        if self._twins is None:
            self._twins = {}
        key = (here, there, apart)
        if key not in self._twins:
            self._twins[key] = self._all_twins(*key)
        return self._twins[key]

    def _all_twins(self, here: int, there: int, apart: str) -> dict[int, list[int]] | None:
        few = next((scope for scope in (here, there) if self._has_few_names(scope)), None)
        if few is None:
            return None
        found: dict[int, list[int]] = {}
        for node, twin in self._rows(
            "select distinct {}.entity_row, {}.entity_row from names n cross join names o "
            "on o.scope_id = ? and o.key = n.key where n.scope_id = ? "
            "and n.key not in (select value from json_each(?)) order by 1, 2".format(
                *("no" if few == here else "on")
            ),
            there if few == here else here,
            few,
            apart,
        ):
            found.setdefault(node, []).append(twin)
        return found

    def _has_few_names(self, scope: int) -> bool:
        sql = "select count(*) from (select 1 from names where scope_id = ? limit ?)"
        return self._row(sql, scope, _FEW + 1)[0] <= _FEW
