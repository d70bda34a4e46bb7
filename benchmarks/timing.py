"""Measuring: percentiles, many callers at once, how late the event loop is, memory in use."""

import asyncio
import itertools
import resource
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which that part of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def resident_mb() -> float:
    """Memory of this process that is in RAM now; its peak where the system does not tell."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize() / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


class LoopLag:
    """How late the event loop wakes somebody who sleeps for 5 ms, in ms."""

    INTERVAL = 0.005

    def __init__(self) -> None:
        self.late: list[float] = []

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._sample())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._task.cancel()

    async def _sample(self) -> None:
        while True:
            started = time.perf_counter()
            await asyncio.sleep(self.INTERVAL)
            self.late.append((time.perf_counter() - started - self.INTERVAL) * 1_000)


@dataclass
class Load:
    """What some callers saw: how long each call took, and how late the loop was meanwhile."""

    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        return len(self.times) / self.seconds

    @property
    def median(self) -> float:
        return statistics.median(self.times)


async def load(
    call: Callable[[int], Awaitable[object]],
    *,
    count: int,
    callers: int,
    seconds: float = 1e9,
) -> Load:
    """`count` calls by so many callers, each calling again once it was answered.

    No new call is made once `seconds` have passed.
    """
    result = Load()
    numbers = iter(range(count))
    began = time.perf_counter()

    async def caller() -> None:
        for number in numbers:
            started = time.perf_counter()
            if started - began > seconds:
                return
            await call(number)
            result.times.append((time.perf_counter() - started) * 1_000)

    async with LoopLag() as lag:
        await asyncio.gather(*(caller() for _ in range(callers)))
    result.seconds = time.perf_counter() - began
    result.late = lag.late or [0.0]
    return result


async def until(met: Callable[[], Awaitable[bool]], *, seconds: float = 60.0) -> None:
    """Wait until a condition holds; raises `TimeoutError` when it does not."""
    async with asyncio.timeout(seconds):
        for _ in itertools.count():
            if await met():
                return
            await asyncio.sleep(0.01)
