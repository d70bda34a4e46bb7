"""Whoever listens must not cost the work that they are told of, whatever they do wrong."""

import logging
from collections.abc import Callable
from typing import TypeVar

from ricordo.ports import Act, Count, Fact, Level, Span, Telemetry, Told

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Listening:
    """A `Telemetry` that never raises: what goes wrong in the other one is logged once by its type.

    Args:
        telemetry: is told everything.
    """

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._logged: set[str] = set()

    def begin(self, act: Act) -> Span:
        """See `ricordo.ports.Telemetry`."""
        return _Span(self.heard(lambda: self._telemetry.begin(act)), self)

    def add(self, count: Count, amount: int, *, by: str) -> None:
        """See `ricordo.ports.Telemetry`."""
        self.heard(lambda: self._telemetry.add(count, amount, by=by))

    def set(self, level: Level, value: float, *, by: str) -> None:
        """See `ricordo.ports.Telemetry`."""
        self.heard(lambda: self._telemetry.set(level, value, by=by))

    def heard(self, tell: Callable[[], T]) -> T | None:
        """What telling it came to; None when it failed."""
        try:
            return tell()
        except Exception as error:  # noqa: BLE001 - it is whatever was plugged in
            name = type(error).__name__
            if name not in self._logged:
                self._logged.add(name)
                _log.warning("telemetry failed (%s); the work goes on without it", name)
            return None


class _Span:
    """One act, told to a span that may fail; None where it could not even begin."""

    __slots__ = ("_listening", "_span")

    def __init__(self, span: Span | None, listening: Listening) -> None:
        self._span = span
        self._listening = listening

    def tell(self, fact: Fact, value: Told) -> None:
        """See `ricordo.ports.Span`."""
        span = self._span
        if span is not None:
            self._listening.heard(lambda: span.tell(fact, value))

    def end(self, *, seconds: float, error: str | None) -> None:
        """See `ricordo.ports.Span`."""
        span = self._span
        if span is not None:
            self._listening.heard(lambda: span.end(seconds=seconds, error=error))
