"""What becomes of what was extracted."""

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from ricordo.settings.group import Group


class Judging(Group):
    """Review, consolidation, and the relations that a graph may have."""

    review_auto_approve: bool = Field(
        default=True,
        description="Approve an inferred memory that no policy check holds back; off, every one "
        "waits for a person.",
    )
    review_min_confidence: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="An inferred memory with less confidence than this waits for a person.",
    )
    consolidation_hours: float = Field(
        default=24.0,
        ge=0,
        le=8_760,
        description="Hours between two passes that put one person's memory in order, in the "
        "background; 0 leaves it to `ricordo consolidate`.",
    )
    consolidation_model: str | None = Field(
        default=None,
        description="Chat model, at `model_base_url`, that may propose other wordings for memories "
        "that say the same; unset, none is asked.",
    )
    vocabulary: Path | None = Field(
        default=None, description="TOML file of the graph's relations; unset, the one shipped."
    )
    vocabulary_mode: Literal["strict", "open"] | None = Field(
        default=None,
        description="What happens to a relation outside the vocabulary: refused (`strict`) or "
        "admitted as new (`open`); unset, what the vocabulary's own `mode` says: of the one "
        "shipped, `open`.",
    )

    @field_validator("vocabulary")
    @classmethod
    def _vocabulary_at_home(cls, value: Path | None) -> Path | None:
        return value if value is None else value.expanduser()
