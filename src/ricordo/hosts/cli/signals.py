"""Work that goes on until a signal ends it."""

import asyncio
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress

_FIRST = asyncio.FIRST_COMPLETED


async def until_told(
    work: Coroutine[object, object, None],
    *,
    begin: Callable[[], None],
    wind_down: Callable[[], Awaitable[object]] | None = None,
) -> None:
    """Work until a signal, from `begin` on; the second one ends the process as usual.

    Args:
        wind_down: is awaited between the signal and the end of `work`.
    """
    async with signalled() as told:
        begin()
        working = asyncio.create_task(work)
        stop = asyncio.create_task(told.wait())
        await asyncio.wait({working, stop}, return_when=_FIRST)
        stop.cancel()
        if wind_down is not None and not working.done():
            await asyncio.wait({working, asyncio.ensure_future(wind_down())}, return_when=_FIRST)
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working


@asynccontextmanager
async def signalled() -> AsyncGenerator[asyncio.Event, None]:
    """Set by the first SIGINT or SIGTERM; the second one ends the process as usual."""
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    signals = (signal.SIGINT, signal.SIGTERM)

    def tell() -> None:
        for number in signals:
            loop.remove_signal_handler(number)
        told.set()

    for number in signals:
        loop.add_signal_handler(number, tell)
    try:
        yield told
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
