"""Random work on a ledger, compared step by step with what plain Python would remember.

On a server with fewer histories, for each step takes many messages.
"""

import asyncio
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ricordo.errors import Conflict
from ricordo.model import Batch, Kind, Memory, Partition, Scope, Status, Turn, UserScope
from ricordo.ports import Ledger, Rows
from ricordo.testing.ledger import HandClock
from ricordo.testing.ledger.making import (
    SPACE,
    entity,
    graph,
    indexed,
    memory,
    relation,
    rows,
    sound,
    stored,
    turn,
)
from tests.support.ledgers import ledger
from tests.support.postgres import Server

SCOPES: tuple[Scope, ...] = (
    UserScope(tenant="a", user="x"),
    UserScope(tenant="a", user="y"),
    UserScope(tenant="b", user="x"),
)
scopes = st.sampled_from(SCOPES)
picks = st.integers(0, 10**6)
TEXTS = tuple(f"text {number}" for number in range(6))
statuses = st.sampled_from(Status)
UNIQUE = (Status.ACTIVE, Status.PROPOSED, Status.REJECTED)
VISIBLE = (Status.ACTIVE, Status.SUPERSEDED)


class LedgerMachine(RuleBasedStateMachine):
    """The ledger, and beside it dictionaries and lists that say what it should hold."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.prepare()
        self.clock = HandClock()
        self.runner = asyncio.Runner()
        self.ledger = self.do(self.opened())
        self.memories: dict[Scope, dict[str, Memory]] = {scope: {} for scope in SCOPES}
        self.waiting: dict[Scope, list[str]] = {scope: [] for scope in SCOPES}
        self.accepted: dict[Scope, set[str]] = {scope: set() for scope in SCOPES}
        self.held: list[Batch] = []
        self.parked: dict[Scope, dict[int, str]] = {scope: {} for scope in SCOPES}
        self.caches: dict[Scope, tuple[int, set[str]]] = {scope: (0, set()) for scope in SCOPES}
        self.runs = 0

    def do(self, work: Any) -> Any:
        return self.runner.run(work)

    def prepare(self) -> None:
        """Make ready what is opened: here, a file."""

    async def opened(self) -> Ledger:
        self.opening = ledger(self.folder, clock=self.clock)
        return await self.opening.__aenter__()

    def closed(self) -> None:
        self.do(self.opening.__aexit__(None, None, None))

    def teardown(self) -> None:
        self.do(sound(self.ledger))
        self.closed()
        self.runner.close()
        shutil.rmtree(self.folder)

    def pick(self, scope: Scope, number: int) -> Memory | None:
        held = sorted(self.memories[scope].values(), key=lambda each: each.id)
        return held[number % len(held)] if held else None

    def put(self, each: Memory, *, index: bool) -> None:
        """Put, and expect a conflict exactly where another memory holds the text."""
        mine = self.memories[each.scope]
        taken = each.status in UNIQUE and any(
            other.digest == each.digest and other.status in UNIQUE
            for other in mine.values()
            if other.id != each.id
        )
        row, space = (indexed(1), SPACE) if index else (None, None)
        work = self.ledger.write(
            lambda tx: tx.put(each, indexed=row, space=space), scope=each.scope
        )
        if taken:
            with pytest.raises(Conflict):
                self.do(work)
        else:
            self.do(work)
            mine[each.id] = each

    @rule(scope=scopes, text=st.sampled_from(TEXTS), status=statuses)
    def add(self, scope: Scope, text: str, status: Status) -> None:
        at = self.clock.forward(1)
        self.put(memory(text, scope=scope, status=status, at=at), index=True)

    @rule(scope=scopes, number=picks, text=st.sampled_from(TEXTS), status=statuses)
    def change(self, scope: Scope, number: int, text: str, status: Status) -> None:
        known = self.pick(scope, number)
        if known is not None:
            changed = replace(known, text=text, status=status, version=known.version + 1)
            self.put(changed, index=text != known.text)

    @rule(scope=scopes, number=picks)
    def relate(self, scope: Scope, number: int) -> None:
        known = self.pick(scope, number)
        if known is not None:
            self.runs += 1
            ends = [entity(f"{end} {self.runs}", scope=scope) for end in "ab"]
            self.do(graph(self.ledger, ends, [relation(*ends, known, origins=known.origins)]))

    @rule(scope=scopes, number=picks)
    def remove(self, scope: Scope, number: int) -> None:
        known = self.pick(scope, number)
        if known is not None:
            self.do(self.ledger.write(lambda tx: tx.remove([known.id], scope=scope), scope=scope))
            del self.memories[scope][known.id]

    @rule(scope=scopes)
    def erase(self, scope: Scope) -> None:
        at = self.clock.forward(1)
        self.do(self.ledger.write(lambda tx: tx.erase(scope=scope, at=at), scope=scope))
        assert not any(self.do(self.ledger.counts(scope=scope)).values())
        self.memories[scope].clear()
        self.waiting[scope].clear()
        self.accepted[scope].clear()
        self.parked[scope].clear()
        self.caches[scope] = (0, set())
        self.held = [batch for batch in self.held if batch.scope != scope]
        self.clock.forward(1)

    @rule(scope=scopes, again=st.booleans(), number=picks)
    def accept(self, scope: Scope, again: bool, number: int) -> None:
        known = sorted(self.accepted[scope])
        if again and known:
            run = known[number % len(known)]
        else:
            self.runs += 1
            run = f"{self.runs:05}"
        fresh = self.do(self.ledger.accept(turn(run, at=self.clock.now), scope=scope))
        assert fresh == (run not in self.accepted[scope])
        if fresh:
            self.waiting[scope].append(run)
            self.accepted[scope].add(run)

    @rule(size=st.integers(1, 3))
    def claim(self, size: int) -> None:
        at = self.clock.now
        batch = self.do(self.ledger.claim(at=at, size=size, patience=0, lease=60))
        busy = {each.scope for each in self.held}
        ready = [scope for scope in SCOPES if self.waiting[scope] and scope not in busy]
        assert (batch is not None) == bool(ready)
        if batch is not None:
            assert batch.scope in ready
            expected = self.waiting[batch.scope][:size]
            assert [run_of(job) for job in batch.jobs] == expected
            self.held.append(batch)

    @precondition(lambda self: self.held)
    @rule(number=picks, how=st.sampled_from(["finish", "retry", "park"]))
    def settle(self, number: int, how: str) -> None:
        batch = self.held.pop(number % len(self.held))
        done = [run_of(job) for job in batch.jobs]
        if how == "retry":
            self.do(self.ledger.retry(batch, at=self.clock.now))
            return
        if how == "finish":
            self.do(self.ledger.write(lambda tx: tx.finish(batch), scope=batch.scope))
        else:
            self.do(self.ledger.park(batch, reason="no", at=self.clock.now))
            self.parked[batch.scope] |= {job.id: run_of(job) for job in batch.jobs}
        self.waiting[batch.scope] = [r for r in self.waiting[batch.scope] if r not in done]

    @rule(scope=scopes, number=picks)
    def replay(self, scope: Scope, number: int) -> None:
        found = sorted(self.parked[scope].items())
        busy = {each.scope for each in self.held}
        if found and scope not in busy:
            job_id, run = found[number % len(found)]
            self.do(self.ledger.replay(job_id, scope=scope))
            del self.parked[scope][job_id]
            self.waiting[scope] = sorted([*self.waiting[scope], run])

    @precondition(lambda self: self.held)
    @rule()
    def die(self) -> None:
        """Every lease runs out; whoever held one has lost it."""
        self.clock.forward(61)
        for batch in self.held:
            with pytest.raises(Conflict):
                self.do(self.ledger.write(lambda tx, b=batch: tx.finish(b), scope=batch.scope))
        self.held.clear()

    @rule()
    def reopen(self) -> None:
        self.closed()
        self.ledger = self.do(self.opened())

    @invariant()
    def memories_are_as_expected(self) -> None:
        for scope, held in self.memories.items():
            found = self.do(stored(self.ledger, *held, scope=scope))
            assert {each.id: each for each in found} == held

    @invariant()
    def caches_keep_up(self) -> None:
        """A cache that asks for changes only comes to hold what is there."""
        for scope, held in self.memories.items():
            since, ids = self.caches[scope]
            partition = Partition(scope=scope, kind=Kind.FACT)
            changed: Rows = self.do(rows(self.ledger, since=since or None, of=partition))
            ids = set() if changed.complete else ids - set(changed.removed)
            ids |= set(changed.ids)
            self.caches[scope] = (changed.generation, ids)
            assert ids == {each.id for each in held.values() if each.status in VISIBLE}

    @invariant()
    def the_backlog_is_as_expected(self) -> None:
        for scope in SCOPES:
            backlog = self.do(self.ledger.backlog(scope=scope))
            held = sum(len(batch.jobs) for batch in self.held if batch.scope == scope)
            assert backlog.leased >= held
            assert backlog.waiting + backlog.leased == len(self.waiting[scope])
            assert backlog.parked == len(self.parked[scope])


def run_of(job: Any) -> str:
    assert isinstance(job.work, Turn)
    return job.work.run_id.removeprefix("run-")


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)


def test_random_work_on_a_server(first_postgres: Server) -> None:
    """The same, in a database."""

    class OnServer(LedgerMachine):
        def prepare(self) -> None:
            self.database = first_postgres.ledger()
            (self.folder / "address").write_text(first_postgres.url(self.database))

        def teardown(self) -> None:
            super().teardown()
            first_postgres.give_back(self.database)

    run_state_machine_as_test(
        OnServer, settings=settings(max_examples=4, stateful_step_count=25, deadline=None)
    )
