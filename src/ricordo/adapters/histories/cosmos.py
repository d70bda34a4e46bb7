"""Conversations in Azure Cosmos DB, by the framework's `CosmosHistoryProvider`."""

import binascii
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ricordo.adapters.histories.late import Connect, Late, LateHistory
from ricordo.adapters.histories.opened import Opened
from ricordo.errors import Denied, Invalid, RicordoError, Unavailable
from ricordo.model import UserScope, owner_key

SCHEME = "cosmos"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Address:
    endpoint: str
    database: str
    container: str


@asynccontextmanager
async def open_cosmos(url: str, *, key: str | None, **options: Any) -> AsyncGenerator[Opened]:
    """Conversations in a container of Cosmos DB, connected to at first use, closed at the end.

    Database and container must be there; the container's partition key is ``/session_id``.

    Args:
        url: ``cosmos://ACCOUNT.documents.azure.com/DATABASE/CONTAINER``.
        key: of the account.
        options: of the official client.

    Raises:
        ImportError: the extra ``ricordo[cosmos]`` is not installed.
        Invalid: the address cannot be used, or there is no key.
    """
    address = _parsed(url)
    if key is None:
        raise Invalid("history_url names Cosmos DB, which wants a key; set history_key")
    try:
        from agent_framework_azure_cosmos import CosmosHistoryProvider
        from azure.cosmos.aio import CosmosClient
    except ImportError as error:
        raise ImportError(
            "Cosmos DB is not installed; install the extra with: pip install 'ricordo[cosmos]'"
        ) from error
    async with AsyncExitStack() as stack:

        async def connect() -> Any:
            async with AsyncExitStack() as begun:  # of what fails in between, nothing stays open
                try:
                    client = CosmosClient(url=address.endpoint, credential=key, **options)
                    begun.push_async_callback(client.close)
                    await begun.enter_async_context(client)
                except _faults() as error:
                    raise _ours(error) from error
                stack.push_async_exit(begun.pop_all())
            return container_of(client, database=address.database, name=address.container)

        container = Late(connect)

        async def history() -> Any:
            return CosmosHistoryProvider(source_id="ricordo", container_client=await container())

        provider = LateHistory("ricordo", history=Late(history))
        outside = CosmosConversations(container, clear=provider.clear, address=url)
        yield Opened(provider=provider, outside=outside)


class CosmosConversations:
    """Empties the framework's container of a person; each partition's key begins with its owner.

    Args:
        container: gives the one of the official SDK, connected.
        clear: removes one conversation, as the framework's provider does.
        address: for messages.
    """

    def __init__(self, container: Connect, *, clear: Any, address: str) -> None:
        self._container = container
        self._clear = clear
        self.name = "conversations (cosmos)"
        self.remedy = f"reach {address}, and erase again"

    async def erase(self, *, scope: UserScope) -> int:
        """Delete the person's conversations; how many there were."""
        sessions = await self._sessions(scope)
        try:
            for session in sorted(sessions):
                await self._clear(session)
        except _faults() as error:
            raise _ours(error) from error
        return len(sessions)

    async def count(self, *, scope: UserScope) -> int:
        """How many conversations of the person there are."""
        return len(await self._sessions(scope))

    async def _sessions(self, scope: UserScope) -> set[str]:
        """Across partitions, each of which is one conversation; filtered by the service."""
        container = await self._container()
        items = container.query_items(
            query="SELECT c.session_id FROM c WHERE STARTSWITH(c.session_id, @owner)",
            parameters=[{"name": "@owner", "value": f"{owner_key(scope)}."}],
        )
        try:
            return {item["session_id"] async for item in items}
        except _faults() as error:
            raise _ours(error) from error


def container_of(client: Any, *, database: str, name: str) -> Any:
    """The container of that name; whether it is there is seen at its first use."""
    return client.get_database_client(database).get_container_client(name)


def _parsed(url: str) -> _Address:
    parts = urlsplit(url)
    names = [name for name in parts.path.split("/") if name]
    if parts.scheme != SCHEME or not parts.hostname or len(names) != 2:
        raise Invalid(
            "history_url of Cosmos DB is cosmos://ACCOUNT.documents.azure.com/DATABASE/CONTAINER"
        )
    if parse_qs(parts.query):
        raise Invalid("history_url of Cosmos DB takes no query; the key goes into history_key")
    return _Address(
        endpoint=f"https://{parts.netloc}",
        database=names[0],
        container=names[1],
    )


def _faults() -> tuple[type[Exception], ...]:
    from azure.core.exceptions import AzureError

    return (AzureError, OSError, binascii.Error)


def _ours(error: Exception) -> RicordoError:
    from azure.core.exceptions import ClientAuthenticationError

    if isinstance(error, binascii.Error):
        return Invalid("history_key is no key of Cosmos DB, which is written in base64")
    if isinstance(error, ClientAuthenticationError):
        return Denied("Cosmos DB refuses the key; check history_key")
    return Unavailable(f"Cosmos DB did not carry out the call ({type(error).__name__})")
