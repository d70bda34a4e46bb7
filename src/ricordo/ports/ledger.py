"""The ledger as a whole: transactions, queue, outbox and upkeep."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from ricordo.model import (
    Census,
    Indexed,
    Scope,
    Space,
)
from ricordo.ports.consolidating import Tending
from ricordo.ports.feeding import Feeding
from ricordo.ports.offices import Offices
from ricordo.ports.queue import Outbox, Queue
from ricordo.ports.transaction import Reading, Writing

T = TypeVar("T")

Work = Callable[[Writing], Awaitable[T]]
Look = Callable[[Reading], Awaitable[T]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unindexed:
    """A memory whose vector or terms are missing or of another space; for reindexing."""

    memory_id: str
    scope: Scope
    text: str
    version: int


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

    async def census(self, *, scope: Scope | None = None) -> Census:
        """What is held, of everything or of one scope: numbers only."""
        ...

    async def subject(self, *, scope: Scope) -> str:
        """The keyed hash under which an erased scope is remembered."""
        ...

    async def scrub(self) -> bool:
        """Empty the write-ahead log and free pages, so that nothing removed can be read in the
        engine's files; False if another process was reading, or the engine cannot vouch for it."""
        ...

    async def spaces(self) -> list[Space]:
        """Every space that something was ever indexed in, oldest first."""
        ...

    async def expire(self, *, turns_before: datetime, audit_before: datetime, limit: int) -> int:
        """Of the `limit` oldest turns that were read, and as many notes of the audit, remove those
        taken in, or noted, before these instants; how many those were. The same turn delivered once
        more is then a new one."""
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


class Ledger(Queue, Outbox, Offices, Upkeep, Tending, Feeding, Protocol):
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
