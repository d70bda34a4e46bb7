"""How a memory is doing: counts and sizes, what waits, and how long things take."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ricordo.errors import Invalid
from ricordo.memory.measuring import Latency
from ricordo.memory.recall import Recaller
from ricordo.memory.run import Ask
from ricordo.memory.services import Services
from ricordo.memory.viewing.views import Standing
from ricordo.model import Backlog, Census, Principal, Scope
from ricordo.ports import Reader

MOST_PROBES = 1_000

_QUESTIONS = (
    "What am I working on at the moment?",
    "Was haben wir beim letzten Mal beschlossen?",
    "Comment faut-il écrire les exemples ?",
    "Chi si occupa della sicurezza?",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """How a memory is doing. Numbers only: no id and no text.

    Args:
        counts: rows by place.
        census: memories by cell, kind and status; partitions, events, sizes.
        backlog: what waits in the queue.
        index_bytes: held in this process for searching, about.
        latencies: by act, of this process since the memory was opened.
        counted: what went wrong or was spent, of this process.
        views: the views outside, where the whole ledger is counted.
        readers: who reads events under a name, where the whole ledger is counted.
    """

    counts: Mapping[str, int]
    census: Census
    backlog: Backlog
    index_bytes: int
    latencies: Mapping[str, Latency] = field(default_factory=dict[str, Latency])
    counted: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    views: tuple[Standing, ...] = ()
    readers: tuple[Reader, ...] = ()


async def stats(services: Services, *, scope: Scope | None = None) -> Stats:
    """Count the whole ledger (an operator's view), or one scope."""
    ledger = services.ledger
    return Stats(
        counts=await ledger.counts(scope=scope),
        census=await ledger.census(scope=scope),
        backlog=await ledger.backlog(scope=scope),
        index_bytes=services.index.memory_used,
        latencies=services.measures.latencies(),
        counted=services.measures.counts(),
        views=tuple(await services.views.standing()) if scope is None else (),
        readers=tuple(await ledger.readers()) if scope is None else (),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """How long some recalls took.

    Args:
        recalls: how many there were.
        degraded: how many went without something.
        visible: memories that the last one could have found.
        stages: milliseconds of each recall, by stage; ``total`` is all of it.
    """

    recalls: int
    degraded: int
    visible: int
    stages: Mapping[str, Sequence[float]]

    def quantile(self, stage: str, share: float) -> float:
        """Milliseconds within which that share of the recalls was through the stage."""
        ordered = sorted(self.stages[stage])
        return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


async def probe(
    services: Services,
    *,
    principal: Principal,
    agent: str | None,
    times: int,
    deadline: float | None = None,
) -> Probe:
    """Recall some questions of our own, to see how long it takes; none counts as a recall.

    Raises:
        Invalid: `times` is not between 1 and 1,000.
    """
    if not 1 <= times <= MOST_PROBES:
        raise Invalid(f"{times} probes; ask for 1 to {MOST_PROBES:,}")
    recaller = Recaller(services)
    stages: dict[str, list[float]] = {}
    degraded = visible = 0
    for number in range(times):
        # Numbered, for an embedder may remember what it was asked a moment ago.
        question = f"{_QUESTIONS[number % len(_QUESTIONS)]} ({number + 1})"
        found = await recaller.recall(
            Ask(
                question=question,
                principal=principal,
                agent=agent,
                deadline=deadline,
                noted=False,
            )
        )
        degraded += bool(found.degraded)
        visible = found.visible
        for stage, ms in (("total", found.took_ms), *found.stages.items()):
            stages.setdefault(stage, []).append(ms)
    return Probe(recalls=times, degraded=degraded, visible=visible, stages=stages)
