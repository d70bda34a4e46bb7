"""Where a memory lies."""

import os
import sys
from pathlib import Path

from pydantic import Field, field_validator

from ricordo.settings.group import Group


def data_path() -> Path:
    """Where a person's memory lies unless they say otherwise; depends on the platform only."""
    home = Path.home()
    if sys.platform == "win32":
        root = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        root = home / "Library" / "Application Support"
    else:
        root = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return root / "ricordo" / "memory.db"


class Place(Group):
    """The memory file, or the PostgreSQL database."""

    database: str = Field(
        default_factory=lambda: str(data_path()),
        min_length=1,
        description="Path of the memory file; `~` is the home directory. Unset, a place of the "
        "platform's own: `~/.local/share/ricordo/memory.db` on Linux. Or the address of a "
        "PostgreSQL database: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.",
    )
    postgres_connections: int = Field(
        default=10,
        ge=1,
        le=1_000,
        description="Most connections to the PostgreSQL server at once, of this process.",
    )
    postgres_patience: float = Field(
        default=10.0,
        gt=0,
        le=3600,
        description="Seconds that a call waits for a connection to the PostgreSQL server, and then "
        "for its answer.",
    )
    search_in_database_from: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000_000,
        description="Memories from which a partition is searched in the PostgreSQL database, by "
        "pgvector and full-text search, and not in memory; so is one that `index_memory_mb` has no "
        "room for. Unset, none is.",
    )
    search_approximately_from: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000_000,
        description="Memories from which `ricordo init --postgres` gives such a partition an "
        "approximate index (HNSW) of its own. Unset, none gets one: finding by meaning is exact.",
    )

    @field_validator("database")
    @classmethod
    def _at_home(cls, value: str) -> str:
        return str(Path(value).expanduser()) if value.startswith("~") else value
