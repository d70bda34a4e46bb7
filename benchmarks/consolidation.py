"""Does consolidation tidy up what has grown, without a recall getting worse?

    python -m benchmarks.consolidation [--quick] [--data DIR] [--json FILE]

Persons with memories of two years are generated, with the truth beside them
(`benchmarks/grown.py`): duplicates in other dress and in other words, twins that only look alike,
outdated values that entered under a vocabulary that did not know them to be single-valued, and
memories that nobody used. Counted before and after a pass: duplicates, wrong merges,
contradictions; and how often the evidence of a question is among the first k. With DIR (it holds
`locomo10.json`) the same on real conversations in which every fifth turn was said once more.
"""

import argparse
import asyncio
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from benchmarks.grown import Person, people
from benchmarks.report import Report
from benchmarks.talks import Talk, locomo
from benchmarks.vectors import DEFAULT, KeptEmbedder
from ricordo import Kind, Memory, Origin, Principal, Ricordo, Settings, Status, open_memory
from ricordo.access import user_scope
from ricordo.memory.vocabulary import Cardinality, Vocabulary
from ricordo.model import Listing, Relation
from ricordo.ports import Reading

TOP = (5, 10)
AT_ONCE = 64
SYSTEM = "ricordo"
PERMISSIVE = """
[relations.lives_in]
[relations.reports_to]
[relations.works_for]
[relations.works_on]
"""
"""A vocabulary that knows no single-valued relation: under it, contradictions enter."""


class Moving:
    """A clock that stands where it is set."""

    def __init__(self) -> None:
        self.at = datetime(2024, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.at += timedelta(microseconds=1)
        return self.at


async def fill(
    path: Path, persons: Sequence[Person], embedder: KeptEmbedder, clock: Moving
) -> dict[str, dict[str, tuple[str, str]]]:
    """Remember everything that was said; by person and memory id its truth and sort."""
    vocabulary = path.with_suffix(".toml")
    vocabulary.write_text(PERMISSIVE)
    settings = Settings(worker=False, vocabulary=vocabulary)
    truths: dict[str, dict[str, tuple[str, str]]] = {}
    texts = {statement.text for person in persons for _, statement in person.said}
    await embedder.documents(sorted(texts))
    for asked in {asked.text for person in persons for asked in person.asked}:
        await embedder.question(asked)
    end = max(at for person in persons for at, _ in person.said)
    async with open_memory(path, settings=settings, embedder=embedder, clock=clock) as memory:
        for person in persons:
            truths[person.name] = {}
            mine = memory.user(principal(person.name), agent="coder")
            for at, statement in person.said:
                clock.at = at
                stored = await mine.remember(
                    statement.text,
                    kind=Kind.PREFERENCE if statement.preference else Kind.FACT,
                    relations=statement.relations,
                    origin=Origin(at=at, agent="coder", thread_id=f"t{at:%Y%m%d}"),
                )
                truth = (statement.truth, statement.sort)
                truths[person.name].setdefault(stored.memory.id, truth)
                if statement.confidence < 1.0 and stored.created:
                    await _doubt(memory, stored.memory, statement.confidence)
                if statement.sort == "used":
                    lately = end - timedelta(days=10)
                    memory.services.journal.note([stored.memory], agent="coder", at=lately)
    return truths


async def _doubt(memory: Ricordo, known: Memory, confidence: float) -> None:
    """A model that was not sure: nothing that a person says outright is."""
    doubted = replace(known, confidence=confidence, version=known.version + 1)
    await memory.ledger.write(
        lambda tx: tx.put(doubted, indexed=None, space=None), scope=known.scope
    )


def principal(name: str) -> Principal:
    return Principal(tenant="benchmark", user=name)


async def active(memory: Ricordo, name: str) -> tuple[list[Memory], list[Relation]]:
    """A person's active memories, and the relations that hold."""
    scope = user_scope(principal(name))

    async def look(tx: Reading) -> tuple[list[Memory], list[Relation]]:
        ids = await tx.ids(Listing(statuses=(Status.ACTIVE,)), scope=scope)
        relations = await tx.relations_of(ids, scope=scope)
        return await tx.memories(ids, scope=scope), [r for r in relations if not r.closed_at]

    return await memory.ledger.read(look, scopes=[scope])


class Tally:
    """What is counted of all persons, at one time."""

    def __init__(self) -> None:
        self.memories = 0
        self.duplicates: Counter[str] = Counter()
        self.contradictions = 0
        self.demoted: Counter[str] = Counter()

    def add(
        self,
        memories: Sequence[Memory],
        relations: Sequence[Relation],
        truths: Mapping[str, tuple[str, str]],
    ) -> None:
        self.memories += len(memories)
        seen: set[tuple[str, Kind]] = set()
        for one in memories:
            truth, sort = truths[one.id]
            self.demoted[sort] += one.demoted_at is not None
            if (truth, one.kind) in seen:
                self.duplicates["paraphrase" if sort == "paraphrase" else "by rule"] += 1
            seen.add((truth, one.kind))
        single = Vocabulary.load().relations
        targets: dict[tuple[str, str], set[str]] = {}
        for each in relations:
            listed = single.get(each.type)
            if listed is not None and listed.cardinality is Cardinality.ONE:
                targets.setdefault((each.type, each.source), set()).add(each.target)
        self.contradictions += sum(len(found) - 1 for found in targets.values())


async def recalled(
    memory: Ricordo, persons: Sequence[Person], truths: Mapping[str, Mapping[str, tuple[str, str]]]
) -> tuple[dict[int, float], list[float]]:
    """How often the truth that answers a question is among the first k, and times in ms."""
    hits: dict[int, list[bool]] = {k: [] for k in TOP}
    times: list[float] = []
    for person in persons:
        mine = memory.user(principal(person.name), agent="coder")
        for asked in person.asked:
            started = time.perf_counter()
            found = await mine.recall(
                asked.text, limit=max(TOP), tokens=10**9, deadline=60, organization=False
            )
            times.append(1_000 * (time.perf_counter() - started))
            got = [truths[person.name][item.memory.id][0] for item in found.items]
            for k in TOP:
                hits[k].append(asked.truth in got[:k])
    await memory.services.journal.flush()
    return {k: 100 * float(np.mean(found)) for k, found in hits.items()}, times


async def grown(report: Report, embedder: KeptEmbedder, *, count: int, facts: int) -> None:
    """Before and after a pass over each person."""
    persons, clock = people(count, facts=facts), Moving()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "grown.db"
        truths = await fill(path, persons, embedder, clock)
        clock.at = max(at for person in persons for at, _ in person.said) + timedelta(days=1)
        settings = Settings(worker=False)
        async with open_memory(path, settings=settings, embedder=embedder, clock=clock) as memory:
            n = sum(len(person.said) for person in persons)
            before = await tally(memory, persons, truths)
            # The recalls are counted as use; so they are asked on a copy of the time before.
            score, idle = await recalled_apart(path, folder, persons, truths, embedder, clock)
            started = time.perf_counter()
            wrong = undecided = changes = 0
            for person in persons:
                done = await memory.user(principal(person.name)).consolidate()
                undecided += done.undecided
                changes += len(done.changes)
                for change in done.changes:
                    if change.act.value == "merged":
                        one, other = (
                            truths[person.name][each or ""][0]
                            for each in (change.memory_id, change.other_id)
                        )
                        wrong += one != other
            took = time.perf_counter() - started
            after = await tally(memory, persons, truths)
            then, _ = await recalled(memory, persons, truths)
            _say(report, before, after, wrong=wrong, undecided=undecided, n=n)
            asked = sum(len(person.asked) for person in persons)
            for k in TOP:
                report.add(f"{SYSTEM}, before", f"recall@{k}", score[k], "%", n=asked)
                report.add(f"{SYSTEM}, after", f"recall@{k}", then[k], "%", n=asked)
            report.add(SYSTEM, "memories_per_second", n / took, "1/s", n=n)
            report.add(SYSTEM, "changes", changes, "", n=n)
            await _busy(report, memory, persons, idle)


async def tally(
    memory: Ricordo, persons: Sequence[Person], truths: Mapping[str, Mapping[str, tuple[str, str]]]
) -> Tally:
    counted = Tally()
    for person in persons:
        counted.add(*await active(memory, person.name), truths[person.name])
    return counted


async def recalled_apart(
    path: Path,
    folder: str,
    persons: Sequence[Person],
    truths: Mapping[str, Mapping[str, tuple[str, str]]],
    embedder: KeptEmbedder,
    clock: Moving,
) -> tuple[dict[int, float], list[float]]:
    apart = Path(folder) / "before.db"
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(apart)) as target:
        source.backup(target)
    settings = Settings(worker=False)
    async with open_memory(apart, settings=settings, embedder=embedder, clock=clock) as memory:
        return await recalled(memory, persons, truths)


def _say(
    report: Report, before: Tally, after: Tally, *, wrong: int, undecided: int, n: int
) -> None:
    for when, found in (("before", before), ("after", after)):
        system = f"{SYSTEM}, {when}"
        report.add(system, "active_memories", found.memories, "", n=n)
        for sort in ("by rule", "paraphrase"):
            report.add(system, f"duplicates ({sort})", found.duplicates[sort], "", n=n)
        report.add(system, "contradictions", found.contradictions, "", n=n)
    report.add(SYSTEM, "wrong_merges", wrong, "", n=n)
    report.add(SYSTEM, "undecided", undecided, "", n=n)
    stale, used = after.demoted["stale"], after.demoted["used"]
    report.add(SYSTEM, "demoted (stale)", stale, "", n=n)
    report.add(SYSTEM, "demoted (unused)", after.demoted.total() - stale - used, "", n=n)
    report.add(SYSTEM, "demoted (used)", used, "", n=n)


async def _busy(
    report: Report, memory: Ricordo, persons: Sequence[Person], idle: Sequence[float]
) -> None:
    """Recalls of one person while another one's memory is put in order."""
    if len(persons) < 2:
        return
    mine = memory.user(principal(persons[0].name), agent="coder")
    other = memory.user(principal(persons[1].name))
    [last] = (await other.consolidations(limit=1)) or [None]
    if last is None:
        return
    await other.undo_consolidation(last.id)
    working = asyncio.create_task(other.consolidate())
    times: list[float] = []
    for asked in persons[0].asked:
        if working.done():
            break
        started = time.perf_counter()
        await mine.recall(asked.text, deadline=60, organization=False)
        times.append(1_000 * (time.perf_counter() - started))
    await working
    report.add(f"{SYSTEM}, idle", "recall_p50_ms", float(np.median(idle)), "ms", n=len(idle))
    if times:
        report.add(
            f"{SYSTEM}, during a pass", "recall_p50_ms", float(np.median(times)), "ms", n=len(times)
        )


async def conversations(report: Report, talks: Sequence[Talk], embedder: KeptEmbedder) -> None:
    """Every fifth turn once more, in other dress: evidence recall without it, with it, and after
    a pass."""
    scores: dict[str, list[list[float]]] = {}
    duplicates: Counter[str] = Counter()
    for talk in talks:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("as it was", "with duplicates", "after"):
                repeated = name != "as it was"
                path = Path(folder) / f"{name == 'as it was'}.db"
                settings = Settings(worker=False)
                async with open_memory(path, settings=settings, embedder=embedder) as memory:
                    user = memory.user(principal(talk.name))
                    if name != "after":
                        line_of = await _remember(talk, user, embedder, repeated=repeated)
                    else:
                        done = await user.consolidate()
                        duplicates["merged"] += done.counts.get("merged", 0)
                        duplicates["demoted"] += done.counts.get("demoted", 0)
                        duplicates["wrong"] += sum(
                            line_of[c.memory_id or ""] != line_of[c.other_id or ""]
                            for c in done.changes
                            if c.act.value == "merged"
                        )
                    if name == "with duplicates":
                        duplicates["injected"] += len(line_of) - len(set(line_of.values()))
                    for question in talk.questions:
                        found = await user.recall(
                            question.text, limit=max(TOP), tokens=10**9, deadline=60
                        )
                        got = [line_of[item.memory.id] for item in found.items]
                        scores.setdefault(name, []).append(
                            [
                                len(question.evidence & set(got[:k])) / len(question.evidence)
                                for k in TOP
                            ]
                        )
    for name, found in scores.items():
        for place, k in enumerate(TOP):
            value = 100 * float(np.mean([one[place] for one in found]))
            report.add(f"{SYSTEM}, {name}", f"LoCoMo recall@{k}", value, "%", n=len(found))
    for name, count in duplicates.items():
        report.add(SYSTEM, f"LoCoMo {name}", count, "", n=len(talks))


async def _remember(talk, user, embedder: KeptEmbedder, *, repeated: bool) -> dict[str, str]:
    line_of: dict[str, str] = {}
    said = [(line, line.text, line.at, line.thread) for line in talk.lines]
    if repeated:
        said += [
            (line, _dressed(line.text), line.at + timedelta(days=40), f"again-{line.thread}")
            for line in talk.lines[::5]
        ]
    await embedder.documents([text for _, text, _, _ in said])
    for start in range(0, len(said), AT_ONCE):
        some = said[start : start + AT_ONCE]
        stored = await asyncio.gather(
            *(user.remember(t, origin=Origin(at=at, thread_id=thread)) for _, t, at, thread in some)
        )
        for (line, *_), each in zip(some, stored, strict=True):
            line_of.setdefault(each.memory.id, line.id)
    return line_of


def _dressed(text: str) -> str:
    """The same words in quotes, with other spaces and marks."""
    return f"“{text.replace(', ', '  ,  ').replace(' the ', ' ')}”"


async def run(arguments: argparse.Namespace) -> Report:
    report = Report("consolidation")
    embedder = KeptEmbedder(arguments.vectors)
    count, facts = (2, 60) if arguments.quick else (6, 200)
    await grown(report, embedder, count=count, facts=facts)
    if arguments.data is not None:
        count = 1 if arguments.quick else arguments.talks
        talks = locomo(arguments.data / "locomo10.json", count=count)
        await conversations(report, talks, embedder)
    await embedder.close()
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two persons with few memories")
    parser.add_argument("--data", type=Path, help="folder of the public data sets")
    parser.add_argument("--talks", type=int, default=10, help="conversations of LoCoMo")
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--vectors", type=Path, default=DEFAULT, help="file that keeps vectors")
    arguments = parser.parse_args()
    asyncio.run(run(arguments)).finish(arguments.json)


if __name__ == "__main__":
    main()
