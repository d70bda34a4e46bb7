"""Shows how a file is doing: as tables for a person, as one record for a script."""

from datetime import datetime

from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.reading_events import show_readers
from ricordo.hosts.cli.screen import Screen
from ricordo.hosts.cli.views import counts_view, reader_view, standing_view
from ricordo.memory.measuring import Latency
from ricordo.memory.portable import Record, scope_record, time_record
from ricordo.memory.stats import Probe, Stats
from ricordo.memory.viewing.views import Standing
from ricordo.model import Backlog, Scope
from ricordo.ports import BOUNDS

_BARS = "·▁▂▃▄▅▆▇█"
_ELSEWHERE = (
    "latencies are those of the process that took the time: memory.stats() in the running program, "
    "or its telemetry (setting `telemetry`); --probe N takes some here"
)
_SHARES = {"p50": 0.5, "p95": 0.95, "max": 1.0}


def stats_view(found: Stats, probe: Probe | None, *, scope: Scope | None, at: datetime) -> Record:
    """Everything that was counted; what is of the whole file only is left out of a scope's.

    Args:
        at: when it was counted.
    """
    census = found.census
    view: Record = {
        "scope": None if scope is None else scope_record(scope),
        "counts": counts_view(found.counts),
        "memories": [
            {"of": c.of, "kind": c.kind.value, "status": c.status.value, "count": c.count}
            for c in census.cells
        ],
        "partitions": {"count": census.partitions, "largest": census.largest},
        "backlog": _backlog(found.backlog),
        "outbox": {"events": census.events, "behind": census.behind},
    }
    if census.storage is not None:
        storage = census.storage
        view["bytes"] = {
            "file": storage.file,
            "log": storage.log,
            "free": storage.free,
            "index": found.index_bytes,
        }
        view["views"] = [standing_view(one) for one in found.views]
        view["readers"] = [reader_view(one, at=at) for one in found.readers]
    if census.own is not None:
        view["bytes"] = {"texts": census.own.texts, "index": census.own.index}
    view["latencies"] = {act: latency_view(took) for act, took in found.latencies.items()}
    if probe is not None:
        view["probe"] = {
            "recalls": probe.recalls,
            "degraded": probe.degraded,
            "visible": probe.visible,
            "ms": {stage: _quantiles(probe, stage) for stage in probe.stages},
        }
    return view


def _backlog(backlog: Backlog) -> Record:
    return {
        "waiting": backlog.waiting,
        "leased": backlog.leased,
        "parked": backlog.parked,
        "oldest": time_record(backlog.oldest),
        "oldest_leased": time_record(backlog.oldest_leased),
        "oldest_parked": time_record(backlog.oldest_parked),
    }


def _standing(view: Standing) -> tuple[str, str, str, str]:
    behind = "?" if view.behind is None else str(view.behind)
    state = (view.fault or "feeding") if view.configured else "switched off"
    return view.name, view.engine or "?", behind, state


def latency_view(took: Latency) -> Record:
    """How long one sort of act took; `buckets` counts by upper bound in milliseconds."""
    bounds = [*(f"{bound * 1_000:g}" for bound in BOUNDS), "more"]
    counted = zip(bounds, took.buckets, strict=True)
    return {
        "count": took.count,
        "failed": dict(took.failed),
        "ms": {name: round(took.quantile(share) * 1_000, 3) for name, share in _SHARES.items()},
        "buckets": {bound: count for bound, count in counted if count},
    }


def _show_latencies(screen: Screen, found: Stats) -> None:
    """Histograms of what this process did itself, or where those of others are."""
    if not found.latencies:
        screen.remark(_ELSEWHERE)
        return
    rows = [
        (
            act,
            str(took.count),
            *(f"{took.quantile(share) * 1_000:.1f}" for share in _SHARES.values()),
            _bars(took),
        )
        for act, took in found.latencies.items()
    ]
    least, most = (f"{bound * 1_000:g}" for bound in (BOUNDS[0], BOUNDS[-1]))
    screen.table(("act, ms", "count", *_SHARES, f"{least} … {most}"), rows)


def _bars(took: Latency) -> str:
    most = max(took.buckets, default=0) or 1
    return "".join(_BARS[-(-count * (len(_BARS) - 1) // most)] for count in took.buckets)


def _quantiles(probe: Probe, stage: str) -> dict[str, float]:
    return {name: round(probe.quantile(stage, share), 3) for name, share in _SHARES.items()}


def show_stats(
    here: Here, found: Stats, probe: Probe | None, *, scope: Scope | None, at: datetime
) -> None:
    """Tables of what there is; rows of nothing are left out."""
    screen, census = here.screen, found.census
    screen.line("whole file" if scope is None else str(scope), style="bold")
    rows: list[tuple[str, object]] = [
        (f"{c.of} {c.kind.value}s, {c.status.value}", c.count) for c in census.cells
    ]
    rows += counts_view(found.counts).items()
    rows += [("partitions in use", census.partitions), ("largest partition", census.largest)]
    rows += _backlog(found.backlog).items()
    if census.storage is not None:
        storage = census.storage
        rows += [
            ("bytes of the file", storage.file),
            ("bytes of its log", storage.log),
            ("bytes free in it", storage.free),
            ("bytes of the index here", found.index_bytes),
        ]
    if census.own is not None:
        rows += [("bytes of its texts", census.own.texts), ("bytes of its index", census.own.index)]
    screen.table(("what", "count"), [(name, str(count)) for name, count in rows if count])
    if found.views:
        columns = ("view", "engine", "behind", "state")
        screen.table(columns, [_standing(view) for view in found.views])
    if found.readers:
        show_readers(screen, found.readers, at=at)
    _show_latencies(screen, found)
    if probe is not None:
        screen.line(
            f"{probe.recalls} recalls among {probe.visible} memories, {probe.degraded} incomplete",
            style="bold",
        )
        screen.table(
            ("ms", *_SHARES),
            [
                (stage, *(f"{ms:.1f}" for ms in _quantiles(probe, stage).values()))
                for stage in probe.stages
            ],
        )
