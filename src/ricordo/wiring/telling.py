"""Who is told what is done."""

from ricordo.ports import Telemetry
from ricordo.settings import Settings


def make_telemetry(settings: Settings) -> Telemetry | None:
    """What the settings name; None tells nobody.

    Raises:
        ImportError: the packages of the extra ``otel`` are missing.
    """
    if settings.telemetry == "off":
        return None
    from ricordo.adapters.opentelemetry import OpenTelemetry

    return OpenTelemetry()
