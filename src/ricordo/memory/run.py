"""One recall: what is asked, its deadline, and what missed it."""

import asyncio
import time
from collections.abc import Awaitable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from ricordo.errors import Invalid, Unavailable
from ricordo.memory.measuring import Doing, Measures
from ricordo.memory.services import Bounds
from ricordo.model import Origin, Principal, Sought, check_limit, check_time
from ricordo.ports import Act

T = TypeVar("T")

ARMS_SHARE = 0.85
"""Part of the deadline by which every arm must have answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question and its bounds.

    Args:
        agent: asks through this agent; None is the person directly.
        limit: at most this many memories, 1 to 1,000.
        tokens: at most about this many tokens of text.
        deadline: seconds; what has not answered by then is missing, and named in `degraded`.
        hops: steps of the walk; 0 walks nowhere. These four default to the memory's own bounds.
        as_of: what was true then; None is now.
        user, organization: which memory to ask.
        namespaces: only these of the organization; None is all that are granted.
        explain: with each memory its signals and the walk that led to it.
        nearly: so many of those that nearly made it, each with its reason; 0 costs nothing.
        noted: False for a trial, which is not counted as a recall.
        origin: the run that asks, for the event about it.
    """

    question: str
    principal: Principal
    agent: str | None = None
    limit: int | None = None
    tokens: int | None = None
    deadline: float | None = None
    hops: int | None = None
    as_of: datetime | None = None
    user: bool = True
    organization: bool = True
    namespaces: tuple[str | None, ...] | None = None
    explain: bool = True
    nearly: int = 0
    noted: bool = True
    origin: Origin | None = None

    def __post_init__(self) -> None:
        if self.limit is not None:
            check_limit(self.limit, most=1_000)
        if self.tokens is not None and self.tokens < 1:
            raise Invalid(f"tokens is {self.tokens}; at least 1")
        if self.deadline is not None and not self.deadline > 0:
            raise Invalid(f"deadline is {self.deadline} s; it must be positive")
        if self.hops is not None and not 0 <= self.hops <= 8:
            raise Invalid(f"hops is {self.hops}; a walk takes 0 to 8")
        if not 0 <= self.nearly <= 100:
            raise Invalid(f"nearly is {self.nearly}; it lies between 0 and 100")
        if self.as_of is not None and self.as_of.tzinfo is None:
            raise Invalid("as_of needs a time zone")
        if self.as_of is not None:
            check_time(self.as_of, what="as_of")


class Run:
    """One recall's deadline, and what missed it.

    The arms end a little early, so that what they found can still be fetched in time.
    """

    def __init__(self, ask: Ask, bounds: Bounds, measures: Measures, *, started: float) -> None:
        self.ask = ask
        self.started = started
        self.stages: dict[str, float] = {}
        self.sought: Sought | None = None
        self._measures = measures
        self._passed = started
        self.limit = bounds.limit if ask.limit is None else ask.limit
        self.tokens = bounds.tokens if ask.tokens is None else ask.tokens
        self.hops = bounds.hops if ask.hops is None else ask.hops
        self.degraded: dict[str, str] = {}
        deadline = bounds.deadline if ask.deadline is None else ask.deadline
        self._end = started + deadline
        self._arms_end = started + deadline * ARMS_SHARE

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self._end - time.perf_counter()

    def passed(self, stage: str) -> None:
        """Note how long it is since the stage before."""
        now = time.perf_counter()
        self.stages[stage] = (now - self._passed) * 1_000
        self._passed = now

    @contextmanager
    def stage(self, act: Act) -> Generator[Doing]:
        """A stage that runs beside others, or more than once."""
        with self._measures.act(act) as doing:
            yield doing
        self.stages[act.value] = self.stages.get(act.value, 0.0) + doing.seconds * 1_000

    async def within(
        self,
        arm: str,
        awaitable: Awaitable[T],
        *,
        otherwise: T,
        share: float = 1.0,
        last: bool = False,
    ) -> T:
        """The arm's answer, or `otherwise` when it fails or misses its share of what is left."""
        end = self._end if last else self._arms_end
        try:
            async with asyncio.timeout((end - time.perf_counter()) * share):
                return await awaitable
        except (TimeoutError, Unavailable) as error:
            late = isinstance(error, TimeoutError)
            self.degraded.setdefault(arm, "late" if late else type(error).__name__)
            return otherwise
