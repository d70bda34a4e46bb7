"""Letters about messages that were refused, in a stream that an operator looks through."""

import hashlib
import logging
from collections.abc import Callable
from datetime import UTC, datetime

from ricordo.adapters.nats.connection import NatsConnection
from ricordo.errors import RicordoError
from ricordo.wire import dead_subject, write_dead

_log = logging.getLogger(__name__)


class DeadLetters:
    """Where messages go that are no sound ones.

    Args:
        connection: whoever opened it closes it.
        prefix: first token of every subject.
        told: is called with the name of each error.
    """

    def __init__(
        self,
        connection: NatsConnection,
        *,
        prefix: str,
        told: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._connection = connection
        self._prefix = prefix
        self._told = told

    async def bury(self, payload: bytes, *, subject: str, sort: str, error: RicordoError) -> bool:
        """Write a letter about one message; False if that could not be done just now.

        The same message on the same subject has one letter within the stream's window.
        """
        name = type(error).__name__
        self._told(name)
        _log.warning("a message of sort %s was refused (%s: %s)", sort, name, error)
        letter = write_dead(payload, subject=subject, error=error, at=datetime.now(UTC))
        mark = hashlib.sha256(subject.encode() + b"\0" + payload).hexdigest()
        try:
            js = await self._connection.jetstream()
            async with self._connection.asking():
                await js.publish(
                    dead_subject(subject, prefix=self._prefix, sort=sort),
                    letter,
                    headers={"Nats-Msg-Id": mark, "Content-Type": "application/json"},
                )
        except RicordoError as failure:
            _log.warning(
                "a refused message has no letter (%s: %s)", type(failure).__name__, failure
            )
            return False
        return True
