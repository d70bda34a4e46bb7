"""Where the server is: a URL, read once, and a name of it that shows no secret."""

from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from ricordo.errors import Invalid

SCHEMES = ("postgresql://", "postgres://")
SCHEMA = "ricordo"
"""The schema that holds everything of a ledger."""


@dataclass(frozen=True, slots=True)
class Address:
    """A server and a database on it.

    Attributes:
        parameters: as libpq takes them; they may hold a password, so they are never shown.
        name: for messages: host, port and database only.
    """

    parameters: dict[str, Any]
    name: str

    def __repr__(self) -> str:
        return f"Address({self.name})"

    def connecting(self, *, seconds: float, patience: float) -> dict[str, Any]:
        """What to connect with.

        Args:
            seconds: to wait for a connection.
            patience: to wait for a statement, for a lock, or for a work between two statements.
        """
        wait = max(1, round(patience * 1000))
        lock = max(1, wait * 9 // 10)  # so that it is told what was waited for
        options = (
            f"-c search_path={SCHEMA},pg_temp -c statement_timeout={wait} -c lock_timeout={lock} "
            f"-c idle_in_transaction_session_timeout={wait}"
        )
        given = self.parameters.get("options")
        return {
            "connect_timeout": max(1, round(seconds)),
            "application_name": "ricordo",
            "keepalives_idle": 30,
            **self.parameters,
            "options": f"{given} {options}" if given else options,
            "client_encoding": "UTF8",
        }


def address_of(url: str) -> Address:
    """Read a URL. Raises `Invalid`, never showing the URL, which may hold a password."""
    if not url.startswith(SCHEMES):
        raise Invalid("the address of a PostgreSQL server begins with postgresql://")
    if "\0" in url:
        raise Invalid("the address of a PostgreSQL server may not contain a NUL character")
    try:
        read = conninfo_to_dict(url)
    except (psycopg.ProgrammingError, UnicodeError) as error:
        # The reason could quote a part of the password; so it is not chained either.
        del error
        raise Invalid(
            "the address of the PostgreSQL server cannot be read; it has the form "
            "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with special characters percent-encoded"
        ) from None
    parameters = {key: value for key, value in read.items() if value is not None}
    if not all(port.isdecimal() for port in str(parameters.get("port", 1)).split(",")):
        raise Invalid("the port in the address of the PostgreSQL server is not a number")
    return Address(parameters, _name(parameters))


def _name(parameters: dict[str, Any]) -> str:
    host = parameters.get("host") or parameters.get("hostaddr") or ""
    port = f":{parameters['port']}" if "port" in parameters else ""
    database = parameters.get("dbname") or ""
    return f"postgresql://{host}{port}/{database}"
