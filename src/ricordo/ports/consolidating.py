"""What consolidation needs of a ledger: whose turn it is, and a record of what each pass did."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from ricordo.model import Lease, MergeProposal, Pass, Relation, Scope


class PassReading(Protocol):
    """What passes did, as far as it was not forgotten since."""

    async def passes(self, *, scope: Scope, limit: int) -> list[Pass]:
        """Passes that changed something, newest first, with their steps in order."""
        ...

    async def relations(self, ids: Sequence[str], *, scope: Scope) -> list[Relation]:
        """The relations of these ids, with origins, ordered by id."""
        ...

    async def merge_proposals(self, *, scope: Scope) -> list[MergeProposal]:
        """Merges of entities that were proposed and not approved, oldest first; the rejected ones
        are among them. Those of an entity that was merged otherwise are left out."""
        ...


class PassWriting(Protocol):
    """Keeps the record of a pass in the transactions that do it."""

    async def hold(self, lease: Lease, *, scope: Scope) -> None:
        """Make sure that the lease is still ours, and begin its time anew. Raises `Conflict`."""
        ...

    async def note(self, done: Pass, *, scope: Scope) -> None:
        """Add the steps of a pass to its record; the record is made with the first of them."""
        ...

    async def mark_undone(self, pass_id: str, *, at: datetime, scope: Scope) -> None:
        """Drop a pass's steps and remember that it was undone. Raises `NotFound`."""
        ...

    async def count_recalls(
        self, memory_id: str, recalls: int, *, last: datetime | None, scope: Scope
    ) -> None:
        """Set a memory's counters, to less as well; its version stays."""
        ...

    async def propose_merge(self, proposal: MergeProposal, *, scope: Scope) -> None:
        """Keep a proposal; its pass is noted before. Raises `Conflict` if the pair has one."""
        ...

    async def decide_merge(self, proposal_id: str, *, rejected: bool, scope: Scope) -> None:
        """Drop a proposal, or keep it as rejected. Raises `NotFound`."""
        ...


class Tending(Protocol):
    """Whose memory is consolidated next.

    1. One pass per person at a time, whoever does it.
    2. Persons take turns: the one whose last pass began longest ago comes first.
    """

    async def tend(
        self, *, at: datetime, every: float, seconds: float, scope: Scope | None = None
    ) -> Lease | None:
        """Lease the memory of a person whose last pass began (or, without one, whose first memory
        was recorded) at least `every` seconds ago. The lease ends by itself after `seconds`."""
        ...

    async def release(self, lease: Lease) -> None:
        """Give a lease back; a lost one is no error."""
        ...
