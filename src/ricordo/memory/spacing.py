"""Which space texts are indexed in: known from the ledger, from a vector, or asked for.

An embedding endpoint that is away must not keep anybody from opening a memory, reading it or
deleting from it, so that the length of its vectors is not asked for before it is needed.
"""

from ricordo.model import Space
from ricordo.ports import Analyzer, Embedder, Ledger

_FLOAT = 4


class Spacing:
    """The space of one embedder and one analyzer, found out once."""

    def __init__(self, ledger: Ledger, *, embedder: Embedder, analyzer: Analyzer) -> None:
        self._ledger = ledger
        self._embedder = embedder
        self._words = analyzer.name
        self._known: Space | None = None

    async def __call__(self) -> Space:
        """The space as a vector told it, or the ledger, or else the embedder. Raises
        `Unavailable` when nobody can tell."""
        if self._known is None:
            stored = await self._stored()
            if self._known is None:  # no vector told it meanwhile
                self._known = stored or await self.asked()
        return self._known

    async def asked(self) -> Space:
        """The space as the embedder tells it. Raises `Unavailable`."""
        self._known = self._of(await self._embedder.dimension())
        return self._known

    def learn(self, vector: bytes) -> None:
        """Take it from a vector that the embedder has just made."""
        dimension = len(vector) // _FLOAT
        if self._known is None or self._known.dimension != dimension:
            self._known = self._of(dimension)

    async def _stored(self) -> Space | None:
        """The space of these names that the ledger knows; None where it knows none or several."""
        known = await self._ledger.spaces()
        mine = [space for space in known if space == self._of(space.dimension)]
        return mine[0] if len(mine) == 1 else None

    def _of(self, dimension: int) -> Space:
        return Space(
            model=self._embedder.model,
            dimension=dimension,
            transform=self._embedder.transform,
            words=self._words,
        )
