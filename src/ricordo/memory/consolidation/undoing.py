"""Taking a pass back from its last step: what has not changed since is as it was before."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from ricordo.errors import Conflict, NotFound
from ricordo.memory import announcing
from ricordo.memory.consolidation.report import Undone
from ricordo.memory.services import Services
from ricordo.model import (
    Memory,
    Pass,
    PassStep,
    Plain,
    Relation,
    Sensitivity,
    Status,
    StepAct,
    UserScope,
)
from ricordo.ports import Reading, Writing

MOST = 10_000
"""Passes that are looked through."""

_TIMES = frozenset(
    "recorded_at last_recalled_at valid_from valid_until demoted_at closed_at".split()
)


async def find(tx: Reading, pass_id: str, *, scope: UserScope) -> Pass:
    """The pass of that id.

    Raises:
        NotFound: no such pass here.
        Conflict: it was undone, or a later one built on it, which is to be undone first.
    """
    known = await tx.passes(scope=scope, limit=MOST)
    found = next((one for one in known if one.id == pass_id), None)
    if found is None:
        raise NotFound(f"no pass {pass_id[:80]!a} here")
    if found.undone_at is not None:
        raise Conflict(f"pass {pass_id} was undone already")
    touched = _touched(found)
    for later in known[: known.index(found)]:
        if later.undone_at is None and touched & _touched(later):
            raise Conflict(f"pass {later.id} went on from there; undo that one first")
    return found


def _touched(one: Pass) -> set[str]:
    ids = ((step.memory_id, step.other_id, step.relation_id) for step in one.steps)
    return {each for some in ids for each in some if each is not None}


class Undoing:
    """One pass on its way back, inside one transaction."""

    def __init__(self, tx: Writing, services: Services, *, scope: UserScope, at: datetime) -> None:
        self._tx = tx
        self._services = services
        self._scope = scope
        self._at = at
        self._memories: dict[str, Memory] = {}
        self._changed: set[str] = set()
        self._withdrawn: set[str] = set()
        self._restored = 0
        self._kept = 0

    async def undo(self, done: Pass) -> Undone:
        """Take back every step that can be."""
        ids = {each for step in done.steps for each in (step.memory_id, step.other_id) if each}
        found = await self._tx.memories(sorted(ids), scope=self._scope)
        self._memories = {memory.id: memory for memory in found}
        for step in reversed(done.steps):
            if await self._back(step):
                self._restored += 1
            else:
                self._kept += 1
        for memory_id in sorted(self._changed):
            await self._put(self._memories[memory_id])
        await self._tx.mark_undone(done.id, at=self._at, scope=self._scope)
        return Undone(pass_id=done.id, restored=self._restored, kept=self._kept)

    async def _put(self, memory: Memory) -> None:
        new = replace(memory, updated_at=self._at, version=memory.version + 1)
        await self._tx.put(new, indexed=None, space=None)
        await self._tx.count_recalls(
            new.id, new.recalls, last=new.last_recalled_at, scope=self._scope
        )
        await self._tx.emit(announcing.updated(new, "restored", services=self._services))

    async def _back(self, step: PassStep) -> bool:
        match step.act:
            case StepAct.MERGED:
                return await self._apart(step)
            case StepAct.GATHERED:
                return self._give_back(step)
            case StepAct.SUPPORTED | StepAct.CLOSED:
                return await self._relation(step)
            case StepAct.REWORDED:
                return await self._withdraw(step)
            case StepAct.PAIRED:
                return await self._unpropose(step)
            case _:
                return await self._fields(step)

    async def _fields(self, step: PassStep) -> bool:
        """Fields that are still as the pass left them become what they were."""
        memory = self._memories.get(step.memory_id or "")
        if memory is None or not _unchanged(memory, step):
            return False
        back = replace(memory, **_values(step.before))
        if back.status is Status.ACTIVE and await self._taken(back):
            return False
        self._change(back)
        return True

    async def _apart(self, step: PassStep) -> bool:
        """A merged memory stands by itself again; it shares the fate of the one it was part of."""
        memory = self._memories.get(step.memory_id or "")
        keep = self._memories.get(step.other_id or "")
        if memory is None or keep is None or memory.merged_into != keep.id:
            return False
        back = replace(memory, **_values(step.before))
        if keep.status is not Status.ACTIVE:
            back = replace(back, status=keep.status, valid_until=keep.valid_until)
        if back.status is Status.ACTIVE and await self._taken(back):
            return False
        self._change(back)
        return True

    async def _taken(self, memory: Memory) -> bool:
        """Whether the same was said again since, as a memory of its own."""
        same = await self._tx.same_text(memory.digest, partition=memory.partition)
        return same is not None and same.id != memory.id

    def _give_back(self, step: PassStep) -> bool:
        memory = self._memories.get(step.memory_id or "")
        drop = self._memories.get(step.other_id or "")
        if memory is None or drop is None or drop.merged_into == memory.id:
            return False  # the other one could not be taken apart
        origins = tuple(origin for origin in memory.origins if origin.mark not in step.marks)
        values = {
            name: value
            for name, value in _values(step.before).items()
            if getattr(memory, name) == _value(name, step.after[name])
        }
        if "recalls" in step.after:
            more = int(step.after["recalls"] or 0) - int(step.before["recalls"] or 0)
            values["recalls"] = max(memory.recalls - more, 0)
        self._change(replace(memory, origins=origins or memory.origins, **values))
        return True

    async def _relation(self, step: PassStep) -> bool:
        wanted = [one for one in (step.relation_id, step.rival_id) if one is not None]
        found = {one.id: one for one in await self._tx.relations(wanted, scope=self._scope)}
        relation = found.get(step.relation_id or "")
        if relation is None:
            return False
        if step.act is StepAct.SUPPORTED:
            back = self._unsupported(relation, step)
        else:
            rival = found.get(step.rival_id or "")
            over = step.rival_id is not None and (rival is None or rival.closed_at is not None)
            # A rival that is over was ended by something newer, which ends this one too.
            back = None if over or not _unchanged(relation, step) else _opened(relation, step)
        if back is None:
            return False
        await self._tx.put_relation(back)
        if step.act is StepAct.CLOSED:
            event = announcing.relations_changed(
                [back.id], "reopened", scope=self._scope, services=self._services
            )
            await self._tx.emit(event)
        return True

    def _unsupported(self, relation: Relation, step: PassStep) -> Relation | None:
        drop, keep = step.memory_id, step.other_id
        memory = self._memories.get(drop or "")
        if drop is None or memory is None or memory.merged_into is not None:
            return None
        evidence = [each for each in relation.evidence if each != keep or not step.after["joined"]]
        return replace(relation, evidence=tuple(dict.fromkeys((*evidence, drop))))

    async def _withdraw(self, step: PassStep) -> bool:
        """A wording that still waits is withdrawn; one that was decided on is the person's."""
        memory = self._memories.get(step.memory_id or "")
        if memory is None or memory.status is not Status.PROPOSED:
            return False
        if memory.id in self._withdrawn:
            return True  # it stood for several, and went with the first
        self._withdrawn.add(memory.id)
        await self._tx.remove([memory.id], scope=self._scope)
        gone = announcing.forgotten([memory.id], scope=self._scope, services=self._services)
        for event in gone:
            await self._tx.emit(event)
        return True

    async def _unpropose(self, step: PassStep) -> bool:
        known = await self._tx.merge_proposals(scope=self._scope)
        waits = any(one.id == step.proposal_id and not one.rejected for one in known)
        if waits and step.proposal_id is not None:
            await self._tx.decide_merge(step.proposal_id, rejected=False, scope=self._scope)
        return waits

    def _change(self, memory: Memory) -> None:
        self._memories[memory.id] = memory
        self._changed.add(memory.id)


def _opened(relation: Relation, step: PassStep) -> Relation:
    return replace(relation, **_values(step.before))


def _unchanged(one: Memory | Relation, step: PassStep) -> bool:
    return all(getattr(one, name) == _value(name, value) for name, value in step.after.items())


def _values(fields: Any) -> dict[str, Any]:
    return {name: _value(name, value) for name, value in fields.items()}


def _value(name: str, value: Plain) -> Any:
    if value is None or not isinstance(value, str):
        return value
    if name in _TIMES:
        return datetime.fromisoformat(value)
    if name == "status":
        return Status(value)
    return Sensitivity(value) if name == "sensitivity" else value
