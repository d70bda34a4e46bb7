"""One of mem0's stores, opened and called from threads, with deadlines and errors of ours."""

import asyncio
import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module, metadata
from typing import Any, TypeVar, cast

from ricordo.adapters.mem0.threads import Threads
from ricordo.adapters.mem0.traits import Traits, configured, traits_of
from ricordo.errors import Denied, Invalid, RicordoError, SpaceMismatch, Unavailable

T = TypeVar("T")

_log = logging.getLogger(__name__)

_REMOTE_CALLS = 4
"""Calls at a time to a store that is a server; one that lies in this process gets one."""

_ASKED_TO_WAIT = 16
"""Calls that may wait for one of the threads, for each of them; more are turned away."""


class Store:
    """A store of mem0's, by its own configuration.

    Args:
        provider: mem0's name of it.
        given: its configuration as in mem0's documentation, without collection and dimension.
        patience: seconds that a call may take.
    """

    def __init__(
        self,
        provider: str,
        given: Mapping[str, Any],
        *,
        collection: str,
        dimension: int,
        patience: float,
    ) -> None:
        self.provider = provider
        self.traits: Traits = traits_of(provider)
        self._config = configured(provider, given, collection=collection, dimension=dimension)
        self._patience = patience
        local = any(self._config.get(name) for name in self.traits.local)
        threads = 1 if local or provider == "milvus" else _REMOTE_CALLS
        self._threads = Threads(threads, name=f"ricordo-{provider}")
        self._room = asyncio.Semaphore(threads * _ASKED_TO_WAIT)
        self._store: Any = None

    async def open(self) -> str:
        """Open it; its version, for people. Raises as `View.open`."""
        if self._store is None:
            await asyncio.to_thread(_mem0)  # a large import, for which no store is to blame
            self._store = await self._run(self._made)
        return f"{self.provider} through mem0 {metadata.version('mem0ai')}"

    async def call(self, work: Callable[[Any], T]) -> T:
        """Let `work` use the store, on a thread.

        Raises:
            Unavailable: it failed, is busy, or takes too long; then it goes on, unheard.
        """
        if self._store is None:
            raise Unavailable(f"the store {self.provider} is not open")
        return await self._run(lambda: work(self._store))

    async def close(self) -> None:
        """Close what mem0 leaves open."""
        store, self._store = self._store, None
        try:
            if store is not None:
                await self._run(lambda: _close(store))
        except Unavailable as error:
            _log.warning("%s; it was not closed", error)  # what hangs ends with the program
        finally:
            self._threads.close()

    def _made(self) -> Any:
        factory, config_class = _mem0()
        try:
            config = config_class(provider=self.provider, config=dict(self._config))
        except (ValueError, TypeError) as error:
            # Its message may quote values of the configuration, and those may be secret.
            raise Invalid(
                f"mem0 does not take this configuration of {self.provider}: "
                f"{_said(error, hide=self._config)}"
            ) from error
        return factory.create(self.provider, config.config)

    async def _run(self, work: Callable[[], T]) -> T:
        if self._room.locked():
            raise Unavailable(f"the store {self.provider} is busy; too many calls wait for it")
        async with self._room:
            try:
                async with asyncio.timeout(self._patience):
                    return await self._threads.run(lambda: self._translated(work))
            except TimeoutError as error:
                raise Unavailable(
                    f"the store {self.provider} did not answer within {self._patience:g} s"
                ) from error

    def _translated(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except RicordoError:
            raise
        except ImportError as error:
            raise ImportError(f"mem0's store {self.provider} needs a package: {error}") from error
        except Exception as error:
            # Twenty-five clients with errors of their own; what they say tells what can be done.
            raise self._meaning(error) from error

    def _meaning(self, error: Exception) -> RicordoError:
        said = f"{type(error).__name__}: {_said(error, hide=self._config)}"
        text = said.casefold()
        if any(word in text for word in ("dimension", "dim ", "vector size")):
            return SpaceMismatch(f"the store {self.provider} holds vectors of other size: {said}")
        if any(word in text for word in ("unauthorized", "authentic", "password", "forbidden")):
            return Denied(f"the store {self.provider} refuses the credentials: {said}")
        return Unavailable(f"the store {self.provider} failed: {said}")


def rows_of(answer: Any) -> list[Any]:
    """mem0's stores answer with a list, a list in a list, or a list and a cursor."""
    while isinstance(answer, list | tuple) and answer and isinstance(answer[0], list | tuple):
        answer = cast("Sequence[Any]", answer[0])
    return [row for row in cast("Sequence[Any]", answer or ()) if hasattr(row, "payload")]


def payload_of(row: Any) -> Mapping[str, Any]:
    """What is stored beside the vector."""
    return cast("Mapping[str, Any]", row.payload or {})


def _mem0() -> tuple[Any, Any]:
    """mem0's factory and configuration, imported without telemetry and without a trace at home."""
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ.setdefault("MEM0_DIR", tempfile.gettempdir())
    try:
        factory = import_module("mem0.utils.factory")
        configs = import_module("mem0.vector_stores.configs")
    except ImportError as error:
        raise ImportError("a view of vectors needs mem0: pip install 'ricordo[mem0]'") from error
    return factory.VectorStoreFactory, configs.VectorStoreConfig


def _close(store: Any) -> None:
    for name in ("client", "connection_pool"):
        held = getattr(store, name, None)
        close = getattr(held, "close", None)
        if close is not None:
            close()


def _said(error: Exception, *, hide: Mapping[str, Any]) -> str:
    """The first line of an error's message, without values of the configuration."""
    line = next(iter(str(error).strip().splitlines()), "no message")
    for secret in _secrets(hide):
        line = line.replace(secret, "…")
    return line[:300]


def _secrets(config: Mapping[str, Any]) -> Iterator[str]:
    for name, value in config.items():
        secret = any(word in name for word in ("password", "key", "token", "secret", "string"))
        if secret and isinstance(value, str) and value:
            yield value
