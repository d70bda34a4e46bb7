"""The connections of a ledger, and the transactions that run on them: each with a deadline."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

import psycopg
from psycopg import AsyncClientCursor
from psycopg.adapt import AdaptersMap
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from ricordo.adapters.postgres.address import Address
from ricordo.adapters.postgres.driving import Connection
from ricordo.adapters.postgres.faults import AGAIN, FOREIGN, UNSURE, meaning, translated
from ricordo.adapters.postgres.meanings import Direction, DirectionDumper
from ricordo.adapters.postgres.watching import WATCH, Watch
from ricordo.errors import DeadlineExceeded, Unavailable

T = TypeVar("T")

CONNECT_SECONDS = 5.0
"""To wait for a connection to be made."""

GRACE = 2.0
"""The server ends what takes too long by itself; this much later its silence is not waited for."""

_KEPT = 3
"""Connections kept open while nothing is asked."""

Begin = tuple[str, Sequence[Any]]
"""How a transaction begins: statements in one message, the last one's answer is handed on."""

READ = "begin isolation level repeatable read, read only"
WRITE = "begin isolation level read committed, read write"


def adapters() -> AdaptersMap:
    """How values are sent: all whole numbers alike, so that a statement is prepared once."""
    kept = AdaptersMap(psycopg.adapters)
    kept.register_dumper(int, Int8Dumper)
    kept.register_dumper(Direction, DirectionDumper)
    return kept


async def connect(address: Address, *, patience: float) -> Connection:
    """One connection, in autocommit mode. Raises errors of ours that say why there is none."""
    with translated(address.name, connecting=True):
        return await psycopg.AsyncConnection.connect(
            autocommit=True,
            context=adapters(),
            **address.connecting(seconds=CONNECT_SECONDS, patience=patience),
        )


class _Caller(Generic[T]):
    """Who waits for a transaction, and what it is to hear.

    Args:
        reads: it changes nothing: its answer need not wait for its end, and nobody needs the rest
            of it once the caller is gone.
    """

    def __init__(self, *, reads: bool) -> None:
        self.reads = reads
        self.answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    @property
    def gone(self) -> bool:
        """Whether it waits no more."""
        return self.answer.cancelled()

    def hear(self, value: T) -> None:
        """Give it its answer, if it still waits for one."""
        if not self.answer.done():
            self.answer.set_result(value)

    def pointless(self) -> bool:
        """Whether what is left to do is of use to nobody."""
        return self.reads and self.gone

    def ended(self, task: "asyncio.Task[T]") -> None:
        """Give it what became of the transaction; one that is gone does not hear of it."""
        if task.cancelled():
            self.answer.cancel()
        elif (error := task.exception()) is None:
            self.hear(task.result())
        elif not self.answer.done():
            self.answer.set_exception(error)


class Lanes:
    """Runs transactions side by side.

    A caller that is cancelled stops waiting; a change that it began goes on to its end or its
    deadline, a reading to its next statement, and what was still waiting for a connection then is
    not begun.

    Args:
        address: of the server.
        size: most connections at once.
        patience: seconds for a connection to come free, and then for a transaction.
    """

    def __init__(self, address: Address, *, size: int, patience: float) -> None:
        self._address = address
        self._patience = patience
        self._running: set[asyncio.Task[Any]] = set()
        self._trial: asyncio.Task[None] | None = None
        self._closed = False
        self._adapters = adapters()
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            kwargs={
                "autocommit": True,
                "context": self._adapters,
                **address.connecting(seconds=CONNECT_SECONDS, patience=patience),
            },
            min_size=min(_KEPT, size),
            max_size=size,
            timeout=patience,
            reconnect_timeout=CONNECT_SECONDS,
            open=False,
            name="ricordo",
        )

    async def open(self) -> None:
        """Begin to connect."""
        await self._pool.open()

    async def close(self) -> None:
        """Let what runs end, then close the connections."""
        if self._closed:
            return
        self._closed = True
        if self._running:
            await asyncio.wait(self._running)
        await self._pool.close()

    async def run(
        self,
        carry: Callable[[Connection, Any], Awaitable[T]],
        *,
        begin: Begin | None,
        patience: float | None = None,
        reads: bool = False,
    ) -> T:
        """Run a transaction, again if the server asks for that.

        Args:
            carry: its statements; receives the answer of the last statement of `begin`.
            begin: without one, each statement is a transaction of its own.
            patience: seconds, where it may take longer than usual.
            reads: True where it changes nothing; its answer comes before its end then.
        """
        if self._closed:
            raise Unavailable(f"the ledger {self._address.name} is closed")
        caller: _Caller[T] = _Caller(reads=reads)
        task = asyncio.create_task(self._carried(carry, begin, patience or self._patience, caller))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        task.add_done_callback(caller.ended)
        return await caller.answer

    async def _carried(
        self,
        carry: Callable[[Connection, Any], Awaitable[T]],
        begin: Begin | None,
        patience: float,
        caller: _Caller[T],
    ) -> T:
        until = time.monotonic() + patience
        while True:
            on = await self._lane()
            try:
                if caller.gone:
                    # Where many wait, most that are late were given up on: nobody waits for these.
                    raise asyncio.CancelledError
                return await self._once(on, carry, begin, patience=patience, caller=caller)
            except FOREIGN as error:
                lost = on.broken or on.closed
                fault = meaning(error, name=self._address.name)
                if not (lost or getattr(error, "sqlstate", None) in AGAIN):
                    raise fault from error
                if time.monotonic() >= until:
                    raise fault from error
            finally:
                await self._pool.putconn(on)
            if lost:
                # Nothing was committed. The server may have been started anew meanwhile; then the
                # other connections are as dead as this one.
                await self._pool.check()

    async def _lane(self) -> Connection:
        try:
            return await self._pool.getconn()
        except PoolTimeout as error:
            await self._try_one()  # the pool only says that it has none; this tells the reason
            raise Unavailable(
                f"the ledger {self._address.name}: all its {self._pool.max_size} connections were "
                f"busy for {self._patience:g} seconds; try again, or allow more"
            ) from error
        except PoolClosed as error:
            raise meaning(error, name=self._address.name) from error

    async def _try_one(self) -> None:
        """One trial for all who ask meanwhile: a busy server must not be asked for many more."""
        if self._trial is None or self._trial.done():
            self._trial = asyncio.create_task(self._tried())
        await asyncio.shield(self._trial)

    async def _tried(self) -> None:
        tried = await connect(self._address, patience=self._patience)
        await tried.close()

    async def _once(
        self,
        on: Connection,
        carry: Callable[[Connection, Any], Awaitable[T]],
        begin: Begin | None,
        *,
        patience: float,
        caller: _Caller[T],
    ) -> T:
        watch = Watch(on, seconds=patience + GRACE, pointless=caller.pointless)
        WATCH.set(watch)
        committing = False
        try:
            entered = await self._begin(on, begin)
            value = await carry(on, entered)
            if caller.reads:
                caller.hear(value)
            committing = not caller.reads
            await on.commit()
            return value
        except FOREIGN as error:
            if watch.cut:
                end = UNSURE if committing else "the connection was given up"
                raise DeadlineExceeded(
                    f"the ledger {self._address.name}: the server said nothing for "
                    f"{patience + GRACE:g} seconds; {end}"
                ) from error
            if committing and (on.broken or on.closed):
                raise Unavailable(
                    f"the ledger {self._address.name}: the connection was lost while {UNSURE}"
                ) from error
            raise
        finally:
            watch.end()
            await _leave(on)

    async def _begin(self, on: Connection, begin: Begin | None) -> Any:
        if begin is None:
            return None
        sql, values = begin
        # In one message, so that it costs one wait; values are quoted on this side, therefore.
        message = AsyncClientCursor(on).mogrify(sql.encode(), values)
        cursor = await on.execute(message.encode(), prepare=False)
        while cursor.nextset():
            pass
        found = await cursor.fetchone() if cursor.description is not None else None
        return found[0] if found else None


async def _leave(on: Connection) -> None:
    """Give nothing of a transaction that failed on to the next one."""
    if not on.closed and on.info.transaction_status != TransactionStatus.IDLE:
        with suppress(psycopg.Error):  # then it is broken, and the pool drops it
            await on.rollback()
