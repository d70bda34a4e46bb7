"""`ViewedIndex` keeps the promises of `VectorIndex` with a real view, after catching up."""

from collections.abc import AsyncIterator
from importlib.metadata import version
from pathlib import Path

import pytest

from ricordo.adapters.local import LocalIndex
from ricordo.adapters.local.viewed import ViewedIndex
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.model import Space
from ricordo.testing.index import IndexBench, VectorIndexSuite
from ricordo.testing.naive import NOON, SPACE
from tests.support.engines import runs_on
from tests.support.vectors import fed
from tests.support.viewing import FedIndex


@pytest.fixture
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[IndexBench]:
    path = tmp_path / "memory.db"
    async with (
        SqliteLedger.open(path, clock=lambda: NOON) as ledger,
        SqliteLedger.open(path, clock=lambda: NOON) as elsewhere,
        LocalIndex(ledger, space=SPACE) as inner,
    ):
        view, feeder = await fed(ledger, tmp_path)
        server = f"Qdrant in process ({version('qdrant-client')})"
        runs_on(
            request, port="VectorIndex", adapter=f"mem0 {version('mem0ai')}, fed", server=server
        )

        def make(space: Space) -> FedIndex:
            index = ViewedIndex(
                inner if space == SPACE else LocalIndex(ledger, space=space),
                ledger,
                space=space,
                serving=lambda: (view, feeder.sync.build),
                least=1,
                patience=60,
            )
            return FedIndex(index, feeder)

        yield IndexBench(ledger=ledger, elsewhere=elsewhere, index=make(SPACE), make=make)
        await view.close()


class TestViewedIndex(VectorIndexSuite):
    """All promises, with Qdrant in this process finding by meaning."""
