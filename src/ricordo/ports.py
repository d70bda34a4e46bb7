"""The roles that engines play. Adapters implement them; the use cases know nothing else.

`Ledger` is the only source of truth. A piece of work runs inside one of its transactions as a
coroutine function that receives a `Reading` or `Writing` and awaits nothing else: an adapter may
run it on another thread, and may run it again when the engine asks for a retry. So the work must
touch no event loop and must have no effect outside the transaction.

Every storage method takes `scope`, keyword-only and without default, and refuses one that the
transaction was not opened for.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeVar

from ricordo.events import Event
from ricordo.model import (
    Backlog,
    Batch,
    DeadLetter,
    Entity,
    Hits,
    Indexed,
    Listing,
    Memory,
    Page,
    Partition,
    Path,
    Refusal,
    Relate,
    Relation,
    Revision,
    Scope,
    Sought,
    Space,
    Turn,
)

T = TypeVar("T")


# ------------------------------------------------------------------------------------ the ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """A partition as the ledger knows it.

    `generation` grows by at least one with every change of its indexed rows. `space` is None until
    the first row was indexed.
    """

    partition: Partition
    generation: int
    space: Space | None
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Indexed rows of one partition, packed so that loading is a few large copies.

    Args:
        generation: the partition's generation at the time of reading.
        space: what the vectors and terms were made with.
        complete: True for all rows of the partition; False for those changed since the asked
            generation.
        ids: memory ids, in row order.
        removed: ids that left the partition since the asked generation (when not complete).
        vectors: `Indexed.vector` of every row, concatenated.
        terms, counts: `Indexed.terms` and `.counts` of every row, concatenated.
        sizes: number of distinct terms of each row, little-endian uint32.
        lengths: words of each row, little-endian uint32.
        valid_from, valid_until: microseconds since 1970 UTC, little-endian int64; the smallest and
            largest int64 where open. `expires_at` is folded into `valid_until`.
    """

    generation: int
    space: Space | None
    complete: bool
    ids: Sequence[str]
    removed: Sequence[str]
    vectors: bytes
    terms: bytes
    counts: bytes
    sizes: bytes
    lengths: bytes
    valid_from: bytes
    valid_until: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Unindexed:
    """A memory whose vector or terms are missing or of another space; for reindexing."""

    memory_id: str
    scope: Scope
    text: str
    version: int


class Reading(Protocol):
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

    async def partitions(self, *, scope: Scope) -> list[PartitionState]:
        """Every partition of the scope that ever held a row."""
        ...

    async def rows(self, *, partition: Partition, since: int | None) -> Rows:
        """Indexed rows of active and superseded memories; `since` None asks for all of them."""
        ...

    async def refusals(self, *, scope: Scope, limit: int) -> list[Refusal]:
        """What was refused, newest first."""
        ...


class Writing(Reading, Protocol):
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
        and run. Returns rows removed by place. Unknown ids are not an error."""
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
        """Mark the batch's jobs done and drop their text. Raises `Conflict` if the lease is lost."""
        ...

    async def erase(self, *, scope: Scope, at: datetime) -> Mapping[str, int]:
        """Remove everything of the scope from every place, and remember only its keyed hash, so
        that late writes are refused. Returns rows removed by place."""
        ...


Work = Callable[[Writing], Awaitable[T]]
Look = Callable[[Reading], Awaitable[T]]


class Queue(Protocol):
    """Turns on their way to becoming memory.

    1. An accepted turn survives the death of the process.
    2. The same (scope, thread, run) again changes nothing.
    3. Jobs of one scope are handed out in order, to one worker at a time.
    4. Scopes take turns: a busy one does not starve another.
    """

    async def accept(self, turn: Turn, *, scope: Scope) -> bool:
        """Queue a turn durably. False when it was accepted before. Raises `Erased` when it was said
        before the person's erasure."""
        ...

    async def claim(
        self, *, at: datetime, size: int, patience: float, lease: float, scope: Scope | None = None
    ) -> Batch | None:
        """Lease up to `size` jobs of one scope that has `size` waiting, or whose oldest has waited
        `patience` seconds. The lease ends by itself after `lease` seconds. `scope` restricts it."""
        ...

    async def retry(self, batch: Batch, *, at: datetime) -> None:
        """Give the batch back, not to be handed out before `at`; its attempts grow by one."""
        ...

    async def park(self, batch: Batch, *, reason: str, at: datetime) -> None:
        """Move the batch's jobs to the dead letters and announce `TurnParked` for each turn."""
        ...

    async def dead_letters(self, *, scope: Scope | None, limit: int) -> list[DeadLetter]:
        """Parked jobs, oldest first. Without a scope (an operator's view) turns have no messages."""
        ...

    async def replay(self, job_id: int, *, scope: Scope | None) -> None:
        """Queue a parked job again, attempts 0. Raises `NotFound`."""
        ...

    async def backlog(self, *, scope: Scope | None = None) -> Backlog:
        """How much waits."""
        ...


class Outbox(Protocol):
    """Events on their way out, in order."""

    async def read(self, *, after: int, limit: int) -> list[tuple[int, Event]]:
        """Events with a position above `after`, in order."""
        ...

    async def position(self, consumer: str) -> int | None:
        """Position up to which a named consumer has acknowledged; None for an unknown one."""
        ...

    async def acknowledge(self, consumer: str, position: int) -> None:
        """Remember that a consumer is done up to `position`."""
        ...

    async def latest(self) -> int:
        """Position of the newest event; 0 without any."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a check of the ledger looked at; `problem` is None when sound."""

    check: str
    detail: str = ""
    problem: str | None = None


class Upkeep(Protocol):
    """What an operator does to a ledger as a whole; shows counts and ids, never texts."""

    async def check(self) -> list[Finding]:
        """Look for damage: the engine's own check, orphans, dangling references, counts."""
        ...

    async def counts(self, *, scope: Scope | None = None) -> Mapping[str, int]:
        """Rows by place, of everything or of one scope: the scan behind a receipt."""
        ...

    async def subject(self, *, scope: Scope) -> str:
        """The keyed hash under which an erased scope is remembered."""
        ...

    async def scrub(self) -> bool:
        """Empty the write-ahead log and free pages; False if another process was reading."""
        ...

    async def stale(self, *, space: Space, after: str, limit: int) -> list[Unindexed]:
        """Memories not indexed in `space`, by id above `after`."""
        ...

    async def restore(self, rows: Sequence[tuple[Unindexed, Indexed]], *, space: Space) -> None:
        """Put rebuilt index rows in place; a row whose memory changed meanwhile is left stale. A
        partition takes the new space with its first row; its rows of the old space are not found
        until they follow."""
        ...

    async def scopes(self) -> list[Scope]:
        """Every scope that holds something."""
        ...


class Ledger(Queue, Outbox, Upkeep, Protocol):
    """The only source of truth: one transactional store for everything.

    1. Acknowledged is durable: what a call returned survives `kill -9`.
    2. A transaction is all or nothing.
    3. Several processes may use the same ledger.
    4. A failing work leaves no trace and does not disturb others that share its commit.
    """

    async def read(self, look: Look[T], *, scopes: Sequence[Scope]) -> T:
        """Run `look` on a snapshot restricted to `scopes`."""
        ...

    async def write(self, work: Work[T], *, scope: Scope) -> T:
        """Run `work` in a transaction on `scope`; returns when it is durable."""
        ...

    async def close(self) -> None:
        """Finish what was begun and release everything; closing twice is not an error."""
        ...


# ------------------------------------------------------------------------------- views and models


class VectorIndex(Protocol):
    """Finds memories by meaning and by words, ranked by what the asker may see.

    1. Only memories of the given partitions are returned or counted.
    2. What the ledger acknowledged before the call is seen by it, whoever wrote it.
    3. Cosine and BM25 of every hit are exact.
    """

    async def search(
        self, sought: Sought, *, partitions: Sequence[Partition], limit: int, at: datetime
    ) -> Hits:
        """The best `limit` by each signal of the memories valid at `at`."""
        ...

    async def similarity(
        self, pairs: Sequence[str], *, partitions: Sequence[Partition]
    ) -> Mapping[tuple[str, str], float]:
        """Cosine of every pair among these memory ids, for removing near-duplicates."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """What a walk reached: for each entity the shortest path to it, nearest first.

    `capped` is True when a cap cut the walk short.
    """

    paths: tuple[Path, ...] = ()
    capped: bool = False


class GraphIndex(Protocol):
    """Finds entities by relation, over the graphs of several scopes joined by entity name.

    1. Only relations of the given scopes, valid at the asked instant, are walked.
    2. A path has at most `hops` steps and is a shortest one; ties are broken by relation id.
    3. A name that occurs nowhere costs one look-up and raises nothing.
    """

    async def walk(
        self,
        names: Sequence[str],
        *,
        scopes: Sequence[Scope],
        hops: int,
        at: datetime,
        nodes: int = 200,
        fan: int = 1_000,
    ) -> Walk:
        """Breadth-first from these names, to at most `nodes` entities, `fan` relations per hop."""
        ...

    async def paths(
        self, start: str, end: str, *, scopes: Sequence[Scope], hops: int, at: datetime
    ) -> Walk:
        """The shortest paths between two names; none when there is none within `hops`."""
        ...


class Analyzer(Protocol):
    """Splits text into words that can be found again."""

    name: str

    def terms(self, text: str) -> tuple[dict[int, int], int]:
        """Of a text to store: counts by 64-bit term hash, and the number of words."""
        ...

    def words(self, question: str) -> tuple[tuple[int, ...], ...]:
        """Of a question: per telling word its alternative term hashes."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors (little-endian float32)."""

    model: str
    transform: str

    async def dimension(self) -> int:
        """Length of the vectors."""
        ...

    async def documents(self, texts: Sequence[str]) -> list[bytes]:
        """Vectors of texts to store. Raises `Unavailable`."""
        ...

    async def question(self, text: str) -> bytes:
        """Vector of a question. Raises `Unavailable`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory as a model proposed it; not yet checked.

    Args:
        quote: what the model says the user said, literally.
        relations: what it relates, with entity types.
        replaces: numbers (from 1) of the listed existing memories whose place it takes.
    """

    kind: str
    text: str
    quote: str
    confidence: float = 1.0
    relations: tuple["StatedRelation", ...] = ()
    replaces: tuple[int, ...] = ()
    turn: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedRelation:
    """A relation in a model's answer: names and types as it wrote them."""

    source: str
    relation: str
    target: str
    source_type: str | None = None
    target_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """A model's answer, read item by item.

    Args:
        candidates: items of the agreed shape.
        faults: one line per item that was not, without its text.
        model: who answered.
        prompt_tokens, completion_tokens: as the model reported; None when it did not.
    """

    candidates: tuple[Candidate, ...]
    faults: tuple[str, ...] = ()
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Instructions:
    """What is sent to a model: fixed instructions, then the material."""

    version: str
    system: str
    material: str
    relations: tuple[str, ...] = field(default=())
    types: tuple[str, ...] = field(default=())


class Extractor(Protocol):
    """Asks a model once for everything worth remembering."""

    async def extract(self, instructions: Instructions) -> Extraction:
        """One call (two when the first answer must be repaired).

        Raises `Malformed` when the answer stays unreadable, `Unavailable` when the model is.
        """
        ...


class EventBus(Protocol):
    """Brings events from the outbox to those who asked for them."""

    def subscribe(self, *, kinds: Sequence[type[Event]] = ()) -> AsyncIterator[Event]:
        """Events from now on, of these kinds (all without any), until the iterator is closed."""
        ...
