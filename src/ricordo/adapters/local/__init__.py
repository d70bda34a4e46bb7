"""In-process engines over any ledger: index, graph walk and event bus."""

from ricordo.adapters.local.copies import LocalHistoryCache
from ricordo.adapters.local.events import LocalEvents, Subscription
from ricordo.adapters.local.graph import LocalGraph
from ricordo.adapters.local.index import LocalIndex

__all__ = ["LocalEvents", "LocalGraph", "LocalHistoryCache", "LocalIndex", "Subscription"]
