"""Settings to objects: the only place where adapters and hosts meet."""

from ricordo.wiring.opening import open_memory

__all__ = ["main", "open_memory"]


def main() -> None:
    """The command line: `ricordo`."""
    from ricordo.wiring.command import run

    raise SystemExit(run())
