"""Which ledger an address means."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import TYPE_CHECKING

from ricordo.errors import Invalid
from ricordo.ports import Ledger
from ricordo.ports.moving import Movable
from ricordo.settings import Settings

if TYPE_CHECKING:
    from ricordo.adapters.postgres.founding import Founded
    from ricordo.adapters.postgres.near_indexes import Tuned

_POSTGRES = ("postgresql", "postgres")


def open_ledger(
    address: str, settings: Settings, *, clock: Callable[[], datetime]
) -> AbstractAsyncContextManager[Ledger]:
    """The ledger at a path, ``sqlite:///path`` or ``postgresql://…``, about to be open.

    Raises:
        Invalid: it is the address of no known kind of ledger.
        ImportError: it needs an extra that is not installed; the message names it.
    """
    if _on_postgres(address):
        from ricordo.adapters.postgres import PostgresLedger

        return PostgresLedger.open(
            address,
            clock=clock,
            patience=settings.postgres_patience,
            connections=settings.postgres_connections,
        )
    from ricordo.adapters.sqlite import SqliteLedger

    return SqliteLedger.open(address.removeprefix("sqlite:///"), clock=clock)


def open_movable(address: str, *, fill: bool) -> AbstractAsyncContextManager[Movable]:
    """One end of a move, about to be open: a file, or a server as an administrator.

    Raises as `open_ledger`.
    """
    if _on_postgres(address):
        from ricordo.adapters.postgres.moving import moving

        return moving(address)
    from ricordo.adapters.sqlite.moving import filling, reading

    path = address.removeprefix("sqlite:///")
    return filling(path) if fill else reading(path)


def _on_postgres(address: str) -> bool:
    """Whether the address is a server's, and not a file's. Raises `Invalid` when it is neither."""
    kind, parted, _ = address.partition("://")
    if parted and kind in _POSTGRES:
        return True
    if parted and not address.startswith("sqlite:///"):
        raise Invalid(
            f"{kind[:40]!a} is no known kind of ledger; give a file's path or a postgresql:// "
            "address"
        )
    return False


async def found(address: str, *, role: str, password: str | None) -> "Founded":
    """Make a PostgreSQL database a ledger. Raises as `ricordo.adapters.postgres.founding.found`."""
    from ricordo.adapters.postgres.founding import found

    return await found(address, role=role, password=password)


async def tune(address: str, *, least: int) -> "Tuned":
    """See to approximate indexes. Raises as `ricordo.adapters.postgres.near_indexes.tune`."""
    from ricordo.adapters.postgres.near_indexes import tune

    return await tune(address, least=least)
