"""Promise 5 where connections are scarce: how often a recall reads, and what a fault costs."""

from pathlib import Path
from typing import Any

import pytest

from ricordo import EntityClaim, RelationClaim, Ricordo
from ricordo.adapters.local import LocalGraph
from ricordo.errors import Unavailable
from ricordo.ports import Walk
from tests.support.opening import opened, person

READER = person(reader=["platform"])


def claim(source: str, relation: str, target: str) -> RelationClaim:
    return RelationClaim(
        source=EntityClaim(name=source), relation=relation, target=EntityClaim(name=target)
    )


async def chain(memory: Ricordo) -> None:
    """Alice's project in her own graph, what it is built of in the organization's."""
    alice = memory.user(person(), agent="coder")
    await alice.remember(
        "Works on Project Falcon", relations=[claim("user", "works on", "Project Falcon")]
    )
    org = memory.organization(person("carla", curator=["platform"]))
    for text, *parts in (
        ("Project Falcon uses microservices", "Project Falcon", "uses", "microservices"),
        ("Microservices require a service mesh", "microservices", "requires", "service mesh"),
    ):
        await org.document(text, relations=[claim(*parts)])


def counted(memory: Ricordo) -> list[int]:
    """How many readings are begun from now on."""
    ledger: Any = memory.ledger
    read, begun = ledger.read, []

    async def reading(look: Any, *, scopes: Any) -> Any:
        begun.append(len(scopes))
        return await read(look, scopes=scopes)

    ledger.read = reading
    return begun


@pytest.mark.parametrize(
    "question",
    [
        "What does my project depend on?",
        "Microservices, what about them?",
        "Is there news of the works on Falcon",
        "The weather in Bern",
    ],
)
async def test_a_recall_reads_twice_whatever_it_finds(tmp_path: Path, question: str) -> None:
    """What there is and the walk from the question; then what was found, and the walk on from it.
    As often for one scope as for several."""
    async with opened(tmp_path) as memory:
        await chain(memory)
        ask = {"principal": READER, "agent": "coder", "deadline": 60}
        before = await memory.recall(question, **ask)
        begun = counted(memory)
        after = await memory.recall(question, **ask)
        assert len(begun) <= 2
        assert after.items == before.items


async def test_nothing_is_read_again_of_what_did_not_change(tmp_path: Path) -> None:
    """And what did change is read once more, and seen."""
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        await alice.remember("Likes green tea")
        await alice.recall("tea", deadline=60)
        begun = counted(memory)
        await alice.recall("tea", deadline=60)
        assert len(begun) == 2
        await alice.remember("Likes black tea")
        begun.clear()
        found = await alice.recall("tea", deadline=60)
        assert len(begun) == 3
        assert {each.memory.text for each in found.items} == {"Likes green tea", "Likes black tea"}


async def test_a_walk_that_fails_costs_nothing_but_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it is part of the reading that finds the memories."""

    async def broken(*_: Any, **__: Any) -> Walk:
        raise Unavailable("the connection was lost")

    async with opened(tmp_path) as memory:
        await chain(memory)
        monkeypatch.setattr(LocalGraph, "walk_on", broken)
        for question in ("What does my project depend on?", "Microservices, anything?"):
            found = await memory.recall(question, principal=READER, agent="coder", deadline=60)
            assert (found.degraded, found.faults) == (("graph",), {"graph": "Unavailable"})
            assert found.items, question
