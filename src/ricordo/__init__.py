"""Ricordo: memory for teams of AI agents.

Private to each user, shared across an organization; preferences stay with the agent that learned
them, facts are known to all.

Names are imported when first used, so that ``import ricordo`` is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ricordo.access import PreferenceVisibility, grants_of
    from ricordo.errors import RicordoError
    from ricordo.memory.consolidation import ConsolidationReport
    from ricordo.memory.engine import Ricordo
    from ricordo.memory.organization import OrganizationMemory
    from ricordo.memory.storing import Stored
    from ricordo.memory.user import UserMemory
    from ricordo.model import (
        EntityClaim,
        Grant,
        Kind,
        Listing,
        Memory,
        Origin,
        Principal,
        Recollection,
        RelationClaim,
        Role,
        Said,
        Speaker,
        Status,
        Turn,
    )
    from ricordo.settings import Settings, load_settings
    from ricordo.wiring import open_history, open_memory

_HOMES = {
    "ConsolidationReport": "memory.consolidation",
    "EntityClaim": "model",
    "Grant": "model",
    "Kind": "model",
    "Listing": "model",
    "Memory": "model",
    "OrganizationMemory": "memory.organization",
    "Origin": "model",
    "PreferenceVisibility": "access",
    "Principal": "model",
    "Recollection": "model",
    "RelationClaim": "model",
    "Ricordo": "memory.engine",
    "RicordoError": "errors",
    "Role": "model",
    "Said": "model",
    "Settings": "settings",
    "Speaker": "model",
    "Status": "model",
    "Stored": "memory.storing",
    "Turn": "model",
    "UserMemory": "memory.user",
    "grants_of": "access",
    "load_settings": "settings",
    "open_history": "wiring",
    "open_memory": "wiring",
}

__all__ = [
    "ConsolidationReport",
    "EntityClaim",
    "Grant",
    "Kind",
    "Listing",
    "Memory",
    "OrganizationMemory",
    "Origin",
    "PreferenceVisibility",
    "Principal",
    "Recollection",
    "RelationClaim",
    "Ricordo",
    "RicordoError",
    "Role",
    "Said",
    "Settings",
    "Speaker",
    "Status",
    "Stored",
    "Turn",
    "UserMemory",
    "grants_of",
    "load_settings",
    "open_history",
    "open_memory",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'ricordo' has no attribute {name!r}")
    return getattr(import_module(f"ricordo.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
