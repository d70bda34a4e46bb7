"""What a process takes and tells."""

from typing import Literal

from pydantic import Field

from ricordo.settings.group import Group


class Running(Group):
    """The process's memory, and its telemetry."""

    index_memory_mb: int = Field(
        default=512,
        ge=1,
        le=1_048_576,
        description="Memory for the search index, in megabytes; beyond it, the partition used "
        "longest ago is dropped and loaded again on demand.",
    )

    telemetry: Literal["off", "opentelemetry"] = Field(
        default="off",
        description="Who is told what is done and how long it takes, never what is remembered: "
        "nobody (`off`), or the OpenTelemetry providers of the program (`opentelemetry`, needs "
        "`ricordo[otel]`).",
    )
