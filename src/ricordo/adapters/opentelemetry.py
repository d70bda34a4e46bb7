"""Telemetry by OpenTelemetry: spans and metrics for whatever providers the program has set up.

Only the API is used here. Where a program configures no SDK, nothing is recorded, and it costs
next to nothing.
"""

import re
from importlib import metadata
from typing import Any

from ricordo.ports import BOUNDS, Act, Count, Fact, Level, Told

try:
    from opentelemetry import context, metrics, trace
except ImportError as error:
    raise ImportError(
        "telemetry by OpenTelemetry needs its packages: pip install 'ricordo[otel]'"
    ) from error

_APART = frozenset({Act.EXTRACT, Act.CONSOLIDATE})
"""Acts of the background: what was going on when the memory was opened is not their parent."""

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,47}")

_BY = {
    Count.DEGRADED: "ricordo.arm",
    Count.REFUSED: "ricordo.rule",
    Count.PARKED: "error.type",
    Count.SIGNS: "ricordo.act",
    Count.UNSOUND: "error.type",
    Count.TOKENS: "gen_ai.token.type",
}
_ABOUT = {
    Count.DEGRADED: ("{recall}", "Recalls that went without something, by what was missing."),
    Count.REFUSED: ("{relation}", "Relations that broke an integrity rule."),
    Count.PARKED: ("{job}", "Turns and requests that went to the dead letters."),
    Count.SIGNS: ("{sign}", "Signs of waiting turns that a worker took, or gave back."),
    Count.UNSOUND: ("{message}", "Messages from outside that were refused and put away."),
    Count.TOKENS: ("{token}", "Tokens spent on extraction, as the model reported them."),
}
_LEVELS = {
    Level.JOBS: ("{job}", "Turns and requests in the queue."),
    Level.OLDEST: ("s", "Age of the oldest turn or request that waits."),
    Level.EVENTS: ("{event}", "Announced events that are yet to be relayed."),
    Level.EVENT_AGE: ("s", "Age of the oldest event that is yet to be relayed."),
}


class OpenTelemetry:
    """Implements `ricordo.ports.Telemetry`.

    Spans are named ``ricordo recall`` and so on, and are children of the span that is current.

    Args:
        tracer_provider, meter_provider: by default the program's global ones.
    """

    def __init__(
        self,
        *,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
    ) -> None:
        version = metadata.version("ricordo")
        self._tracer = trace.get_tracer("ricordo", version, tracer_provider)
        meter = metrics.get_meter("ricordo", version, meter_provider)
        self._seconds = meter.create_histogram(
            "ricordo.operation.duration",
            unit="s",
            description="How long an act took.",
            explicit_bucket_boundaries_advisory=BOUNDS,
        )
        self._counts = {
            count: meter.create_counter(f"ricordo.{count.value}", unit=unit, description=about)
            for count, (unit, about) in _ABOUT.items()
        }
        self._levels = {
            level: meter.create_gauge(f"ricordo.{level.value}", unit=unit, description=about)
            for level, (unit, about) in _LEVELS.items()
        }

    def begin(self, act: Act) -> "OpenSpan":
        """See `ricordo.ports.Telemetry`."""
        return OpenSpan(self._tracer, self._seconds, act)

    def add(self, count: Count, amount: int, *, by: str) -> None:
        """See `ricordo.ports.Telemetry`."""
        self._counts[count].add(amount, {_BY[count]: _word(by)})

    def set(self, level: Level, value: float, *, by: str) -> None:
        """See `ricordo.ports.Telemetry`."""
        self._levels[level].set(value, {"ricordo.state": _word(by)})


class OpenSpan:
    """One act as a span; current until it ends."""

    def __init__(self, tracer: trace.Tracer, seconds: metrics.Histogram, act: Act) -> None:
        self._act = act
        self._seconds = seconds
        apart = act in _APART
        self._span = tracer.start_span(
            f"ricordo {act.value}",
            context=context.Context() if apart else None,
            attributes={"ricordo.operation": act.value},
            record_exception=False,
            set_status_on_exception=False,
        )
        self._token = context.attach(trace.set_span_in_context(self._span))

    def tell(self, fact: Fact, value: Told) -> None:
        """See `ricordo.ports.Span`."""
        self._span.set_attribute(f"ricordo.{fact.value}", _safe(value))

    def end(self, *, seconds: float, error: str | None) -> None:
        """See `ricordo.ports.Span`."""
        attributes = {"ricordo.operation": self._act.value}
        if error is not None:
            attributes["error.type"] = _word(error)
            self._span.set_attribute("error.type", attributes["error.type"])
            self._span.set_status(trace.StatusCode.ERROR)
        # Before the span is left, so that an exemplar can point to it.
        self._seconds.record(seconds, attributes)
        context.detach(self._token)
        self._span.end()


def _safe(value: Told) -> Any:
    if isinstance(value, str):
        return _word(value)
    return tuple(map(_word, value)) if isinstance(value, tuple) else value


def _word(text: str) -> str:
    """A word of ours; anything else came from somebody, and stays here."""
    return text if _WORD.fullmatch(text) else "other"
