"""The real OpenTelemetry SDK, with exporters that keep everything in memory."""

import json
from dataclasses import dataclass
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ricordo.adapters.opentelemetry import OpenTelemetry


@dataclass(frozen=True)
class Watched:
    """Providers for one test, and what they were told."""

    tracing: TracerProvider
    metering: MeterProvider
    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader

    @property
    def telemetry(self) -> OpenTelemetry:
        """What a memory is opened with."""
        return OpenTelemetry(tracer_provider=self.tracing, meter_provider=self.metering)

    @property
    def spans(self) -> list[ReadableSpan]:
        """All that have ended, in that order."""
        return list(self.exporter.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        """Those of one name."""
        return [span for span in self.spans if span.name == name]

    def parent_of(self, span: ReadableSpan) -> str | None:
        """The name of the span that it is part of."""
        if span.parent is None:
            return None
        by_id = {other.context.span_id: other.name for other in self.spans if other.context}
        return by_id[span.parent.span_id]

    def points(self) -> dict[str, dict[tuple[tuple[str, Any], ...], Any]]:
        """Of every metric its points by attributes: a value, or a histogram's count."""
        found: dict[str, dict[tuple[tuple[str, Any], ...], Any]] = {}
        data = self.reader.get_metrics_data()
        for resource in data.resource_metrics if data else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in metric.data.data_points:
                        key = tuple(sorted((point.attributes or {}).items()))
                        value = getattr(point, "value", None)
                        value = point.count if value is None else value
                        found.setdefault(metric.name, {})[key] = value
        return found

    def everything(self) -> str:
        """All that left the process, as text."""
        data = self.reader.get_metrics_data()
        metrics = data.to_json() if data else ""
        spans = [json.loads(span.to_json()) for span in self.spans]
        return json.dumps(spans, ensure_ascii=False) + json.dumps(metrics, ensure_ascii=False)


def watched() -> Watched:
    """Providers of this test alone; the program's global ones stay as they are."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracing = TracerProvider(shutdown_on_exit=False)
    tracing.add_span_processor(SimpleSpanProcessor(exporter))
    metering = MeterProvider([reader], shutdown_on_exit=False)
    return Watched(tracing, metering, exporter, reader)
