"""A Bolt server, asked with deadlines, retries of what is transient, and errors of ours."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, LiteralString, cast

from ricordo.errors import Denied, Invalid, Unavailable

if TYPE_CHECKING:
    from neo4j import AsyncManagedTransaction

Row = dict[str, Any]
Call = tuple[str, Row]

OLDEST = 5
"""Major version of Neo4j, or of the Neo4j that a server says it is compatible with."""


class Server:
    """One Bolt server.

    Args:
        patience: seconds that a call may take, retries included.
    """

    def __init__(
        self, url: str, *, user: str, password: str, database: str | None, patience: float
    ) -> None:
        self._url = url
        self._auth = (user, password)
        self._database = database
        self._patience = patience
        # The driver's own types leave its settings open.
        self._driver: Any = None

    async def open(self) -> str:
        """Reach it, and see that it is new enough; its name and version, for people.

        Raises:
            Invalid: the address or the server does not do. Denied: wrong credentials.
            Unavailable: it does not answer.
        """
        if self._driver is None:
            self._driver = self._made()
        async with self._asking():
            info = await self._driver.get_server_info()
        agent = str(info.agent)
        major = agent.partition("/")[2].partition(".")[0]
        if not major.isdigit() or int(major) < OLDEST:
            await self.close()
            raise Invalid(
                f"the graph server at {self._url} is {agent}; a view needs Neo4j {OLDEST} or "
                "newer, or a server compatible with it"
            )
        return agent

    async def write(self, calls: Sequence[Call]) -> None:
        """Run statements in one transaction."""

        async def work(tx: "AsyncManagedTransaction") -> None:
            for text, values in calls:
                await (await tx.run(cast("LiteralString", text), values)).consume()

        async with self._asking(), self._open_driver().session(database=self._database) as session:
            await session.execute_write(work)

    async def read(self, text: str, values: Row) -> list[Row]:
        """The rows that a statement returns."""

        async def work(tx: "AsyncManagedTransaction") -> list[Row]:
            return await (await tx.run(cast("LiteralString", text), values)).data()

        async with self._asking(), self._open_driver().session(database=self._database) as session:
            return await session.execute_read(work)

    async def change(self, text: str, values: Row) -> list[Row]:
        """Run one statement by itself, as changes of the schema must; what it returns."""
        async with self._asking(), self._open_driver().session(database=self._database) as session:
            return await (await session.run(cast("LiteralString", text), values)).data()

    async def close(self) -> None:
        """Let go of every connection; closing twice is not an error."""
        driver, self._driver = self._driver, None
        if driver is not None:
            await driver.close()

    def _open_driver(self) -> Any:
        if self._driver is None:
            raise Unavailable(f"the graph server at {self._url} is not open")
        return self._driver

    def _made(self) -> Any:
        if self._url.partition("://")[0].partition("+")[0] not in {"bolt", "neo4j"}:
            raise Invalid(f"{self._url} is no address of a graph server: bolt:// or neo4j://")
        try:
            import neo4j
        except ImportError as error:
            raise ImportError("a graph view needs neo4j: pip install 'ricordo[neo4j]'") from error
        try:
            return cast("Any", neo4j.AsyncGraphDatabase).driver(
                self._url,
                auth=self._auth,
                connection_timeout=self._patience,
                connection_acquisition_timeout=self._patience,
                max_transaction_retry_time=self._patience,
                max_connection_lifetime=600,
                telemetry_disabled=True,
                notifications_min_severity="OFF",
                user_agent="ricordo",
            )
        except (neo4j.exceptions.ConfigurationError, ValueError) as error:
            raise Invalid(f"{self._url} is no address of a graph server: {error}") from error

    @asynccontextmanager
    async def _asking(self) -> AsyncGenerator[None]:
        """A deadline, and errors of ours; what a server says is never repeated beyond its code."""
        from neo4j import exceptions

        try:
            async with asyncio.timeout(self._patience):
                yield
        except TimeoutError as error:
            raise Unavailable(
                f"the graph server at {self._url} did not answer within {self._patience:g} s"
            ) from error
        except exceptions.AuthError as error:
            raise Denied(
                f"the graph server at {self._url} refuses the credentials ({error.code}); "
                "mend graph_view_user and graph_view_password"
            ) from error
        except exceptions.ConfigurationError as error:
            raise Invalid(
                f"the graph server at {self._url} does not do ({error}); a view needs Neo4j "
                f"{OLDEST} or newer, or a server compatible with it"
            ) from error
        except (exceptions.TransientError, exceptions.DatabaseError) as error:
            raise Unavailable(f"the graph server at {self._url} failed ({error.code})") from error
        except exceptions.Neo4jError as error:
            raise Invalid(
                f"the graph server at {self._url} does not take a statement ({error.code})"
            ) from error
        except (exceptions.DriverError, OSError) as error:
            raise Unavailable(
                f"the graph server at {self._url} is not reached ({type(error).__name__})"
            ) from error
