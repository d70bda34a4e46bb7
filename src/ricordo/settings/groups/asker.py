"""Who asks, and what they may do."""

import getpass
import unicodedata
from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic_settings import NoDecode

from ricordo.model import Role
from ricordo.settings.group import Group
from ricordo.settings.reading import identifier, read_grants


def login_name() -> str:
    """The operating system's name for whoever runs this; ``"local"`` where it has none."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        return "local"
    return unicodedata.normalize("NFC", name.strip()) or "local"


class Asker(Group):
    """Whose memory is used, and on whose behalf."""

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

    @field_validator("tenant", "user", "agent", "namespace")
    @classmethod
    def _asker_is_id(cls, value: str | None) -> str | None:
        return value if value is None else identifier(value, what="it")

    @field_validator("grants", mode="before")
    @classmethod
    def _read_grants(cls, value: Any) -> Any:
        return read_grants(value) if isinstance(value, str) else value

    @field_validator("grants")
    @classmethod
    def _grant_ids(cls, value: dict[str, Role] | None) -> dict[str, Role] | None:
        for name in value or ():
            if name:
                identifier(name, what="namespace")
        return value
