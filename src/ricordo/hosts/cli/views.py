"""The shapes of `--json` beyond the records of an export: lists, pages, receipts, walks."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ricordo.memory.portable import (
    Record,
    memory_record,
    path_record,
    recollection_record,
    refusal_record,
    relation_record,
    revision_record,
    time_record,
)
from ricordo.memory.ranking import weights
from ricordo.model import Memory, Page, Receipt, Recollection, Relation, Revision

if TYPE_CHECKING:
    from ricordo.memory.records import Impact
    from ricordo.memory.storing import Stored
    from ricordo.memory.viewing.views import Standing
    from ricordo.ports import Reader, Walk


def items_view(items: Iterable[Record], *, cursor: str | None = None) -> Record:
    """Every list looks like this; without a cursor there is nothing more."""
    return {"items": list(items), "cursor": cursor}


def page_view(page: Page) -> Record:
    """One page of memories and the cursor for the next."""
    return items_view((memory_record(m) for m in page.memories), cursor=page.cursor)


def whole_view(
    memory: Memory, history: Sequence[Revision], relations: Sequence[Relation]
) -> Record:
    """A memory with its earlier texts and its relations."""
    return {
        **memory_record(memory),
        "history": [revision_record(r) for r in history],
        "relations": [relation_record(r) for r in relations],
    }


def stored_view(stored: "Stored") -> Record:
    """What was stored, whether it is new, and which relations were admitted or refused."""
    return {
        **memory_record(stored.memory),
        "created": stored.created,
        "relations": [relation_record(r) for r in stored.relations],
        "refusals": [refusal_record(r) for r in stored.refusals],
    }


def recollection_view(found: Recollection, *, explain: bool = False) -> Record:
    """Everything that was found for a question; with `explain` what its signals count."""
    explained = {"weights": weights()} if explain else {}
    return {"cursor": None, **recollection_record(found), **explained}


def walk_view(walk: "Walk") -> Record:
    """What a walk reached."""
    return {**items_view(path_record(path) for path in walk.paths), "capped": walk.capped}


def impact_view(memory_id: str, impact: "Impact") -> Record:
    """What forgetting a fact would touch."""
    return {
        "id": memory_id,
        "memories": impact.memories,
        "relations": impact.relations,
        "entities": list(impact.entities),
        "recalls": impact.recalls,
        "last_recalled_at": time_record(impact.last_recalled_at),
    }


def receipt_view(receipt: Receipt) -> Record:
    """Proof of an erasure."""
    return {
        "subject": receipt.subject,
        "erased_at": time_record(receipt.erased_at),
        "clean": receipt.clean,
        "removed": counts_view(receipt.removed),
        "remaining": counts_view(receipt.remaining),
        "outside": dict(sorted(receipt.outside.items())),
        "log_cleared": receipt.log_cleared,
        "pending": list(receipt.pending),
    }


def standing_view(view: "Standing") -> Record:
    """How a view outside is doing."""
    return {
        "view": view.name,
        "sort": view.sort,
        "build": view.build,
        "engine": view.engine or None,
        "place": view.place or None,
        "behind": view.behind,
        "fault": view.fault,
        "configured": view.configured,
    }


def reader_view(reader: "Reader", *, at: datetime) -> Record:
    """Who reads events, and what waits for them."""
    return {
        "reader": reader.name,
        "state": reader_state(reader, at=at),
        "position": reader.position,
        "behind": reader.behind,
        "waiting_since": time_record(reader.waiting_since),
        "seen": time_record(reader.seen),
        "retired_at": time_record(reader.retired_at),
        "missed": reader.missed,
    }


def reader_state(reader: "Reader", *, at: datetime) -> str:
    """In a word, how a reader is doing."""
    if reader.retired_at is not None:
        return "retired"
    if reader.at_work(at):
        return "at work"
    return "away" if reader.behind else "up to date"


def counts_view(counts: Mapping[str, int]) -> dict[str, Any]:
    """Counts by name, in order."""
    return {name: counts[name] for name in sorted(counts)}
