"""Messages of a durable consumer, one after the other, whatever their publishers wrote."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, cast

from nats.aio.client import Client
from nats.aio.msg import Msg

from ricordo.errors import Unavailable

_GRACE = 5.0
"""Seconds beyond its patience after which a look for messages is given up."""

_LOOK = 1.0
"""Seconds between looks at whether an answer still can come."""


class Pull:
    """Asks a durable consumer for one message after the other.

    The library's own way of doing this takes a header that a publisher wrote for a word of the
    server, and leaves such a message lying for ever.
    """

    def __init__(self, client: Client, source: str, consumer: str) -> None:
        self.client = client
        self._ask = f"$JS.API.CONSUMER.MSG.NEXT.{source}.{consumer}"
        self._inbox = client.new_inbox()
        self._heard: asyncio.Queue[Msg] = asyncio.Queue()
        self._listening: Any = None

    async def next(self, patience: float) -> Msg | None:
        """The next message; None when the server says that there is none."""
        if self._listening is None:
            client: Any = self.client
            self._listening = await client.subscribe(self._inbox, cb=self._heard.put)
        asked = {"batch": 1, "expires": int(patience * 1e9)}
        await self.client.publish(self._ask, json.dumps(asked).encode(), reply=self._inbox)
        waited = 0.0
        while waited < patience + _GRACE and not self.client.is_closed:
            try:
                async with asyncio.timeout(_LOOK):
                    message = await self._heard.get()
            except TimeoutError:
                waited += _LOOK
                continue
            if message.reply.startswith("$JS.ACK."):
                return message
            status = headers_of(message).get("Status", "")
            if status in ("404", "408"):
                return None
            if status != "100":
                raise Unavailable(f"the consumer of a stream is gone or has moved ({status})")
        raise Unavailable("a stream does not answer")


def headers_of(message: Msg) -> Mapping[str, str]:
    """The headers of a message; none where it has none."""
    return cast("Mapping[str, str]", cast("Any", message).headers or {})
