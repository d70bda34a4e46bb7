"""What a server must be."""

from ricordo.errors import Unavailable

OLDEST = 150_000
"""The oldest that will do, as a server gives its version."""


def check_server(version: int, *, name: str) -> None:
    """Raise `Unavailable` for a server that is too old."""
    if version < OLDEST:
        raise Unavailable(
            f"the server {name} runs PostgreSQL {version // 10_000}; Ricordo needs "
            f"{OLDEST // 10_000} or newer. Upgrade the server"
        )
