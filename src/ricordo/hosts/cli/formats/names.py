"""The names of the formats, apart from what reads them, so that help is quick."""

from enum import StrEnum


class Format(StrEnum):
    """What a file is; `auto` looks at its content."""

    AUTO = "auto"
    JSONL = "jsonl"
    LOCOMO = "locomo"
    OPENAI = "openai"
