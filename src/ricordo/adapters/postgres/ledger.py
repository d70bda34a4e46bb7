"""The ledger on a PostgreSQL server."""

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Self, TypeVar

from ricordo.adapters.postgres import feeding, offices, outbox, upkeep
from ricordo.adapters.postgres.address import Address, address_of
from ricordo.adapters.postgres.census import census
from ricordo.adapters.postgres.checking import check
from ricordo.adapters.postgres.driving import Connection, drive, perform
from ricordo.adapters.postgres.lanes import READ, WRITE, Begin, Lanes
from ricordo.adapters.postgres.meanings import Meanings
from ricordo.adapters.postgres.opening import check_database
from ricordo.adapters.postgres.search_preparing import Preparing
from ricordo.adapters.postgres.searching import SearchReading
from ricordo.adapters.postgres.session import Ask, Session
from ricordo.adapters.postgres.transaction import Looking, PostgresReading, PostgresWriting
from ricordo.adapters.postgres.upkeep import Restoring
from ricordo.columns.jobs import backlog_from, heard_from
from ricordo.columns.offices import Seen
from ricordo.columns.scopes import scope_from, scope_key, sealed, subject_of
from ricordo.columns.times import Clock, micros
from ricordo.errors import Invalid, NotFound
from ricordo.events import Event
from ricordo.model import (
    Backlog,
    Batch,
    Census,
    DeadLetter,
    Indexed,
    Lease,
    Partition,
    Scope,
    Space,
    Turn,
)
from ricordo.ports import (
    RECENT,
    Finding,
    Heard,
    Look,
    Mark,
    Reader,
    Searching,
    Unindexed,
    ViewBuild,
    Work,
)

T = TypeVar("T")
S = TypeVar("S", bound=Session)

_UPKEEP_SECONDS = 600.0
"""What looks at everything may take longer."""


class Opening:
    """A ledger about to be open: await it, or use it in `async with`, which closes it too."""

    def __init__(self, open_it: Callable[[], Awaitable["PostgresLedger"]]) -> None:
        self._open_it = open_it
        self._ledger: PostgresLedger | None = None

    def __await__(self) -> Generator[Any, None, "PostgresLedger"]:
        return self._open_it().__await__()

    async def __aenter__(self) -> "PostgresLedger":
        self._ledger = await self
        return self._ledger

    async def __aexit__(self, *error: object) -> None:
        if self._ledger is not None:
            await self._ledger.close()


class PostgresLedger:
    """A `ricordo.ports.Ledger` in a database that many processes may use at once; with pgvector in
    it also a `ricordo.ports.SearchingLedger`."""

    def __init__(
        self, lanes: Lanes, *, name: str, secret: bytes, meanings: Meanings, clock: Clock
    ) -> None:
        self._lanes = lanes
        self._name = name
        self._secret = secret
        self._meanings = meanings
        self._clock = clock
        self._seen = Seen()

    @classmethod
    def open(
        cls, url: str, *, clock: Clock, patience: float = 10.0, connections: int = 10
    ) -> Opening:
        """Open a ledger that `ricordo init --postgres` made; nothing in the database is changed.

        Args:
            url: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`, of a role that is guarded.
            clock: the time, with a time zone.
            patience: seconds that a call waits for a connection, and then for the server.
            connections: most at once, of this process.

        Raises:
            Invalid: the URL cannot be read. NotFound: there is no ledger, or no such database.
            ForeignFile, WrongSchema, Corrupt: what is there is no sound ledger of this version.
            Denied: the server refused the role, or does not guard rows against it.
            Unavailable: the server is not there, too old, or only reads.
        """
        address = address_of(url)
        if connections < 1:
            raise ValueError("connections must be at least 1")

        async def open_it() -> Self:
            return await cls._opened(address, clock, patience=patience, connections=connections)

        return Opening(open_it)

    @classmethod
    async def _opened(
        cls, address: Address, clock: Clock, *, patience: float, connections: int
    ) -> Self:
        secret, meanings = await check_database(address, patience=patience)
        lanes = Lanes(address, size=connections, patience=patience)
        await lanes.open()
        return cls(lanes, name=address.name, secret=secret, meanings=meanings, clock=clock)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """See `ricordo.ports.Ledger`."""
        await self._lanes.close()

    async def read(self, look: Look[T], *, scopes: Sequence[Scope]) -> T:
        """See `ricordo.ports.Ledger`."""
        return await self._look(PostgresReading, look, scopes=scopes)

    async def write(self, work: Work[T], *, scope: Scope) -> T:
        """See `ricordo.ports.Ledger`. Writers of one scope take turns."""
        return await self._work(PostgresWriting, work, scope=scope)

    async def accept(self, turn: Turn, *, scope: Scope) -> bool:
        """See `ricordo.ports.Queue`."""

        async def work(tx: PostgresWriting) -> bool:
            return await tx.accept(turn, scope=scope, now=self._clock())

        return await self._work(PostgresWriting, work, scope=scope)

    async def claim(
        self, *, at: datetime, size: int, patience: float, lease: float, scope: Scope | None = None
    ) -> Batch | None:
        """See `ricordo.ports.Queue`."""
        if size < 1:
            raise Invalid(f"size is {size}; a batch has at least one job")

        async def take(whose: Scope) -> Batch | None:
            async def work(tx: PostgresWriting) -> Batch | None:
                return await tx.lease(
                    scope=whose, at=at, size=size, patience=patience, seconds=lease
                )

            return await self._work(PostgresWriting, work, scope=whose)

        if scope is not None:
            return await take(scope)
        while (due := await self._due(at=at, size=size, patience=patience)) is not None:
            batch = await take(due)
            if batch is not None:
                return batch
        return None

    async def _due(self, *, at: datetime, size: int, patience: float) -> Scope | None:
        patient = micros(at - timedelta(seconds=patience))
        found = await self._asked(
            "select s.* from next_scope(%s, %s, %s) n, scope_of(n) s", micros(at), size, patient
        )
        return scope_from(*found[0]) if found else None

    async def renew(self, batch: Batch, *, at: datetime, lease: float) -> None:
        """See `ricordo.ports.Queue`."""

        async def work(tx: PostgresWriting) -> None:
            await tx.renew(batch, at=at, seconds=lease)

        await self._work(PostgresWriting, work, scope=batch.scope)

    async def retry(self, batch: Batch, *, at: datetime, failed: bool = True) -> None:
        """See `ricordo.ports.Queue`. Raises `Conflict` when the lease was lost."""

        async def work(tx: PostgresWriting) -> None:
            await tx.give_back(batch, at=at, failed=failed)

        await self._work(PostgresWriting, work, scope=batch.scope)

    async def park(self, batch: Batch, *, reason: str, at: datetime) -> None:
        """See `ricordo.ports.Queue`. Raises `Conflict` when the lease was lost."""

        async def work(tx: PostgresWriting) -> None:
            await tx.park(batch, reason=reason, at=at)

        await self._work(PostgresWriting, work, scope=batch.scope)

    async def dead_letters(self, *, scope: Scope | None, limit: int) -> list[DeadLetter]:
        """See `ricordo.ports.Queue`."""
        if scope is None:
            return await self._over_all(lambda on: upkeep.dead_letters(on, limit=limit))

        async def look(tx: Looking) -> list[DeadLetter]:
            return await tx.dead_letters(scope=scope, limit=limit)

        return await self._look(Looking, look, scopes=[scope])

    async def waiting(self, *, scope: Scope, limit: int) -> list[Turn]:
        """See `ricordo.ports.Queue`."""

        async def look(tx: Looking) -> list[Turn]:
            return await tx.waiting(scope=scope, limit=limit)

        return await self._look(Looking, look, scopes=[scope])

    async def threads(self, *, after: datetime, until: datetime, limit: int) -> list[Heard]:
        """See `ricordo.ports.Queue`."""
        sql = "select * from threads_heard(%s, %s, %s, %s)"
        found = await self._asked(sql, micros(after), micros(until), RECENT, limit)
        return [heard_from(*row) for row in found]

    async def replay(self, job_id: int, *, scope: Scope | None) -> None:
        """See `ricordo.ports.Queue`."""
        if scope is None:
            found = await self._asked("select s.* from scope_of(scope_of_job(%s)) s", job_id)
            if not found:
                raise NotFound(f"no dead letter {job_id} here")
            scope = scope_from(*found[0])
        whose = scope

        async def work(tx: PostgresWriting) -> None:
            await tx.replay(job_id, scope=whose)

        await self._work(PostgresWriting, work, scope=whose)

    async def drop(self, job_id: int, *, scope: Scope) -> None:
        """See `ricordo.ports.Queue`."""

        async def work(tx: PostgresWriting) -> None:
            await tx.drop(job_id, scope=scope)

        await self._work(PostgresWriting, work, scope=scope)

    async def backlog(self, *, scope: Scope | None = None) -> Backlog:
        """See `ricordo.ports.Queue`."""
        if scope is None:
            return backlog_from(await self._asked("select * from count_jobs()"))

        async def look(tx: Looking) -> Backlog:
            return await tx.backlog(scope=scope)

        return await self._look(Looking, look, scopes=[scope])

    async def tend(
        self, *, at: datetime, every: float, seconds: float, scope: Scope | None = None
    ) -> Lease | None:
        """See `ricordo.ports.Tending`."""

        async def take(whose: Scope) -> Lease | None:
            async def work(tx: PostgresWriting) -> Lease | None:
                return await tx.tend(scope=whose, at=at, every=every, seconds=seconds)

            return await self._work(PostgresWriting, work, scope=whose)

        if scope is not None:
            return await take(scope)
        earliest = micros(at - timedelta(seconds=every))
        sql = "select s.* from next_to_tend(%s, %s) n, scope_of(n) s"
        while found := await self._asked(sql, micros(at), earliest):
            lease = await take(scope_from(*found[0]))
            if lease is not None:
                return lease
        return None

    async def release(self, lease: Lease) -> None:
        """See `ricordo.ports.Tending`."""

        async def work(tx: PostgresWriting) -> None:
            await tx.release(lease)

        await self._work(PostgresWriting, work, scope=lease.scope)

    async def announced(self, *, after: int, limit: int) -> list[tuple[int, Event]]:
        """See `ricordo.ports.Outbox`."""
        return await self._alone(lambda on: outbox.announced(on, after=after, limit=limit))

    async def position(self, consumer: str) -> int | None:
        """See `ricordo.ports.Outbox`."""
        return await self._alone(lambda on: outbox.position(on, consumer))

    async def acknowledge(self, consumer: str, position: int) -> None:
        """See `ricordo.ports.Outbox`."""
        now = self._clock()
        await self._alone(lambda on: outbox.acknowledge(on, consumer, position, now=now))

    async def readers(self) -> Sequence[Reader]:
        """See `ricordo.ports.Outbox`."""
        return await self._alone(outbox.readers)

    async def retire(self, consumer: str, *, at: datetime) -> None:
        """See `ricordo.ports.Outbox`."""
        await self._alone(lambda on: outbox.retire(on, consumer, at=at))

    async def readmit(self, consumer: str) -> int | None:
        """See `ricordo.ports.Outbox`."""
        return await self._alone(lambda on: outbox.readmit(on, consumer, now=self._clock()))

    async def latest(self) -> int:
        """See `ricordo.ports.Outbox`."""
        return await self._alone(outbox.latest)

    async def prune(self, *, before: datetime, limit: int) -> int:
        """See `ricordo.ports.Outbox`."""
        return await self._alone(lambda on: outbox.prune(on, before=before, limit=limit))

    async def hold(self, office: str, *, holder: str, at: datetime, seconds: float) -> int | None:
        """See `ricordo.ports.Offices`."""
        return await self._alone(
            lambda on: offices.hold(
                on, office, holder=holder, at=at, seconds=seconds, seen=self._seen
            )
        )

    async def vacate(self, office: str, *, holder: str) -> None:
        """See `ricordo.ports.Offices`."""
        await self._alone(lambda on: offices.vacate(on, office, holder=holder))

    async def report(self, office: str, *, position: int, term: int) -> bool:
        """See `ricordo.ports.Offices`."""
        return await self._alone(
            lambda on: offices.report(on, office, position=position, term=term, now=self._clock())
        )

    async def builds(self) -> list[ViewBuild]:
        """See `ricordo.ports.Feeding`."""
        return await self._alone(feeding.builds)

    async def enroll(self, view: str, *, sort: str, made_of: str) -> ViewBuild:
        """See `ricordo.ports.Feeding`."""
        return await self._alone(lambda on: feeding.enroll(on, view, sort=sort, made_of=made_of))

    async def serve(self, build: ViewBuild) -> None:
        """See `ricordo.ports.Feeding`."""
        await self._alone(lambda on: feeding.serve(on, build))

    async def dismiss(self, build: ViewBuild) -> None:
        """See `ricordo.ports.Feeding`."""
        await self._alone(lambda on: feeding.dismiss(on, build))

    async def elect(self, build: ViewBuild, *, holder: str, at: datetime, seconds: float) -> bool:
        """See `ricordo.ports.Feeding`."""
        return await self._alone(
            lambda on: feeding.elect(on, build, holder=holder, at=at, seconds=seconds)
        )

    async def resign(self, build: ViewBuild, *, holder: str) -> None:
        """See `ricordo.ports.Feeding`."""
        await self._alone(lambda on: feeding.resign(on, build, holder=holder))

    async def marks(self, build: ViewBuild, *, marks: Sequence[Mark]) -> Mapping[Mark, int]:
        """See `ricordo.ports.Feeding`."""
        return await self._alone(lambda on: feeding.marks_of(on, build, marks))

    async def mark(self, build: ViewBuild, *, marks: Mapping[Mark, int]) -> None:
        """See `ricordo.ports.Feeding`."""
        await self._alone(lambda on: feeding.mark(on, build, marks))

    async def unmark(self, build: ViewBuild, *, scope: str) -> None:
        """See `ricordo.ports.Feeding`."""
        await self._alone(lambda on: feeding.unmark(on, build, scope=scope))

    async def holding(self, *, scope: str) -> list[ViewBuild]:
        """See `ricordo.ports.Feeding`."""
        return await self._alone(lambda on: feeding.holding(on, scope=scope))

    async def seal(self, values: Sequence[str]) -> list[str]:
        """See `ricordo.ports.Feeding`."""
        return [sealed(value, self._secret) for value in values]

    async def check(self) -> list[Finding]:
        """See `ricordo.ports.Upkeep`."""
        return await self._over_all(check)

    async def counts(self, *, scope: Scope | None = None) -> Mapping[str, int]:
        """See `ricordo.ports.Upkeep`. An erased scope is scanned under the numbers it had, too."""
        if scope is None:
            return dict(await self._asked("select * from count_rows() order by place"))
        subject = subject_of(scope, self._secret)
        return await self._look(Looking, lambda tx: tx.count_former(subject), scopes=[scope])

    async def census(self, *, scope: Scope | None = None) -> Census:
        """See `ricordo.ports.Upkeep`."""
        if scope is None:
            return await self._over_all(census)
        return await self._look(Looking, lambda tx: tx.census(scope=scope), scopes=[scope])

    async def subject(self, *, scope: Scope) -> str:
        """See `ricordo.ports.Upkeep`."""
        return subject_of(scope, self._secret)

    async def scrub(self) -> bool:
        """See `ricordo.ports.Upkeep`. Always False: what is deleted cannot be read through the
        server any more, but lies in its files until they are vacuumed and its log is recycled,
        which is the server's to do, and which no program can see done."""
        await self._asked("select 1")
        return False

    async def spaces(self) -> list[Space]:
        """See `ricordo.ports.Upkeep`."""
        return await self._alone(upkeep.spaces)

    async def expire(self, *, turns_before: datetime, audit_before: datetime, limit: int) -> int:
        """See `ricordo.ports.Upkeep`."""
        return await self._alone(
            lambda on: upkeep.expire(
                on, turns_before=turns_before, audit_before=audit_before, limit=limit
            )
        )

    async def stale(self, *, space: Space, after: str, limit: int) -> list[Unindexed]:
        """See `ricordo.ports.Upkeep`."""
        return await self._over_all(
            lambda on: upkeep.stale(on, space=space, after=after, limit=limit)
        )

    async def restore(self, rows: Sequence[tuple[Unindexed, Indexed]], *, space: Space) -> None:
        """See `ricordo.ports.Upkeep`. Each scope's rows are put in place together."""
        for scope in dict.fromkeys(row.scope for row, _ in rows):
            mine = [each for each in rows if each[0].scope == scope]

            async def work(tx: Restoring, mine: Sequence[Any] = mine) -> None:
                await tx.restore(mine, space=space)

            await self._work(Restoring, work, scope=scope)

    async def scopes(self) -> list[Scope]:
        """See `ricordo.ports.Upkeep`."""
        return await self._alone(upkeep.scopes)

    async def check_search(self) -> None:
        """See `ricordo.ports.SearchingLedger`. It tells of the database as it was when opened."""
        missing = self._meanings.missing
        if missing is not None:
            raise Invalid(f"the ledger {self._name} cannot search by itself: {missing}")

    async def search(
        self, look: Callable[[Searching], Awaitable[T]], *, scopes: Sequence[Scope]
    ) -> T:
        """See `ricordo.ports.SearchingLedger`."""
        return await self._look(SearchReading, look, scopes=scopes)

    async def prepare(self, *, partition: Partition) -> bool:
        """See `ricordo.ports.SearchingLedger`."""

        async def work(tx: Preparing) -> bool:
            return await tx.prepare(partition=partition)

        await self.check_search()
        return await self._work(Preparing, work, scope=partition.scope)

    async def _look(
        self, kind: type[S], look: Callable[[S], Awaitable[T]], *, scopes: Sequence[Scope]
    ) -> T:
        async def carry(on: Connection, numbers: Sequence[int] | None) -> T:
            entered = dict(zip(asked, numbers or (), strict=True))
            session = self._session(kind, entered, asked)
            return await drive(look, session, on=on)

        asked = tuple(dict.fromkeys(scopes))
        keys = [list(column) for column in zip(*map(scope_key, asked), strict=True)]
        begin = READ, ()
        if asked:
            begin = f"{READ}; select enter_reading(%s::text[], %s::text[], %s::text[])", keys
        return await self._lanes.run(carry, begin=begin, reads=True)

    async def _work(self, kind: type[S], work: Callable[[S], Awaitable[T]], *, scope: Scope) -> T:
        async def carry(on: Connection, number: int) -> T:
            entered = {scope: number}
            session = self._session(kind, entered, (scope,))
            return await drive(work, session, on=on)

        begin: Begin = f"{WRITE}; select enter_writing(%s, %s, %s)", scope_key(scope)
        return await self._lanes.run(carry, begin=begin)

    def _session(self, kind: type[S], entered: dict[Scope, int], scopes: Sequence[Scope]) -> S:
        return kind(
            entered,
            scopes=scopes,
            secret=self._secret,
            clock=self._clock,
            types=self._meanings.place,
        )

    async def _over_all(self, carry: Callable[[Connection], Awaitable[T]]) -> T:
        """A look over all scopes, at one instant."""

        async def carried(on: Connection, _: object) -> T:
            return await carry(on)

        begin: Begin = f"{READ}; set local statement_timeout = '{_UPKEEP_SECONDS:.0f}s'", ()
        return await self._lanes.run(carried, begin=begin, patience=_UPKEEP_SECONDS, reads=True)

    async def _alone(self, carry: Callable[[Connection], Awaitable[T]]) -> T:
        """Statements that are each a transaction of their own."""

        async def carried(on: Connection, _: object) -> T:
            return await carry(on)

        return await self._lanes.run(carried, begin=None)

    async def _asked(self, sql: str, *values: Any) -> list[Any]:
        return await self._alone(lambda on: _rows(on, sql, values))


async def _rows(on: Connection, sql: str, values: Sequence[Any]) -> list[Any]:
    return (await perform(Ask(sql, values), on=on)).rows
