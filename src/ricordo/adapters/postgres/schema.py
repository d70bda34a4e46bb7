"""The schema's history: numbered steps, kept and applied by Alembic."""

import re
import threading
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ricordo.errors import WrongSchema

if TYPE_CHECKING:
    from sqlalchemy import Connection

_ALONE = threading.Lock()
"""Alembic keeps what it works on in globals of the process."""

_NAME = re.compile(r"(\d{4})_\w+\.sql")


def versions() -> tuple[str, ...]:
    """All steps by number, oldest first."""
    folder = files("ricordo.adapters.postgres").joinpath("migrations")
    found = (_NAME.fullmatch(file.name) for file in folder.iterdir())
    return tuple(sorted(name[1] for name in found if name))


def check_version(version: str, *, name: str) -> None:
    """Raise `WrongSchema` for a ledger of another version than this program's."""
    known = versions()
    if version == known[-1]:
        return
    if version in known:
        raise WrongSchema(
            f"the ledger {name} has schema {version}; this version of Ricordo needs {known[-1]}. "
            "Run `ricordo init --postgres` with an administrator's address; nothing was changed"
        )
    raise WrongSchema(
        f"the ledger {name} has schema {version[:20]}; this version of Ricordo knows schemas up to "
        f"{known[-1]}. Upgrade Ricordo; nothing was changed"
    )


def upgrade(connection: "Connection") -> None:
    """Bring the schema to the newest version, inside the connection's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "ricordo.adapters.postgres:migrations")
    config.attributes["connection"] = connection
    with _ALONE:
        command.upgrade(config, "head")


def apply(connection: "Connection", step: str) -> None:
    """Carry out one step's file as it is: statements of any kind, in one message."""
    sql = files("ricordo.adapters.postgres").joinpath("migrations", f"{step}.sql")
    driver: Any = connection.connection.driver_connection
    driver.execute(sql.read_text(encoding="utf-8").encode())
