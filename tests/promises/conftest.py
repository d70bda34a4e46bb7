"""Every test of a promise runs on each ledger."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from ricordo import Ricordo, UserMemory
from tests.support.opening import Clock, opened, person


@pytest.fixture(autouse=True)
def _on_each_ledger(engine: str) -> None:
    """Nothing more than to ask for it."""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest_asyncio.fixture
async def memory(tmp_path: Path, clock: Clock) -> AsyncIterator[Ricordo]:
    async with opened(tmp_path, clock=clock) as each:
        yield each


@pytest.fixture
def coder(memory: Ricordo) -> UserMemory:
    return memory.user(person(), agent="coder")


@pytest.fixture
def me(memory: Ricordo) -> UserMemory:
    return memory.user(person())
