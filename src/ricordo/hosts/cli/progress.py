"""How far a long command has come: a bar on a terminal, silence elsewhere."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

Advance = Callable[[int], None]


@contextmanager
def progress(title: str, *, total: int | None) -> Generator[Advance, None, None]:
    """A bar on standard error; call what it yields with how much more is done.

    Args:
        total: of the same unit; None where nobody knows.
    """
    if not sys.stderr.isatty():
        yield _quietly
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining())
    with Progress(*columns, console=Console(file=sys.stderr)) as bars:
        task = bars.add_task(title, total=total)
        yield lambda more: bars.advance(task, more)


def _quietly(_more: int) -> None:
    """Nobody watches."""
