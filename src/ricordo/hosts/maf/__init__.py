"""Ricordo inside a Microsoft Agent Framework agent: sessions with an owner, context providers."""

from ricordo.hosts.maf.ending import Ended, SessionWatch, end_session
from ricordo.hosts.maf.factories import (
    make_mem0_context_provider,
    make_memory_context_provider,
    make_ricordo_context_provider,
)
from ricordo.hosts.maf.guarded import GuardedProvider
from ricordo.hosts.maf.history import ShortTermHistory
from ricordo.hosts.maf.hybrid import HybridCounts, HybridHistory
from ricordo.hosts.maf.identity import identify, new_session, owner_of, principal_of
from ricordo.hosts.maf.owned import OwnedHistory
from ricordo.hosts.maf.providers import (
    OrganizationMemoryProvider,
    RicordoProvider,
    UserMemoryProvider,
)
from ricordo.hosts.maf.shaped import ShapedHistory, make_history_provider

__all__ = [
    "Ended",
    "GuardedProvider",
    "HybridCounts",
    "HybridHistory",
    "OrganizationMemoryProvider",
    "OwnedHistory",
    "RicordoProvider",
    "SessionWatch",
    "ShapedHistory",
    "ShortTermHistory",
    "UserMemoryProvider",
    "end_session",
    "identify",
    "make_history_provider",
    "make_mem0_context_provider",
    "make_memory_context_provider",
    "make_ricordo_context_provider",
    "new_session",
    "owner_of",
    "principal_of",
]
