"""A vector view for the tests: Qdrant in this process, in a folder."""

from pathlib import Path

from ricordo.adapters.mem0 import Mem0View
from ricordo.memory.viewing.feeding import Feeder
from ricordo.memory.viewing.vectors import VectorSync
from ricordo.model import Space
from ricordo.ports import Ledger, ViewBuild
from ricordo.testing.naive import NOON, SPACE


def qdrant(folder: Path, build: ViewBuild, *, dimension: int) -> Mem0View:
    return Mem0View(
        {"provider": "qdrant", "config": {"path": str(folder / "qdrant"), "on_disk": True}},
        name=build.view,
        collection=f"ricordo_{build.build}",
        dimension=dimension,
        patience=60,
    )


async def fed(ledger: Ledger, folder: Path, *, space: Space = SPACE) -> tuple[Mem0View, Feeder]:
    """A new view, open, and what feeds it."""
    build = await ledger.enroll("vectors", sort="vectors", made_of=space.model)
    view = qdrant(folder, build, dimension=space.dimension)
    await view.open(create=False)
    sync = VectorSync(ledger, view, build, space=space)
    return view, Feeder(ledger, sync, clock=lambda: NOON, holder="test")
