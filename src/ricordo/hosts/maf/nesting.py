"""Runs inside runs: an agent that is called as a tool hears a model's words, not a person's.

While a tool of a run is at work, the run is the outer run of whatever starts meanwhile. An inner
run acts for the outer run's person when its own session names nobody, and it learns nothing: what
it was asked was written by a model.
"""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime

from agent_framework import FunctionInvocationContext, FunctionMiddleware

from ricordo.hosts.maf.identity import Place
from ricordo.model import Principal, Said


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of an agent for one person.

    Args:
        id: unique; all memory providers of the run share it.
        at: when it began.
        agent: the agent's name in memory.
        said: what the person said to it; to an inner run nothing was said but by a model, so that
            it has the outer run's.
        inner: whether another agent started it, through a tool.
    """

    id: str
    at: datetime
    principal: Principal
    agent: str
    place: Place
    said: tuple[Said, ...] = ()
    inner: bool = False


_OUTER: ContextVar[Run | None] = ContextVar("ricordo_outer_run", default=None)


def outer_run() -> Run | None:
    """The run whose tool is at work here; None when a person or a program speaks."""
    return _OUTER.get()


class InsideTools(FunctionMiddleware):
    """Marks, while a tool of `run` is at work, everything that the tool starts."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def process(
        self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        """Let the tool work."""
        del context
        with _inside(self._run):
            await call_next()


@contextmanager
def _inside(run: Run) -> Generator[None]:
    token = _OUTER.set(run)
    try:
        yield
    finally:
        _OUTER.reset(token)
