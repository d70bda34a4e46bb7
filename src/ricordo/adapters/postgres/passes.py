"""What passes of consolidation did and propose, kept in the transactions that do it."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from ricordo.adapters.postgres.graph_reading import GraphReading, relation_of
from ricordo.adapters.postgres.session import storable
from ricordo.columns.graph_rows import ENDS, RELATION
from ricordo.columns.scopes import check_keys
from ricordo.columns.steps import PROPOSAL, STEP, person_of, proposal_from, step_from, step_values
from ricordo.columns.times import micros, micros_or_none, moment, moment_or_none
from ricordo.errors import Conflict, NotFound
from ricordo.model import MergeProposal, Pass, PassStep, Relation, Scope

_MEMORY_ROW = "(select row from memories where scope_id = %s and id = %s)"
_RELATION_ROW = "(select row from relations where scope_id = %s and id = %s)"
_INSERT_STEP = (
    "insert into pass_steps (scope_id, pass_row, act, memory_row, other_row, relation_row, "
    f"rival_row, proposal_id, changes) values (%s, %s, %s, {_MEMORY_ROW}, {_MEMORY_ROW}, "
    f"{_RELATION_ROW}, {_RELATION_ROW}, %s, %s)"
)


class PassRecords(GraphReading):
    """Reads what was done."""

    async def passes(self, *, scope: Scope, limit: int) -> list[Pass]:
        """See `ricordo.ports.Reading`."""
        number = self._number(scope)
        found = await self._rows(
            "select row, id, at, done_by, undone_at from passes where scope_id = %s "
            "order by row desc limit %s",
            number,
            limit,
        )
        steps: dict[int, list[PassStep]] = defaultdict(list)
        for row, *values in await self._rows(
            f"{STEP} where p.pass_row = any(%s) order by p.pass_row, p.row",
            [row[0] for row in found],
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
        found = await self._rows(
            f"{RELATION}, r.supported_by from relations r {ENDS} "
            "where r.scope_id = %s and r.id = any(%s) order by r.id",
            self._number(scope),
            storable(ids),
        )
        origins = await self._relation_origins([row[0] for row in found])
        return [relation_of(row, scope, tuple(origins[row[0]])) for row in found]

    async def merge_proposals(self, *, scope: Scope) -> list[MergeProposal]:
        """See `ricordo.ports.Reading`."""
        found = await self._rows(
            f"{PROPOSAL} where q.scope_id = %s and s.merged_into is null "
            "and t.merged_into is null order by q.row",
            self._number(scope),
        )
        return [proposal_from(row, scope=scope) for row in found]


class PassKeeping(PassRecords):
    """Writes what is done."""

    async def note(self, done: Pass, *, scope: Scope) -> None:
        """See `ricordo.ports.Writing`."""
        check_keys(done.id)
        number = await self._owned(scope)
        await self._change(
            "insert into passes (id, scope_id, at, done_by) values (%s, %s, %s, %s) "
            "on conflict (scope_id, id) do nothing",
            done.id,
            number,
            micros(done.at),
            done.by,
        )
        (row,) = await self._row(
            "select row from passes where scope_id = %s and id = %s", number, done.id
        )
        await self._each(_INSERT_STEP, [step_values(step, number, row) for step in done.steps])

    async def mark_undone(self, pass_id: str, *, at: datetime, scope: Scope) -> None:
        """See `ricordo.ports.Writing`."""
        number = self._number(scope)
        changed = await self._change(
            "update passes set undone_at = %s where scope_id = %s and id = %s",
            micros(at),
            number,
            pass_id,
        )
        if changed == 0:
            raise NotFound(f"no pass {pass_id[:80]!a} here")
        await self._change(
            "delete from pass_steps where pass_row = "
            "(select row from passes where scope_id = %s and id = %s)",
            number,
            pass_id,
        )

    async def count_recalls(
        self, memory_id: str, recalls: int, *, last: datetime | None, scope: Scope
    ) -> None:
        """See `ricordo.ports.Writing`."""
        await self._change(
            "update memories set recalls = %s, last_recalled_at = %s "
            "where scope_id = %s and id = %s",
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
            await self._row("select row from entities where scope_id = %s and id = %s", number, end)
            for end in (proposal.source, proposal.target)
        ]
        of = await self._row(
            "select row from passes where scope_id = %s and id = %s", number, proposal.pass_id
        )
        if None in ends or of is None:
            raise NotFound(f"proposal {proposal.id} names an entity or a pass that is not here")
        added = await self._change(
            "insert into merge_proposals (id, scope_id, source_row, target_row, reason, at, "
            "pass_row, rejected) values (%s, %s, %s, %s, %s, %s, %s, %s) on conflict do nothing",
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
            "update merge_proposals set rejected = 1 where scope_id = %s and id = %s"
            if rejected
            else "delete from merge_proposals where scope_id = %s and id = %s"
        )
        if await self._change(statement, self._number(scope), proposal_id) == 0:
            raise NotFound(f"no proposal {proposal_id[:80]!a} here")
