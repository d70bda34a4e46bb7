"""Steps of passes as rows, and back."""

import json
from collections.abc import Sequence
from typing import Any

from ricordo.columns.times import moment
from ricordo.model import MergeProposal, PassStep, Scope, StepAct, UserScope

STEP = (
    "select p.pass_row, p.act, m.id, o.id, r.id, v.id, p.proposal_id, p.changes from pass_steps p "
    "left join memories m on m.row = p.memory_row left join memories o on o.row = p.other_row "
    "left join relations r on r.row = p.relation_row "
    "left join relations v on v.row = p.rival_row"
)
"""Selects a pass's row and what `step_from` reads, of `pass_steps p`."""

PROPOSAL = (
    "select q.id, s.id, t.id, s.name, t.name, q.reason, q.at, p.id, q.rejected "
    "from merge_proposals q join entities s on s.row = q.source_row "
    "join entities t on t.row = q.target_row join passes p on p.row = q.pass_row"
)
"""Selects what `proposal_from` reads, of `merge_proposals q` and its ends `s`, `t`."""


def proposal_from(values: Sequence[Any], *, scope: Scope) -> MergeProposal:
    """A proposal from what `PROPOSAL` selects."""
    id_, source, target, source_name, target_name, reason, at, pass_id, rejected = values
    return MergeProposal(
        id=id_,
        scope=scope,
        source=source,
        target=target,
        source_name=source_name,
        target_name=target_name,
        reason=reason,
        at=moment(at),
        pass_id=pass_id,
        rejected=bool(rejected),
    )


def person_of(scope: Scope) -> UserScope:
    """The scope, for only a person's memory is consolidated."""
    if not isinstance(scope, UserScope):
        raise TypeError("only a person's memory is consolidated")
    return scope


def step_from(values: Sequence[Any]) -> PassStep:
    """A step from what `STEP` selects after the pass."""
    act, memory_id, other_id, relation_id, rival_id, proposal_id, changes = values
    before, after, marks = json.loads(changes)
    return PassStep(
        act=StepAct(act),
        memory_id=memory_id,
        other_id=other_id,
        relation_id=relation_id,
        rival_id=rival_id,
        before=before,
        after=after,
        marks=tuple(marks),
        proposal_id=proposal_id,
    )


def step_values(step: PassStep, number: int, pass_row: int) -> tuple[Any, ...]:
    """A step as values for an insert that looks up the rows of its ids in the scope."""
    return (
        number,
        pass_row,
        step.act.value,
        number,
        step.memory_id,
        number,
        step.other_id,
        number,
        step.relation_id,
        number,
        step.rival_id,
        step.proposal_id,
        json.dumps([dict(step.before), dict(step.after), step.marks]),
    )
