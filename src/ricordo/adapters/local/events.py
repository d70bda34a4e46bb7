"""The in-process event bus: every subscriber reads the ledger's outbox at its own pace."""

from collections.abc import Sequence

from ricordo.adapters.local.bell import Bell
from ricordo.adapters.local.subscription import Subscription
from ricordo.errors import Conflict, Invalid
from ricordo.events import Event
from ricordo.model import check_id
from ricordo.ports import Outbox


class LocalEvents:
    """Implements `ricordo.ports.EventBus` over an outbox.

    1. Every subscriber gets every event of its kinds, in order, whoever wrote it.
    2. A slow subscriber delays nobody else, and nothing piles up in memory for it.
    3. A named consumer gets each event at least once, across restarts.

    Args:
        outbox: where events come from; not closed with the bus.
        poll: seconds between looks at what other processes announced; writers in this one call
            `announce` and are heard at once.
    """

    def __init__(self, outbox: Outbox, *, poll: float = 0.1) -> None:
        if not poll > 0:
            raise ValueError("poll must be positive")
        self._outbox = outbox
        self._poll = poll
        self._bell = Bell()
        self._open: set[Subscription] = set()

    def subscribe(
        self,
        *,
        kinds: Sequence[type[Event]] = (),
        consumer: str | None = None,
        come_back: bool = False,
    ) -> Subscription:
        """Events from now on, of these kinds (all without any), until the iterator is closed.

        Must be called on the event loop.

        Args:
            kinds: these and their subclasses.
            consumer: a name under which progress is kept: who comes again under it goes on after
                the last event that it was done with.
            come_back: go on with what is there although the name was retired; how many events are
                gone, `Subscription.missed` says. Without it, entering the subscription or asking it
                for an event raises `Retired`.

        Raises:
            Invalid: a name that cannot serve as an id, or holds a colon, as Ricordo's own do.
            Conflict: the name is subscribed here already.
        """
        if consumer is not None:
            check_id(consumer, what="consumer")
            if ":" in consumer:
                raise Invalid(
                    f"consumer {consumer!a} holds a colon, as the names do under which Ricordo "
                    "itself reads; choose another one"
                )
            if any(each.consumer == consumer for each in self._open):
                raise Conflict(f"consumer {consumer!a} is subscribed already; close that one")
        subscription = Subscription(
            self._outbox,
            kinds=tuple(kinds),
            consumer=consumer,
            come_back=come_back,
            bell=self._bell,
            poll=self._poll,
            leave=self._open.discard,
        )
        self._open.add(subscription)
        return subscription

    def announce(self) -> None:
        """Let subscribers look at once; for writers in this process, on its event loop."""
        self._bell.ring()

    async def close(self) -> None:
        """End every subscription; closing twice is not an error."""
        for subscription in list(self._open):
            await subscription.aclose()
