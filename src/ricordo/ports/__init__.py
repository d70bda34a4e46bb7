"""The roles that engines play. Adapters implement them; the use cases know nothing else.

`Ledger` is the only source of truth. A piece of work runs inside one of its transactions as a
coroutine function that receives a `Reading` or `Writing` and awaits nothing else: an adapter may
run it on another thread, and may run it again when the engine asks for a retry. So the work must
touch no event loop and must have no effect outside the transaction; a look may at most say early,
in a way that suits threads, what it found.

Every storage method takes `scope`, keyword-only and without default, and refuses one that the
transaction was not opened for.
"""

from ricordo.ports.asking import Answer, Request, Requests, Verifier
from ricordo.ports.consolidating import PassReading, PassWriting, Tending
from ricordo.ports.exchange import Delivery, Exchange
from ricordo.ports.feeding import Feeding, GraphChanges, Mark, ViewBuild, ViewReading
from ricordo.ports.history import Glance, HistoryCache, Outside
from ricordo.ports.indexes import GraphIndex, RowGraph, VectorIndex, Walk
from ricordo.ports.ledger import Finding, Ledger, Look, Unindexed, Upkeep, Work
from ricordo.ports.models import (
    Analyzer,
    Candidate,
    Embedder,
    EventBus,
    Extraction,
    Extractor,
    Instructions,
    StatedRelation,
)
from ricordo.ports.offices import Offices
from ricordo.ports.queue import QUIET, RECENT, Heard, Outbox, Queue, Reader
from ricordo.ports.rows import PartitionState, Rows
from ricordo.ports.searching import Drawn, Excerpt, Searchable, Searching, SearchingLedger
from ricordo.ports.signs import Sign, Signs
from ricordo.ports.streams import EventStream, Reached
from ricordo.ports.telemetry import BOUNDS, Act, Count, Fact, Level, Span, Telemetry, Told
from ricordo.ports.transaction import Reading, Writing
from ricordo.ports.views import (
    Edge,
    EdgeSeen,
    GraphView,
    Node,
    Place,
    Point,
    VectorView,
    View,
)
from ricordo.ports.walking import Link, Walking

__all__ = [
    "BOUNDS",
    "QUIET",
    "RECENT",
    "Act",
    "Analyzer",
    "Answer",
    "Candidate",
    "Count",
    "Delivery",
    "Drawn",
    "Edge",
    "EdgeSeen",
    "Embedder",
    "EventBus",
    "EventStream",
    "Excerpt",
    "Exchange",
    "Extraction",
    "Extractor",
    "Fact",
    "Feeding",
    "Finding",
    "Glance",
    "GraphChanges",
    "GraphIndex",
    "GraphView",
    "Heard",
    "HistoryCache",
    "Instructions",
    "Ledger",
    "Level",
    "Link",
    "Look",
    "Mark",
    "Node",
    "Offices",
    "Outbox",
    "Outside",
    "PartitionState",
    "PassReading",
    "PassWriting",
    "Place",
    "Point",
    "Queue",
    "Reached",
    "Reader",
    "Reading",
    "Request",
    "Requests",
    "RowGraph",
    "Rows",
    "Searchable",
    "Searching",
    "SearchingLedger",
    "Sign",
    "Signs",
    "Span",
    "StatedRelation",
    "Telemetry",
    "Tending",
    "Told",
    "Unindexed",
    "Upkeep",
    "VectorIndex",
    "VectorView",
    "Verifier",
    "View",
    "ViewBuild",
    "ViewReading",
    "Walk",
    "Walking",
    "Work",
    "Writing",
]
