"""Ricordo inside a Microsoft Agent Framework agent: sessions with an owner, context providers."""

from ricordo.hosts.maf.factories import (
    make_mem0_context_provider,
    make_memory_context_provider,
    make_ricordo_context_provider,
)
from ricordo.hosts.maf.guarded import GuardedProvider
from ricordo.hosts.maf.history import ShortTermHistory
from ricordo.hosts.maf.identity import identify, new_session, owner_of, principal_of
from ricordo.hosts.maf.providers import (
    OrganizationMemoryProvider,
    RicordoProvider,
    UserMemoryProvider,
)

__all__ = [
    "GuardedProvider",
    "OrganizationMemoryProvider",
    "RicordoProvider",
    "ShortTermHistory",
    "UserMemoryProvider",
    "identify",
    "make_mem0_context_provider",
    "make_memory_context_provider",
    "make_ricordo_context_provider",
    "new_session",
    "owner_of",
    "principal_of",
]
