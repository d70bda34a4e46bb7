"""Promises 1, 2, 3 and 11 against an oracle: random people, agents, departments and acts.

The oracle is the visibility table as plain Python sets. After every act whoever asks must see
exactly what the oracle says: by listing, by id, by recall and by walking the graph. The number of
operations is set by RICORDO_ISOLATION_OPERATIONS (20,000 unless set).
"""

import asyncio
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from ricordo import EntityClaim, Kind, Listing, Principal, RelationClaim
from ricordo.access import grants_of
from ricordo.errors import Denied, NotFound
from tests.support.opening import opened
from tests.support.postgres import Server

OPERATIONS = int(os.environ.get("RICORDO_ISOLATION_OPERATIONS", "20000"))
STEPS = 80

TENANTS = ("acme", "acme2", "*", "%")
USERS = ("alice", "Alice", "bob", "*", "alice'--")
AGENTS = ("coder", "helper", "*")
NAMESPACES = (None, "platform", "hr", "%")
TOPICS = ("falcon", "espresso", "chess", "basel", "cello", "invoice")
ENTITIES = ("Project Falcon", "Basel", "Chess Club", "user")


@dataclass
class Item:
    """What the oracle knows of a memory."""

    id: str
    tenant: str
    text: str
    user: str | None = None
    agent: str | None = None
    namespace: str | None = None
    kind: Kind = Kind.FACT
    targets: set[str] = field(default_factory=set)


@dataclass
class Oracle:
    """Who sees what, as plain sets."""

    items: dict[str, Item] = field(default_factory=dict)
    grants: dict[tuple[str, str], frozenset[str | None]] = field(default_factory=dict)

    def private(self, tenant: str, user: str, agent: str | None) -> set[str]:
        return {
            item.id
            for item in self.items.values()
            if item.user == user
            and item.tenant == tenant
            and (item.kind is Kind.FACT or agent is None or item.agent == agent)
        }

    def shared(self, tenant: str, user: str) -> set[str]:
        granted = self.grants.get((tenant, user), frozenset())
        return {
            item.id
            for item in self.items.values()
            if item.user is None and item.tenant == tenant and item.namespace in granted
        }


tenants = st.sampled_from(TENANTS)
users = st.sampled_from(USERS)
agents = st.sampled_from(AGENTS)
askers = st.one_of(st.none(), agents)
namespaces = st.sampled_from(NAMESPACES)
texts = st.builds(
    lambda topic, number: f"Something about {topic} number {number}",
    st.sampled_from(TOPICS),
    st.integers(0, 6),
)


class People(RuleBasedStateMachine):
    """One memory, many people."""

    done = 0

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
        self.prepare()
        self.runner = asyncio.Runner()
        self.opening = opened(self.folder)
        self.memory = self.runner.run(self.opening.__aenter__())
        self.oracle = Oracle()

    def prepare(self) -> None:
        """Make ready what is opened: here, a file."""

    def teardown(self) -> None:
        self.runner.run(self.opening.__aexit__(None, None, None))
        self.runner.close()
        shutil.rmtree(self.folder)

    def do(self, coroutine):
        type(self).done += 1
        return self.runner.run(coroutine)

    def principal(self, tenant: str, user: str) -> Principal:
        granted = self.oracle.grants.get((tenant, user), frozenset())
        return Principal(tenant=tenant, user=user, grants=grants_of(curator=sorted_names(granted)))

    @initialize()
    def nobody_sees_anything(self) -> None:
        assert not self.do(self.memory.user(self.principal("acme", "alice")).list()).memories

    @rule(tenant=tenants, user=users, granted=st.frozensets(namespaces, max_size=3))
    def grant(self, tenant: str, user: str, granted: frozenset[str | None]) -> None:
        self.oracle.grants[tenant, user] = granted

    @rule(
        tenant=tenants,
        user=users,
        agent=agents,
        kind=st.sampled_from(Kind),
        text=texts,
        known=st.sampled_from((None, *ENTITIES[:3])),
    )
    def remember(self, tenant, user, agent, kind, text, known) -> None:
        mine = self.memory.user(self.principal(tenant, user), agent=agent)
        target = known if kind is Kind.FACT else None
        stored = self.do(
            mine.remember(text, kind=kind, relations=[claim("user", target)] if target else [])
        )
        before = self.oracle.items.get(stored.memory.id)
        assert stored.created == (before is None), "the same again is the same memory"
        if before is None:
            self.oracle.items[stored.memory.id] = Item(
                stored.memory.id,
                tenant,
                text,
                user=user,
                agent=agent,
                kind=kind,
                targets={target} - {None},
            )
            return
        assert (before.tenant, before.user, before.kind, before.text) == (tenant, user, kind, text)
        assert kind is Kind.FACT or before.agent == agent
        before.targets |= {target} - {None}

    @rule(tenant=tenants, user=users, namespace=namespaces, text=texts)
    def document(self, tenant, user, namespace, text) -> None:
        org = self.memory.organization(self.principal(tenant, user), namespace=namespace)
        if namespace not in self.oracle.grants.get((tenant, user), frozenset()):
            with pytest.raises(Denied):
                self.do(org.document(text))
            return
        stored = self.do(org.document(text, relations=[claim("Project Falcon", "Basel")]))
        self.oracle.items.setdefault(
            stored.memory.id, Item(stored.memory.id, tenant, text, namespace=namespace)
        )

    @rule(tenant=tenants, user=users, agent=askers)
    def list_everything(self, tenant, user, agent) -> None:
        mine = self.memory.user(self.principal(tenant, user), agent=agent)
        page = self.do(mine.list(Listing(limit=1_000)))
        assert {m.id for m in page.memories} == self.oracle.private(tenant, user, agent)

    @rule(tenant=tenants, user=users, namespace=namespaces)
    def list_namespace(self, tenant, user, namespace) -> None:
        org = self.memory.organization(self.principal(tenant, user), namespace=namespace)
        if namespace not in self.oracle.grants.get((tenant, user), frozenset()):
            with pytest.raises(Denied):
                self.do(org.list())
            return
        page = self.do(org.list(Listing(limit=1_000)))
        visible = self.oracle.shared(tenant, user)
        expected = {i for i in visible if self.oracle.items[i].namespace == namespace}
        assert {m.id for m in page.memories} == expected

    @rule(tenant=tenants, user=users, agent=askers, text=texts)
    def recall(self, tenant, user, agent, text) -> None:
        found = self.do(
            self.memory.recall(
                f"What about {text}? And my project?",
                principal=self.principal(tenant, user),
                agent=agent,
                limit=100,
                tokens=100_000,
                deadline=30,
            )
        )
        visible = self.oracle.private(tenant, user, agent) | self.oracle.shared(tenant, user)
        seen = {item.memory.id for item in found.items}
        assert not found.degraded
        assert seen <= visible, "recall shows only what the table allows"
        assert found.visible == len(visible), "and counts only that"
        missing = {i for i in visible - seen if self.oracle.items[i].text == text}
        texts_seen = {self.oracle.items[i].text for i in seen}
        assert not missing or text in texts_seen, "what was stored word for word comes back"

    @rule(tenant=tenants, user=users, agent=askers, data=st.data())
    def by_id(self, tenant, user, agent, data) -> None:
        if not self.oracle.items:
            return
        memory_id = data.draw(st.sampled_from(sorted(self.oracle.items)))
        mine = self.memory.user(self.principal(tenant, user), agent=agent)
        if memory_id in self.oracle.private(tenant, user, agent):
            assert self.do(mine.get(memory_id)).text == self.oracle.items[memory_id].text
            return
        for attempt in (
            mine.get(memory_id),
            mine.edit(memory_id, text="taken over"),
            mine.pin(memory_id),
            mine.history(memory_id),
        ):
            with pytest.raises(NotFound):
                self.do(attempt)
        assert self.do(mine.forget(memory_id)) == 0, "another's memory is not forgotten by guessing"

    @rule(tenant=tenants, user=users, agent=askers, data=st.data())
    def forget(self, tenant, user, agent, data) -> None:
        own = sorted(self.oracle.private(tenant, user, agent))
        if own:
            memory_id = data.draw(st.sampled_from(own))
            mine = self.memory.user(self.principal(tenant, user), agent=agent)
            assert self.do(mine.forget(memory_id)) == 1
            assert self.do(mine.forget(memory_id)) == 0
            del self.oracle.items[memory_id]

    @rule(tenant=tenants, user=users, agent=agents)
    def forget_agent(self, tenant, user, agent) -> None:
        gone = {
            item.id
            for item in self.oracle.items.values()
            if (item.tenant, item.user, item.agent) == (tenant, user, agent)
            and item.kind is Kind.PREFERENCE
        }
        mine = self.memory.user(self.principal(tenant, user))
        assert self.do(mine.forget_where(agent=agent)) == len(gone)
        for memory_id in gone:
            del self.oracle.items[memory_id]

    @rule(tenant=tenants, user=users)
    def explore(self, tenant, user) -> None:
        walk = self.do(self.memory.user(self.principal(tenant, user)).explore("user", hops=1))
        reached = {path.end for path in walk.paths}
        own = self.oracle.private(tenant, user, None)
        assert reached == {name for i in own for name in self.oracle.items[i].targets}

    @rule(tenant=tenants, user=users, sure=st.integers(0, 4))
    def erase(self, tenant, user, sure) -> None:
        if sure:
            return
        receipt = self.do(self.memory.user(self.principal(tenant, user)).erase())
        assert receipt.clean, receipt
        for memory_id in self.oracle.private(tenant, user, None):
            del self.oracle.items[memory_id]


def claim(source: str, target: str) -> RelationClaim:
    return RelationClaim(
        source=EntityClaim(name=source), relation="related to", target=EntityClaim(name=target)
    )


def sorted_names(granted: frozenset[str | None]) -> list[str | None]:
    return sorted(granted, key=lambda name: name or "")


@pytest.mark.timeout(1_200)
def test_nobody_sees_more_or_less_than_the_table_says() -> None:
    """Promises 1, 2, 3, 11: random acts against the oracle find no leak and no loss."""
    _act(People, operations=OPERATIONS)


@pytest.mark.timeout(1_200)
def test_nobody_sees_more_or_less_on_a_server(first_postgres: Server) -> None:
    """The same in a database, with a twentieth of the acts, for each takes several messages."""

    class OnServer(People):
        def prepare(self) -> None:
            self.database = first_postgres.ledger()
            (self.folder / "address").write_text(first_postgres.url(self.database))

        def teardown(self) -> None:
            super().teardown()
            first_postgres.give_back(self.database)

    _act(OnServer, operations=OPERATIONS // 20)


def _act(people: type[People], *, operations: int) -> None:
    """Histories of at most `STEPS` acts, until there were enough: their length is drawn."""
    people.done = 0
    while people.done < operations:
        run_state_machine_as_test(
            people,
            settings=settings(
                max_examples=max(1, (operations - people.done) // STEPS),
                stateful_step_count=STEPS,
                deadline=None,
                database=None,
                print_blob=True,
                suppress_health_check=list(HealthCheck),
            ),
        )
    print(f"{people.done:,} operations")
