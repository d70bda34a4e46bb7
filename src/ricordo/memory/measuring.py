"""What this process did and how long it took: kept here, and told to whoever listens."""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from ricordo.memory.listening import Listening
from ricordo.model import Refusal
from ricordo.ports import BOUNDS, Act, Count, Fact, Level, Span, Telemetry, Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How long one sort of act took since the memory was opened.

    Args:
        count: acts that ended, those that failed included.
        failed: by name of the error.
        total, longest: seconds.
        buckets: acts by `BOUNDS`; one more than there are bounds.
    """

    count: int = 0
    failed: Mapping[str, int] = field(default_factory=dict[str, int])
    total: float = 0.0
    longest: float = 0.0
    buckets: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)

    def quantile(self, share: float) -> float:
        """Seconds within which that share of the acts ended, as exactly as the buckets tell."""
        wanted, seen = share * self.count, 0
        for bound, low, inside in zip(
            (*BOUNDS, self.longest), (0.0, *BOUNDS), self.buckets, strict=True
        ):
            if inside and seen + inside >= wanted:
                high = min(bound, self.longest)
                return low + (high - low) * (wanted - seen) / inside if high > low else high
            seen += inside
        return self.longest


class _Histogram:
    __slots__ = ("buckets", "failed", "longest", "total")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.failed: Counter[str] = Counter()
        self.longest = 0.0
        self.total = 0.0

    def add(self, seconds: float, *, error: str | None) -> None:
        self.buckets[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds
        self.longest = max(self.longest, seconds)
        if error is not None:
            self.failed[error] += 1

    def latency(self) -> Latency:
        return Latency(
            count=sum(self.buckets),
            failed=dict(self.failed),
            total=self.total,
            longest=self.longest,
            buckets=tuple(self.buckets),
        )


class Doing:
    """An act that is going on, for a ``with``; what it raises is passed on."""

    __slots__ = ("_act", "_began", "_histogram", "_span", "_telemetry", "_timer", "seconds")

    def __init__(
        self,
        act: Act,
        histogram: _Histogram,
        telemetry: Telemetry | None,
        timer: Callable[[], float],
    ) -> None:
        self._act = act
        self._histogram = histogram
        self._telemetry = telemetry
        self._timer = timer
        self._span: Span | None = None
        self._began = 0.0
        self.seconds = 0.0

    def __enter__(self) -> Self:
        if self._telemetry is not None:
            self._span = self._telemetry.begin(self._act)
        self._began = self._timer()
        return self

    def tell(self, fact: Fact, value: Told) -> None:
        """Say something about it to whoever listens."""
        if self._span is not None:
            self._span.tell(fact, value)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.seconds = self._timer() - self._began
        name = None if kind is None else kind.__name__
        self._histogram.add(self.seconds, error=name)
        if self._span is not None:
            self._span.end(seconds=self.seconds, error=name)


class Measures:
    """Times acts and adds up counts; costs a few microseconds an act when nobody listens.

    Args:
        telemetry: is told as well; what it raises is logged by its type and costs nothing.
        timer: seconds that only go forward.
    """

    def __init__(
        self,
        telemetry: Telemetry | None = None,
        *,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.telemetry = telemetry
        self._listening = None if telemetry is None else Listening(telemetry)
        self._timer = timer
        self._histograms: dict[Act, _Histogram] = {}
        self._counts: Counter[tuple[Count, str]] = Counter()

    def act(self, act: Act) -> Doing:
        """Watch what is done in a ``with`` block."""
        histogram = self._histograms.get(act)
        if histogram is None:
            histogram = self._histograms[act] = _Histogram()
        return Doing(act, histogram, self._listening, self._timer)

    def add(self, count: Count, amount: int = 1, *, by: str) -> None:
        """Add to a count."""
        self._counts[count, by] += amount
        if self._listening is not None:
            self._listening.add(count, amount, by=by)

    def refused(self, refusals: Sequence[Refusal]) -> None:
        """Count relations that broke an integrity rule."""
        for refusal in refusals:
            if refusal.rule is not None:
                self.add(Count.REFUSED, by=refusal.rule.name.lower())

    def set(self, level: Level, value: float, *, by: str) -> None:
        """State a level to whoever listens; the ledger knows it anyway."""
        if self._listening is not None:
            self._listening.set(level, value, by=by)

    def latencies(self) -> dict[str, Latency]:
        """By act, of those that were done."""
        return {act.value: h.latency() for act, h in sorted(self._histograms.items())}

    def counts(self) -> dict[str, dict[str, int]]:
        """By name, then by word."""
        found: dict[str, dict[str, int]] = {}
        for (count, by), amount in sorted(self._counts.items()):
            found.setdefault(count.value, {})[by] = amount
        return found
