"""Where conversations are kept, and who shares them."""

from typing import Annotated, Any

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from ricordo.model import Shape
from ricordo.settings.group import Group
from ricordo.settings.reading import REDIS, history_address, identifier, pairs


class Conversations(Group):
    """The shape of sharing, the histories and the cache in front of them."""

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
        "environment: `reviewer=redis://a:6379,writer=file:///b`.",
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
            identifier(name, what="group")
            for agent in agents:
                identifier(agent, what="agent")
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
            identifier(agent, what="agent")
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

    def _check_shape(self) -> None:
        """Raises `ValueError` where the shape and the histories do not belong together."""
        cached, grouped = self.history_cache_url is not None, bool(self.history_groups)
        if self.shape is Shape.HYBRID and not (cached or grouped):
            raise ValueError("shape hybrid needs history_cache_url, or history_groups, or both")
        if self.shape is not Shape.HYBRID and (cached or grouped):
            raise ValueError("history_cache_url and history_groups need shape hybrid")
        if cached and self.history_url is None:
            raise ValueError("history_cache_url needs history_url, the history behind the cache")
        if self.history_urls and self.shape is Shape.SHARED:
            raise ValueError("history_urls need shape distributed, or hybrid")
        if self.history_urls and self.shape is Shape.HYBRID:
            grouped_agents = {a for each in (self.history_groups or {}).values() for a in each}
            shared = sorted(set(self.history_urls) & grouped_agents) if grouped else ["every agent"]
            if shared:
                raise ValueError(
                    f"history_urls: {', '.join(shared)} shares a history with others in this "
                    "shape; only an agent outside all history_groups has one of its own"
                )
        if self.history_archive_url is not None and self.history_url is None:
            raise ValueError("history_archive_url needs history_url, from where it is moved")
