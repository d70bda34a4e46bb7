"""The ledger on one SQLite file."""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from ricordo.adapters.sqlite import feeding, offices, outbox, queue, tending, upkeep
from ricordo.adapters.sqlite.census import census
from ricordo.adapters.sqlite.checking import check
from ricordo.adapters.sqlite.erasures import former_numbers
from ricordo.adapters.sqlite.opening import Opened, open_file
from ricordo.adapters.sqlite.places import count_all, count_of
from ricordo.adapters.sqlite.readers import Readers
from ricordo.adapters.sqlite.schema import Migration, migrations
from ricordo.adapters.sqlite.session import Clock, find_scope
from ricordo.adapters.sqlite.sweeping import Sweeper
from ricordo.adapters.sqlite.transaction import SqliteReading, SqliteWriting, run
from ricordo.adapters.sqlite.upkeep import Restoring
from ricordo.adapters.sqlite.withdrawing import drop
from ricordo.adapters.sqlite.writer import Writer
from ricordo.columns.offices import Seen
from ricordo.columns.scopes import sealed, subject_of
from ricordo.errors import Invalid, RicordoError
from ricordo.events import Event
from ricordo.model import (
    Backlog,
    Batch,
    Census,
    DeadLetter,
    Indexed,
    Lease,
    Scope,
    Space,
    Turn,
)
from ricordo.ports import Finding, Heard, Look, Mark, Reader, Unindexed, ViewBuild, Work

T = TypeVar("T")

_SCRUB_SECONDS = 1.0


class Opening:
    """A ledger about to be open: await it, or use it in `async with`, which closes it too."""

    def __init__(self, open_it: Callable[[], "SqliteLedger"]) -> None:
        self._open_it = open_it
        self._ledger: SqliteLedger | None = None

    def __await__(self) -> Generator[Any, None, "SqliteLedger"]:
        return self._open().__await__()

    async def _open(self) -> "SqliteLedger":
        opening = asyncio.create_task(asyncio.to_thread(self._open_it))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            # The thread goes on; what it opens would stay open.
            with suppress(RicordoError):
                await (await opening).close()
            raise

    async def __aenter__(self) -> "SqliteLedger":
        self._ledger = await self
        return self._ledger

    async def __aexit__(self, *error: object) -> None:
        if self._ledger is not None:
            await self._ledger.close()


class SqliteLedger:
    """A `ricordo.ports.Ledger` in one file that several processes may use at once."""

    def __init__(self, opened: Opened, *, name: str, clock: Clock, patience: float) -> None:
        self._log = Path(f"{name}-wal")
        sweeper = Sweeper(opened.writer, opened.mover, file=opened.file, log=self._log)
        self._writer = Writer(opened.writer, sweeper, name=name, patience=patience)
        self._file = opened.file
        self._closed = False
        self._readers = Readers(opened.readers, name=name)
        self._secret = opened.secret
        self._clock = clock
        self._seen = Seen()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        clock: Clock,
        create: bool = True,
        patience: float = 10.0,
        readers: int = 3,
        steps: Sequence[Migration] = (),
    ) -> Opening:
        """Open a ledger; nothing but a ledger of ours is ever changed.

        Args:
            path: of the file; `-wal` and `-shm` lie beside it while it is open.
            clock: the time, with a time zone.
            create: make the file if it does not exist.
            patience: seconds that a write waits for another process.
            readers: how many reads run side by side.
            steps: the schema's history; the shipped one without.

        Raises:
            Invalid: the path cannot be one of a file. NotFound: no file, and `create` is False.
            ForeignFile, WrongSchema, Corrupt: the file is not a sound ledger of this version.
            Unavailable: it may not be written, or the disk is full.
        """
        file = Path(path).absolute()

        def open_it() -> Self:
            history = tuple(steps) or migrations()
            opened = open_file(
                file, create=create, steps=history, patience=patience, readers=readers
            )
            return cls(opened, name=str(file), clock=clock, patience=patience)

        return Opening(open_it)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """See `ricordo.ports.Ledger`."""
        if self._closed:
            return
        self._closed = True
        # Readers first: the last connection to close empties the log, and only a writer can.
        try:
            await self._readers.close()
        finally:
            try:
                await self._writer.close()
            finally:
                self._file.release()

    async def read(self, look: Look[T], *, scopes: Sequence[Scope]) -> T:
        """See `ricordo.ports.Ledger`."""

        def on(connection: sqlite3.Connection) -> T:
            session = SqliteReading(
                connection, scopes=scopes, secret=self._secret, clock=self._clock
            )
            return run(look, session)

        return await self._readers.submit(on)

    async def write(self, work: Work[T], *, scope: Scope) -> T:
        """See `ricordo.ports.Ledger`."""

        def on(connection: sqlite3.Connection) -> T:
            session = SqliteWriting(
                connection, scopes=(scope,), secret=self._secret, clock=self._clock
            )
            return run(work, session)

        return await self._writer.submit(on)

    async def accept(self, turn: Turn, *, scope: Scope) -> bool:
        """See `ricordo.ports.Queue`."""
        return await self._writer.submit(
            lambda connection: queue.accept(
                connection, turn, scope=scope, secret=self._secret, now=self._clock()
            )
        )

    async def claim(
        self, *, at: datetime, size: int, patience: float, lease: float, scope: Scope | None = None
    ) -> Batch | None:
        """See `ricordo.ports.Queue`."""
        if size < 1:
            raise Invalid(f"size is {size}; a batch has at least one job")

        def due(connection: sqlite3.Connection, number: int | None) -> int | None:
            return queue.next_scope(connection, at=at, size=size, patience=patience, number=number)

        def candidate(connection: sqlite3.Connection) -> int | None:
            return due(connection, None if scope is None else find_scope(connection, scope))

        def take(number: int, connection: sqlite3.Connection) -> Batch | None:
            # Looked up before this transaction began: it may be another worker's by now.
            if due(connection, number) is None:
                return None
            return queue.lease_batch(connection, number, at=at, size=size, lease=lease)

        while (number := await self._readers.submit(candidate)) is not None:
            batch = await self._writer.submit(partial(take, number))
            if batch is not None:
                return batch
        return None

    async def renew(self, batch: Batch, *, at: datetime, lease: float) -> None:
        """See `ricordo.ports.Queue`."""
        await self._writer.submit(
            lambda connection: queue.renew(connection, batch, at=at, lease=lease)
        )

    async def retry(self, batch: Batch, *, at: datetime, failed: bool = True) -> None:
        """See `ricordo.ports.Queue`. Raises `Conflict` when the lease was lost."""
        await self._writer.submit(
            lambda connection: queue.retry(connection, batch, at=at, failed=failed)
        )

    async def park(self, batch: Batch, *, reason: str, at: datetime) -> None:
        """See `ricordo.ports.Queue`. Raises `Conflict` when the lease was lost."""
        await self._writer.submit(
            lambda connection: queue.park(connection, batch, reason=reason, at=at)
        )

    async def dead_letters(self, *, scope: Scope | None, limit: int) -> list[DeadLetter]:
        """See `ricordo.ports.Queue`."""
        return await self._readers.submit(
            lambda connection: queue.dead_letters(connection, scope=scope, limit=limit)
        )

    async def waiting(self, *, scope: Scope, limit: int) -> list[Turn]:
        """See `ricordo.ports.Queue`."""
        return await self._readers.submit(
            lambda connection: queue.waiting(connection, scope=scope, limit=limit)
        )

    async def threads(self, *, after: datetime, until: datetime, limit: int) -> list[Heard]:
        """See `ricordo.ports.Queue`."""
        return await self._readers.submit(
            lambda connection: queue.threads(connection, after=after, until=until, limit=limit)
        )

    async def replay(self, job_id: int, *, scope: Scope | None) -> None:
        """See `ricordo.ports.Queue`."""
        await self._writer.submit(
            lambda connection: queue.replay(connection, job_id, scope=scope, now=self._clock())
        )

    async def drop(self, job_id: int, *, scope: Scope) -> None:
        """See `ricordo.ports.Queue`."""
        await self._writer.submit(
            lambda connection: drop(connection, job_id, number=find_scope(connection, scope))
        )

    async def backlog(self, *, scope: Scope | None = None) -> Backlog:
        """See `ricordo.ports.Queue`."""
        return await self._readers.submit(lambda connection: queue.backlog(connection, scope=scope))

    async def tend(
        self, *, at: datetime, every: float, seconds: float, scope: Scope | None = None
    ) -> Lease | None:
        """See `ricordo.ports.Ledger`."""

        def candidate(connection: sqlite3.Connection) -> int | None:
            number = None if scope is None else find_scope(connection, scope)
            return tending.due(connection, at=at, every=every, number=number)

        def take(number: int, connection: sqlite3.Connection) -> Lease | None:
            # Looked up before this transaction began: it may be another worker's by now.
            if tending.due(connection, at=at, every=every, number=number) is None:
                return None
            return tending.take(connection, number, at=at, seconds=seconds)

        while (number := await self._readers.submit(candidate)) is not None:
            lease = await self._writer.submit(partial(take, number))
            if lease is not None:
                return lease
        return None

    async def release(self, lease: Lease) -> None:
        """See `ricordo.ports.Ledger`."""
        await self._writer.submit(lambda connection: tending.release(connection, lease))

    async def announced(self, *, after: int, limit: int) -> list[tuple[int, Event]]:
        """See `ricordo.ports.Outbox`."""
        return await self._readers.submit(
            lambda connection: outbox.announced(connection, after=after, limit=limit)
        )

    async def position(self, consumer: str) -> int | None:
        """See `ricordo.ports.Outbox`."""
        return await self._readers.submit(lambda connection: outbox.position(connection, consumer))

    async def acknowledge(self, consumer: str, position: int) -> None:
        """See `ricordo.ports.Outbox`."""
        await self._writer.submit(
            lambda connection: outbox.acknowledge(connection, consumer, position, now=self._clock())
        )

    async def readers(self) -> Sequence[Reader]:
        """See `ricordo.ports.Outbox`."""
        return await self._readers.submit(outbox.readers)

    async def retire(self, consumer: str, *, at: datetime) -> None:
        """See `ricordo.ports.Outbox`."""
        await self._writer.submit(lambda connection: outbox.retire(connection, consumer, at=at))

    async def readmit(self, consumer: str) -> int | None:
        """See `ricordo.ports.Outbox`."""
        return await self._writer.submit(
            lambda connection: outbox.readmit(connection, consumer, now=self._clock())
        )

    async def latest(self) -> int:
        """See `ricordo.ports.Outbox`."""
        return await self._readers.submit(outbox.latest)

    async def prune(self, *, before: datetime, limit: int) -> int:
        """See `ricordo.ports.Outbox`."""
        return await self._writer.submit(
            lambda connection: outbox.prune(connection, before=before, limit=limit)
        )

    async def hold(self, office: str, *, holder: str, at: datetime, seconds: float) -> int | None:
        """See `ricordo.ports.Offices`."""
        return await self._writer.submit(
            lambda connection: offices.hold(
                connection, office, holder=holder, at=at, seconds=seconds, seen=self._seen
            )
        )

    async def vacate(self, office: str, *, holder: str) -> None:
        """See `ricordo.ports.Offices`."""
        await self._writer.submit(
            lambda connection: offices.vacate(connection, office, holder=holder)
        )

    async def report(self, office: str, *, position: int, term: int) -> bool:
        """See `ricordo.ports.Offices`."""
        return await self._writer.submit(
            lambda connection: offices.report(
                connection, office, position=position, term=term, now=self._clock()
            )
        )

    async def check(self) -> list[Finding]:
        """See `ricordo.ports.Upkeep`."""
        return await self._readers.submit(check)

    async def counts(self, *, scope: Scope | None = None) -> Mapping[str, int]:
        """See `ricordo.ports.Upkeep`. An erased scope is scanned under the numbers it had, too."""

        def count(connection: sqlite3.Connection) -> Mapping[str, int]:
            if scope is None:
                return count_all(connection)
            former = former_numbers(connection, subject_of(scope, self._secret))
            return count_of(connection, [find_scope(connection, scope), *former])

        return await self._readers.submit(count)

    async def census(self, *, scope: Scope | None = None) -> Census:
        """See `ricordo.ports.Upkeep`."""
        return await self._readers.submit(
            lambda connection: census(
                connection,
                number=None if scope is None else find_scope(connection, scope),
                log=self._log,
            )
        )

    async def subject(self, *, scope: Scope) -> str:
        """See `ricordo.ports.Upkeep`."""
        return subject_of(scope, self._secret)

    async def scrub(self) -> bool:
        """See `ricordo.ports.Upkeep`. Nothing removed can be read in the files afterwards."""
        return await self._writer.scrub(patience=_SCRUB_SECONDS)

    async def spaces(self) -> list[Space]:
        """See `ricordo.ports.Upkeep`."""
        return await self._readers.submit(upkeep.spaces)

    async def expire(self, *, turns_before: datetime, audit_before: datetime, limit: int) -> int:
        """See `ricordo.ports.Upkeep`."""
        return await self._writer.submit(
            lambda connection: upkeep.expire(
                connection, turns_before=turns_before, audit_before=audit_before, limit=limit
            )
        )

    async def stale(self, *, space: Space, after: str, limit: int) -> list[Unindexed]:
        """See `ricordo.ports.Upkeep`."""
        return await self._readers.submit(
            lambda connection: upkeep.stale(connection, space=space, after=after, limit=limit)
        )

    async def restore(self, rows: Sequence[tuple[Unindexed, Indexed]], *, space: Space) -> None:
        """See `ricordo.ports.Upkeep`."""

        def on(connection: sqlite3.Connection) -> None:
            scopes = [row.scope for row, _ in rows]
            session = Restoring(connection, scopes=scopes, secret=self._secret, clock=self._clock)

            async def work(restoring: Restoring) -> None:
                await restoring.restore(rows, space=space)

            run(work, session)

        await self._writer.submit(on)

    async def scopes(self) -> list[Scope]:
        """See `ricordo.ports.Upkeep`."""
        return await self._readers.submit(upkeep.scopes)

    async def builds(self) -> list[ViewBuild]:
        """See `ricordo.ports.Feeding`."""
        return await self._readers.submit(feeding.builds)

    async def enroll(self, view: str, *, sort: str, made_of: str) -> ViewBuild:
        """See `ricordo.ports.Feeding`."""
        return await self._writer.submit(
            lambda connection: feeding.enroll(
                connection, view, sort=sort, made_of=made_of, now=self._clock()
            )
        )

    async def serve(self, build: ViewBuild) -> None:
        """See `ricordo.ports.Feeding`."""
        await self._writer.submit(lambda connection: feeding.serve(connection, build))

    async def dismiss(self, build: ViewBuild) -> None:
        """See `ricordo.ports.Feeding`."""
        await self._writer.submit(lambda connection: feeding.dismiss(connection, build))

    async def elect(self, build: ViewBuild, *, holder: str, at: datetime, seconds: float) -> bool:
        """See `ricordo.ports.Feeding`."""
        return await self._writer.submit(
            lambda connection: feeding.elect(
                connection, build, holder=holder, at=at, seconds=seconds
            )
        )

    async def resign(self, build: ViewBuild, *, holder: str) -> None:
        """See `ricordo.ports.Feeding`."""
        await self._writer.submit(
            lambda connection: feeding.resign(connection, build, holder=holder)
        )

    async def marks(self, build: ViewBuild, *, marks: Sequence[Mark]) -> Mapping[Mark, int]:
        """See `ricordo.ports.Feeding`."""
        return await self._readers.submit(
            lambda connection: feeding.marks_of(connection, build, marks)
        )

    async def mark(self, build: ViewBuild, *, marks: Mapping[Mark, int]) -> None:
        """See `ricordo.ports.Feeding`."""
        await self._writer.submit(lambda connection: feeding.mark(connection, build, marks))

    async def unmark(self, build: ViewBuild, *, scope: str) -> None:
        """See `ricordo.ports.Feeding`."""
        await self._writer.submit(lambda connection: feeding.unmark(connection, build, scope=scope))

    async def holding(self, *, scope: str) -> list[ViewBuild]:
        """See `ricordo.ports.Feeding`."""
        return await self._readers.submit(
            lambda connection: feeding.holding(connection, scope=scope)
        )

    async def seal(self, values: Sequence[str]) -> list[str]:
        """See `ricordo.ports.Feeding`."""
        return [sealed(value, self._secret) for value in values]
