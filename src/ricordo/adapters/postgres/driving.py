"""Carrying out the works of transactions, statement by statement."""

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar, cast

import psycopg

from ricordo.adapters.postgres.session import Answer, Ask, Session
from ricordo.adapters.postgres.watching import WATCH
from ricordo.errors import Invalid

T = TypeVar("T")
S = TypeVar("S", bound=Session)

Connection = psycopg.AsyncConnection[tuple[Any, ...]]


async def drive(work: Callable[[S], Awaitable[T]], session: S, *, on: Connection) -> T:
    """Step a work to its end. Once a statement fails, nothing can come of the transaction any
    more: the work is ended there, and the failure raised as it is.

    Raises:
        Invalid: the work awaited something other than its transaction, and so could not go on.
    """
    steps = cast("Generator[object, Answer | None, T]", work(session).__await__())
    answer: Answer | None = None
    try:
        while True:
            asked = steps.send(answer)
            if not isinstance(asked, Ask):
                raise Invalid(
                    "work inside a transaction may await nothing but the transaction; "
                    "fetch what it needs beforehand"
                )
            answer = await perform(asked, on=on)
    except StopIteration as done:
        return done.value
    finally:
        session.end()
        steps.close()


async def perform(ask: Ask, *, on: Connection) -> Answer:
    """Carry out one statement."""
    async with on.cursor(binary=ask.binary) as cursor:
        watch = WATCH.get()
        if watch is not None:
            watch.check()
        if ask.many:
            await cursor.executemany(ask.sql.encode(), ask.values)
            rows: list[Any] = []
        else:
            await cursor.execute(ask.sql.encode(), ask.values)
            rows = await cursor.fetchall() if cursor.description is not None else []
        if watch is not None:
            watch.heard()
        return Answer(rows, cursor.rowcount)
