"""Settings to objects: the only place where adapters and hosts meet.

Engines are imported when they are first needed, so that `ricordo --help` is quick.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ricordo.wiring.histories import open_history
    from ricordo.wiring.opening import open_memory

__all__ = ["main", "open_history", "open_memory"]


def main() -> None:
    """The command line: `ricordo`."""
    from ricordo.wiring.command import run

    raise SystemExit(run())


def __getattr__(name: str) -> object:
    if name == "open_history":
        from ricordo.wiring.histories import open_history

        return open_history
    if name == "open_memory":
        from ricordo.wiring.opening import open_memory

        return open_memory
    raise AttributeError(f"module 'ricordo.wiring' has no attribute {name!r}")
