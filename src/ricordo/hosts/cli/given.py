"""What the wiring hands to the command line, which may not look for it itself."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ricordo.model import Principal

if TYPE_CHECKING:
    from ricordo.memory.engine import Ricordo
    from ricordo.settings import Settings


class Opener(Protocol):
    """Opens the memory that settings describe, and closes it."""

    def __call__(self, settings: "Settings", /) -> AbstractAsyncContextManager["Ricordo"]:
        """An async context manager that yields the opened memory."""
        ...


class Companion(Protocol):
    """Makes what gives an agent of the framework this memory."""

    def __call__(self, memory: "Ricordo", *, principal: Principal, agent: str) -> tuple[Any, Any]:
        """A context provider and a session for one conversation of one principal."""
        ...


Demo = Callable[[bool], Awaitable[int]]
"""Plays the demonstration, as JSON or for a person; returns an exit code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The parts that commands work with; without `demo` or `companion` their command is absent."""

    opener: Opener
    demo: Demo | None = None
    companion: Companion | None = None
