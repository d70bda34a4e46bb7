"""Engines outside the ledger."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from ricordo.settings.group import Group

_BOLT = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")


class VectorStore(BaseModel):
    """One of mem0's vector stores, as mem0's own configuration names it.

    Args:
        provider: mem0's name of the store, for example ``"qdrant"``.
        config: its configuration; shown nowhere, for it may hold secrets.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str
    config: dict[str, Any] = Field(default_factory=dict[str, Any], repr=False)

    def __str__(self) -> str:
        return self.provider


class Views(Group):
    """The vector view and the graph view."""

    vector_view: VectorStore | None = Field(
        default=None,
        description="A vector store outside the file, for partitions too large for memory: "
        "`provider` and `config` as in mem0's documentation, without collection and dimension. "
        "Needs `ricordo[mem0]`. In the environment: JSON.",
    )
    vector_view_from: int = Field(
        default=20_000,
        ge=0,
        le=1_000_000_000,
        description="Memories from which a partition is searched in the vector view; smaller ones "
        "are searched in memory, which is exact and quicker.",
    )
    graph_view_url: str | None = Field(
        default=None,
        description="Address of a Neo4j (5 or newer) or another Bolt server for walks, for example "
        "`bolt://localhost:7687` or `neo4j+s://host`. Needs `ricordo[neo4j]`.",
    )
    graph_view_user: str = Field(default="neo4j", description="User at the graph server.")
    graph_view_password: SecretStr | None = Field(
        default=None, description="Password at the graph server."
    )
    graph_view_database: str | None = Field(
        default=None, description="Database at the graph server; unset, the user's own."
    )
    view_deadline: float = Field(
        default=0.1,
        gt=0,
        le=60,
        description="Seconds that a recall waits for a view; after that it answers without it.",
    )
    view_timeout: float = Field(
        default=10.0,
        gt=0,
        le=3600,
        description="Seconds after which any other call to a view has failed.",
    )

    @field_validator("graph_view_url")
    @classmethod
    def _is_bolt(cls, value: str | None) -> str | None:
        if value is None:
            return value
        if value.partition("://")[0] not in _BOLT:
            raise ValueError(f"an address begins with one of {', '.join(_BOLT)} and ://")
        if "@" in value:
            raise ValueError("give graph_view_user and graph_view_password instead")
        return value
