"""What happens inside one transaction of a ledger: `Reading` and `Writing`."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from ricordo.events import Event
from ricordo.model import (
    Batch,
    Entity,
    Indexed,
    Listing,
    Memory,
    Merge,
    Page,
    Partition,
    Refusal,
    Relate,
    Relation,
    Revision,
    Scope,
    Space,
    Withdrawn,
)
from ricordo.ports.consolidating import PassReading, PassWriting
from ricordo.ports.feeding import ViewReading
from ricordo.ports.rows import PartitionState, Rows
from ricordo.ports.walking import Walking


class Reading(Walking, PassReading, ViewReading, Protocol):
    """One consistent snapshot, restricted to the scopes that it was opened for.

    1. What another scope holds is not found, by id or otherwise.
    2. All answers come from the same instant.
    """

    async def memories(self, ids: Sequence[str], *, scope: Scope) -> list[Memory]:
        """The memories of these ids, in their order; those not in the scope are left out."""
        ...

    async def page(self, listing: Listing, *, scope: Scope) -> Page:
        """The memories that fit, oldest first. Raises `Invalid` for a cursor it did not make."""
        ...

    async def ids(
        self, listing: Listing, *, scope: Scope, among: Sequence[str] | None = None
    ) -> list[str]:
        """Ids of all memories that fit, oldest first; with `among`, of these alone.

        The listing's limit and cursor do not count.
        """
        ...

    async def same_text(self, digest: str, *, partition: Partition) -> Memory | None:
        """The memory of that digest in the partition that is active, proposed or rejected."""
        ...

    async def history(self, memory_id: str, *, scope: Scope) -> list[Revision]:
        """Earlier texts of a memory, oldest first."""
        ...

    async def entities(self, keys: Sequence[str], *, scope: Scope) -> dict[str, Entity]:
        """By normalised name or alias, the entity that stands for it now (merges followed)."""
        ...

    async def entities_by_id(self, ids: Sequence[str], *, scope: Scope) -> dict[str, Entity]:
        """By id, the entity as stored (a merged one is returned itself, not its survivor)."""
        ...

    async def edges(
        self, entities: Sequence[str], *, scope: Scope, at: datetime | None, limit: int
    ) -> list[Relation]:
        """One hop: relations that start or end at one of these entity ids, ordered by id.

        `at` None asks for relations that are current (not closed, valid now by the work's own
        clock is for the caller to check); otherwise for those valid at that instant. Origins are
        left out. One indexed query, however many entities.
        """
        ...

    async def relations_of(self, memory_ids: Sequence[str], *, scope: Scope) -> list[Relation]:
        """Relations that one of these memories is evidence of, with origins, ordered by id."""
        ...

    async def merges(self, *, scope: Scope) -> list[Merge]:
        """Every merge of entities that was not undone, in the order in which they were made."""
        ...

    async def partitions(self, *, scope: Scope) -> list[PartitionState]:
        """Every partition of the scope that ever held a row."""
        ...

    async def rows(self, *, partition: Partition, since: int | None) -> Rows:
        """Indexed rows of active and superseded memories; `since` None asks for all of them."""
        ...

    async def refusals(self, *, scope: Scope, limit: int) -> list[Refusal]:
        """What was refused, newest first."""
        ...


class Writing(Reading, PassWriting, Protocol):
    """A transaction on one scope. All of it becomes true at once, durably, or none of it."""

    async def put(self, memory: Memory, *, indexed: Indexed | None, space: Space | None) -> None:
        """Insert the memory, or replace the one of its id when its version is one less.

        `indexed` None keeps the row's index entry while text and partition stay the same. A changed
        text goes to the history. Raises `Conflict` on any other version, `SpaceMismatch` when the
        partition's space differs, `Conflict` when its digest is already taken in the partition.
        """
        ...

    async def remove(self, ids: Sequence[str], *, scope: Scope) -> Mapping[str, int]:
        """Remove memories with history, origins and index rows, relations that lose their last
        evidence, entities that lose their last relation, and refusals of the same origin thread
        and run. Memories that were merged into them go along; a merged one that goes alone takes
        the origins with it that it brought. Returns rows removed by place. Unknown ids are not an
        error."""
        ...

    async def withdraw(
        self, listing: Listing | None, *, ids: Sequence[str] = (), scope: Scope
    ) -> Withdrawn:
        """Forget what would have become memory: turns that wait, are worked on or are parked.

        Those that fit the listing, taken in before its `before` and heard by its `agents`, with the
        refusals that fit it likewise; and the turns of an origin of one of these memories. What was
        said is dropped and no such turn is accepted again. A batch that holds one commits nothing;
        its other jobs wait again, which is no failed attempt.
        """
        ...

    async def put_entity(self, entity: Entity) -> None:
        """Insert or replace an entity with its aliases.

        Raises `Conflict` when another entity of the scope holds its key or an alias.
        """
        ...

    async def merge_entities(self, source: str, target: str, *, at: datetime, scope: Scope) -> str:
        """Let `target` stand for `source`: its relations move, its names become aliases.

        Returns the id of the merge. Raises `NotFound`, or `Conflict` when either is merged already.
        """
        ...

    async def unmerge_entities(self, merge_id: str, *, scope: Scope) -> tuple[str, str]:
        """Undo a merge: relations and names that it moved go back. Returns (source, target)."""
        ...

    async def put_relation(self, relation: Relation) -> None:
        """Insert or replace a relation with its evidence and origins."""
        ...

    async def refuse(self, refusal: Refusal) -> None:
        """Keep what was refused."""
        ...

    async def emit(self, event: Event) -> None:
        """Announce an event once this transaction is durable."""
        ...

    async def audit(self, act: str, *, by: str, scope: Scope, subjects: Sequence[str]) -> None:
        """Note who did what to which ids; never a text."""
        ...

    async def recalled(self, ids: Sequence[str], *, at: datetime, scope: Scope) -> None:
        """Count one recall of each of these memories; versions and generations stay."""
        ...

    async def enqueue(self, work: Relate, *, scope: Scope) -> None:
        """Queue a request in the same transaction; the same memory is queued once."""
        ...

    async def finish(self, batch: Batch) -> None:
        """Mark the batch's jobs done, drop their text. Raises `Conflict` if the lease is lost."""
        ...

    async def erase(self, *, scope: Scope, at: datetime) -> Mapping[str, int]:
        """Remove everything of the scope from every place, and remember only its keyed hash, so
        that late writes are refused. Returns rows removed by place."""
        ...
