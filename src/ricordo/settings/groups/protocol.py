"""The platform that is served."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator
from pydantic_settings import NoDecode

from ricordo.settings.group import Group
from ricordo.settings.reading import agent_class, identifier, names, pairs, subject_token


class Protocol(Group):
    """The platform's protocol, and who is believed and served there."""

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

    @field_validator("protocol_writer")
    @classmethod
    def _writer_is_id(cls, value: str | None) -> str | None:
        return value if value is None else agent_class(value, what="it")

    @field_validator("protocol_trust", mode="before")
    @classmethod
    def _read_trust(cls, value: Any) -> Any:
        return pairs(value, what="agent=tenant") if isinstance(value, str) else value

    @field_validator("protocol_trust")
    @classmethod
    def _trust_names(cls, value: dict[str, str] | None) -> dict[str, str] | None:
        for agent, tenant in (value or {}).items():
            if agent != "*":
                kind, slash, name = agent.partition("/")
                agent_class(kind, what="an agent's class")
                subject_token(name if slash else kind, what="an agent's id")
            identifier(tenant, what="tenant")
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
                identifier(name, what="namespace")
        return value
