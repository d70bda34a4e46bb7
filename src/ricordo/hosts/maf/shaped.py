"""`ShapedHistory`: short-term memory in one of three shapes, on the framework's own histories."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from agent_framework import HistoryProvider, InMemoryHistoryProvider, Message

from ricordo.errors import Invalid
from ricordo.hosts.maf.hybrid import HybridHistory
from ricordo.hosts.maf.owned import CONVERSATION, OwnedHistory, conversation_state
from ricordo.hosts.maf.packing import pack
from ricordo.hosts.maf.stores import Store, store_of
from ricordo.model import Conversation, Shape, UserScope
from ricordo.ports import HistoryCache

_KNOWN = 100_000
"""Conversations of which it is known here what was stored last."""

_Line = bytes
"""Hash of who said a message, and of what it says."""

NO_STORES: Mapping[str, HistoryProvider] = {}
NO_GROUPS: Mapping[str, Sequence[str]] = {}


class ShapedHistory(OwnedHistory):
    """Keeps each conversation in the store that its shape says. `make_history_provider` makes it.

    Args:
        store: of every agent that has none of its own.
        stores: by agent, for those that have a history of their own.
        archive: where conversations go when their session has ended; without it they stay.
        options: of `OwnedHistory`.
    """

    def __init__(
        self,
        store: Store,
        *,
        stores: Mapping[str, Store],
        archive: Store | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._store = store
        self._stores = {f"agent:{agent}": theirs for agent, theirs in stores.items()}
        self._archive = archive
        self._latest: dict[Conversation, list[_Line]] = {}

    def rooms(
        self, scope: UserScope, thread_id: str, *, agents: Sequence[str] = ()
    ) -> set[Conversation]:
        """The histories of a session: of every group, and of these agents and those known here."""
        own = [room.removeprefix("agent:") for room in self._stores]
        return super().rooms(scope, thread_id, agents=[*agents, *own])

    async def load(self, conversation: Conversation, *, state: dict[str, Any]) -> list[Message]:
        """The stored messages, oldest first."""
        store = self._of(conversation)
        return await store.provider.get_messages(
            conversation.key, state=_slot(state, store, conversation)
        )

    async def store(
        self, conversation: Conversation, messages: Sequence[Message], *, state: dict[str, Any]
    ) -> None:
        """Append messages durably."""
        store = self._of(conversation)
        await store.provider.save_messages(
            conversation.key, messages, state=_slot(state, store, conversation)
        )
        self._note(conversation, messages)

    async def put_away(self, conversation: Conversation, *, unless_continued: bool = False) -> bool:
        """Move the conversation to the archive, if there is one; doing it twice is no error.

        For conversations in which nobody speaks just now: the stores know no way to remove a
        conversation only if it is unchanged. What came in before the last look is moved as well.

        Args:
            unless_continued: leave it where it is if it was stored here, and another process has
                gone on with it since: that one will see when it ends.

        Returns:
            Whether it was moved. Without an archive it stays where it is.

        Raises:
            Invalid: its store cannot remove a conversation.
        """
        store = self._of(conversation)
        if store.in_session or self._archive is None:
            return False
        if store.remove is None:
            raise Invalid(f"{type(store.provider).__name__} cannot remove a conversation")
        moved, messages = 0, await self._fresh(store, conversation)
        latest = self._latest.pop(conversation, None)
        if unless_continued and latest is not None and _lines(messages[-len(latest) :]) != latest:
            return False
        while len(messages) > moved:
            # Named by what it holds: a second try after a crash finds the same name again.
            content = pack(messages, key=conversation.key)
            key = f"{conversation.key}.{sha256(content).hexdigest()[:16]}"
            await self._archive.provider.save_messages(key, messages)
            moved, messages = len(messages), await self._fresh(store, conversation)
        if moved:
            await store.remove(conversation.key)
            await self._fresh(store, conversation)
        return bool(moved)

    def _note(self, conversation: Conversation, messages: Sequence[Message]) -> None:
        """Remember what was stored here last, to see whether others went on."""
        self._latest.pop(conversation, None)
        if messages:
            self._latest[conversation] = _lines(messages)
        if len(self._latest) > _KNOWN:
            self._latest.pop(next(iter(self._latest)))

    async def close(self) -> None:
        """End what a cache does in the background; stores stay open."""
        for store in (self._store, *self._stores.values()):
            if isinstance(store.provider, HybridHistory):
                await store.provider.close()

    async def _fresh(self, store: Store, conversation: Conversation) -> list[Message]:
        """What the store itself has, past any copy."""
        if isinstance(store.provider, HybridHistory):
            await store.provider.drop(conversation)
        return await store.provider.get_messages(conversation.key, state=_noted(conversation))

    def _of(self, conversation: Conversation) -> Store:
        return self._stores.get(conversation.room, self._store)


def make_history_provider(
    *,
    shape: Shape | str = Shape.SHARED,
    store: HistoryProvider | None = None,
    stores: Mapping[str, HistoryProvider] = NO_STORES,
    cache: HistoryCache | None = None,
    groups: Mapping[str, Sequence[str]] = NO_GROUPS,
    archive: HistoryProvider | None = None,
    staleness: float = 60.0,
    **options: Any,
) -> ShapedHistory:
    """Short-term memory in the shape that you choose; put it first in `context_providers`.

    Args:
        shape: ``"shared"``: all agents on one history. ``"distributed"``: one per agent, correlated
            by the session's id. ``"hybrid"``: a cache, or groups of agents, or both.
        store: one of the framework's histories (in memory, file, Redis, Cosmos DB), or any other
            `HistoryProvider`; by default the session itself carries the conversation.
        stores: by agent, a store of its own, where the agent has a history of its own: in the
            distributed shape, or in the hybrid one outside all groups.
        cache: of the hybrid shape: copies in front of the store.
        groups: of the hybrid shape: the agents of each group; they share among themselves.
        archive: where conversations go when their session has ended.
        staleness: seconds that a copy in the cache may be old at most.
        options: of `OwnedHistory`: `recent_turns`, `patience`, `resolve`, `agent_name`, `on_turn`.

    Raises:
        ValueError: the arguments do not fit the shape; the message says which.
    """
    shape = Shape(shape)
    _check(shape, stores=stores, cache=cache, groups=groups)
    inner = store or InMemoryHistoryProvider()
    kept = store_of(inner)
    if cache is not None:
        kept = Store(provider=HybridHistory(inner, cache, staleness=staleness), remove=kept.remove)
    # The session's own history keeps the name that the framework gives it, so that sessions that
    # were stored before are read on.
    own = InMemoryHistoryProvider.DEFAULT_SOURCE_ID
    options.setdefault("source_id", own if store is None else "history")
    return ShapedHistory(
        kept,
        stores={agent: store_of(theirs) for agent, theirs in stores.items()},
        archive=None if archive is None else store_of(archive),
        shape=shape,
        groups=groups,
        **options,
    )


def _check(
    shape: Shape,
    *,
    stores: Mapping[str, HistoryProvider],
    cache: HistoryCache | None,
    groups: Mapping[str, Sequence[str]],
) -> None:
    if stores and shape is Shape.SHARED:
        raise ValueError("in the shared shape no agent has a store of its own")
    if (cache is not None or groups) and shape is not Shape.HYBRID:
        raise ValueError(f"a cache and groups belong to the hybrid shape, not to {shape.value}")
    if shape is Shape.HYBRID and cache is None and not groups:
        raise ValueError("the hybrid shape needs a cache, or groups of agents, or both")
    grouped = {agent for group in groups.values() for agent in group}
    shared = set(stores) & grouped if groups else set(stores)
    if shape is Shape.HYBRID and shared:
        raise ValueError(
            f"stores: {', '.join(sorted(shared))} shares a history with others; only an agent "
            "outside all groups has one of its own"
        )


def _lines(messages: Sequence[Message]) -> list[_Line]:
    return [sha256(f"{m.role}\n{m.text}".encode(errors="replace")).digest()[:8] for m in messages]


def _slot(state: dict[str, Any], store: Store, conversation: Conversation) -> dict[str, Any]:
    """The part of the session's state that a store may use for this conversation."""
    if not store.in_session:
        return _noted(conversation)
    if conversation.room == "everybody":
        return state
    return state.setdefault("rooms", {}).setdefault(conversation.room, {})


def _noted(conversation: Conversation) -> dict[str, Any]:
    return {CONVERSATION: conversation_state(conversation)}
