"""What passes of consolidation did and propose, kept in the transactions that do it."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from ricordo.adapters.sqlite import tending
from ricordo.adapters.sqlite.graph_reading import GraphReading, relation_of
from ricordo.adapters.sqlite.session import as_list
from ricordo.columns.graph_rows import ENDS, RELATION
from ricordo.columns.scopes import check_keys
from ricordo.columns.steps import PROPOSAL, STEP, person_of, proposal_from, step_from, step_values
from ricordo.columns.times import micros, micros_or_none, moment, moment_or_none
from ricordo.errors import Conflict, NotFound
from ricordo.model import Lease, MergeProposal, Pass, PassStep, Relation, Scope

_MEMORY_ROW = "(select row from memories where scope_id = ? and id = ?)"
_RELATION_ROW = "(select row from relations where scope_id = ? and id = ?)"
_INSERT_STEP = (
    "insert into pass_steps (scope_id, pass_row, act, memory_row, other_row, relation_row, "
    f"rival_row, proposal_id, changes) values (?, ?, ?, {_MEMORY_ROW}, {_MEMORY_ROW}, "
    f"{_RELATION_ROW}, {_RELATION_ROW}, ?, ?)"
)


class PassRecords(GraphReading):
    """Reads what was done."""

    async def passes(self, *, scope: Scope, limit: int) -> list[Pass]:
        """See `ricordo.ports.Reading`."""
        number = self._number(scope)
        found = self._rows(
            "select row, id, at, done_by, undone_at from passes where scope_id = ? "
            "order by row desc limit ?",
            number,
            limit,
        )
        steps: dict[int, list[PassStep]] = defaultdict(list)
        for row, *values in self._rows(
            f"{STEP} where p.pass_row in (select value from json_each(?)) "
            "order by p.pass_row, p.row",
            as_list(row[0] for row in found),
        ):
            steps[row].append(step_from(values))
        return [
            Pass(
                id=id_,
                scope=person_of(scope),
                at=moment(at),
                by=by,
                steps=tuple(steps[row]),
                undone_at=moment_or_none(undone_at),
            )
            for row, id_, at, by, undone_at in found
        ]

    async def relations(self, ids: Sequence[str], *, scope: Scope) -> list[Relation]:
        """See `ricordo.ports.Reading`."""
        found = self._rows(
            f"{RELATION}, r.supported_by from json_each(?) f cross join relations r "
            f"on r.scope_id = ? and r.id = f.value {ENDS} group by r.row order by r.id",
            as_list(ids),
            self._number(scope),
        )
        origins = self._relation_origins([row[0] for row in found])
        return [relation_of(row, scope, tuple(origins[row[0]])) for row in found]

    async def merge_proposals(self, *, scope: Scope) -> list[MergeProposal]:
        """See `ricordo.ports.Reading`."""
        found = self._rows(
            f"{PROPOSAL} where q.scope_id = ? and s.merged_into is null "
            "and t.merged_into is null order by q.row",
            self._number(scope),
        )
        return [proposal_from(row, scope=scope) for row in found]


class PassKeeping(PassRecords):
    """Writes what is done."""

    async def hold(self, lease: Lease, *, scope: Scope) -> None:
        """See `ricordo.ports.Writing`."""
        tending.hold(self._connection, lease, number=self._number(scope), now=self._clock())

    async def note(self, done: Pass, *, scope: Scope) -> None:
        """See `ricordo.ports.Writing`."""
        check_keys(done.id)
        number = self._owned(scope)
        self._change(
            "insert into passes (id, scope_id, at, done_by) values (?, ?, ?, ?) "
            "on conflict (scope_id, id) do nothing",
            done.id,
            number,
            micros(done.at),
            done.by,
        )
        (row,) = self._row("select row from passes where scope_id = ? and id = ?", number, done.id)
        self._connection.executemany(
            _INSERT_STEP, [step_values(step, number, row) for step in done.steps]
        )

    async def mark_undone(self, pass_id: str, *, at: datetime, scope: Scope) -> None:
        """See `ricordo.ports.Writing`."""
        number = self._number(scope)
        changed = self._change(
            "update passes set undone_at = ? where scope_id = ? and id = ?",
            micros(at),
            number,
            pass_id,
        )
        if changed == 0:
            raise NotFound(f"no pass {pass_id[:80]!a} here")
        self._change(
            "delete from pass_steps where pass_row = "
            "(select row from passes where scope_id = ? and id = ?)",
            number,
            pass_id,
        )

    async def count_recalls(
        self, memory_id: str, recalls: int, *, last: datetime | None, scope: Scope
    ) -> None:
        """See `ricordo.ports.Writing`."""
        self._change(
            "update memories set recalls = ?, last_recalled_at = ? where scope_id = ? and id = ?",
            recalls,
            micros_or_none(last),
            self._number(scope),
            memory_id,
        )

    async def propose_merge(self, proposal: MergeProposal, *, scope: Scope) -> None:
        """See `ricordo.ports.Writing`."""
        check_keys(proposal.id)
        number = self._number(scope)
        ends = [
            self._row("select row from entities where scope_id = ? and id = ?", number, end)
            for end in (proposal.source, proposal.target)
        ]
        of = self._row(
            "select row from passes where scope_id = ? and id = ?", number, proposal.pass_id
        )
        if None in ends or of is None:
            raise NotFound(f"proposal {proposal.id} names an entity or a pass that is not here")
        added = self._change(
            "insert into merge_proposals (id, scope_id, source_row, target_row, reason, at, "
            "pass_row, rejected) values (?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing",
            proposal.id,
            number,
            ends[0][0],
            ends[1][0],
            proposal.reason,
            micros(proposal.at),
            of[0],
            int(proposal.rejected),
        )
        if added == 0:
            raise Conflict(
                f"it was proposed before to merge {proposal.source} and {proposal.target}"
            )

    async def decide_merge(self, proposal_id: str, *, rejected: bool, scope: Scope) -> None:
        """See `ricordo.ports.Writing`."""
        statement = (
            "update merge_proposals set rejected = 1 where scope_id = ? and id = ?"
            if rejected
            else "delete from merge_proposals where scope_id = ? and id = ?"
        )
        if self._change(statement, self._number(scope), proposal_id) == 0:
            raise NotFound(f"no proposal {proposal_id[:80]!a} here")
