"""Many messages in flight at once, into one stream, in an order that cannot break."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import errors as stream
from nats.js.api import Header

OUT_OF_ORDER = frozenset({10071, 10070, 10158, 10201, 10202})
"""Numbers of the errors by which a stream says that somebody else has written to it."""

_TOGETHER = 32
"""Letters that are written before the loop may send them."""

_LOOK = 0.1
"""Seconds between two looks at whether an answer still can come."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A message to be appended."""

    subject: str
    headers: dict[str, str]
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """How an attempt ended.

    Args:
        count: letters that are surely there, from the first on.
        last: number of the stream's last message after these; None where it is in doubt.
        error: why the next one is not there, where the stream said so.
    """

    count: int
    last: int | None
    error: Exception | None = None


class Appender:
    """Appends letters to a stream over one client.

    Each letter names the number of the message before it, so the stream takes them in order or not
    at all: after one that is missing, none follows.
    """

    def __init__(self, client: Client, *, stream: str) -> None:
        self.client = client
        self._stream = stream
        self._inbox = client.new_inbox()
        self._attempts = 0
        self._attempt: _Attempt | None = None
        self._listening: Any = None

    async def append(
        self, letters: AsyncIterator[Letter], *, size: int, after: int, patience: float
    ) -> Appended:
        """Append all of these after the message of that number.

        Args:
            letters: written while the ones before are on their way.
            size: how many these are.
            patience: seconds without any answer after which the rest is in doubt.
        """
        if self._listening is None:
            client: Any = self.client
            self._listening = await client.subscribe(f"{self._inbox}.*", cb=self._answered)
        self._attempts += 1
        attempt = self._attempt = _Attempt(self._attempts, size, after=after)
        with suppress(TimeoutError):
            await self._send(letters, attempt, after=after, patience=patience)
        await attempt.ended(patience=patience, still=lambda: not self.client.is_closed)
        self._attempt = None
        return attempt.outcome()

    async def _send(
        self, letters: AsyncIterator[Letter], attempt: "_Attempt", *, after: int, patience: float
    ) -> None:
        """Send all of these, unless one is refused meanwhile, or nothing leaves for too long."""
        number, now = 0, asyncio.get_running_loop().time
        async with asyncio.timeout(patience) as limit:
            async for letter in letters:
                await self._publish(letter, after=after, number=number)
                number += 1
                if number % _TOGETHER == 0:
                    await asyncio.sleep(0)  # so that they are sent
                    limit.reschedule(now() + patience)
                    if attempt.failed:
                        return

    async def _publish(self, letter: Letter, *, after: int, number: int) -> None:
        headers = {
            **letter.headers,
            Header.EXPECTED_STREAM.value: self._stream,
            Header.EXPECTED_LAST_SEQUENCE.value: str(after + number),
        }
        reply = f"{self._inbox}.{self._attempts}-{number}"
        await self.client.publish(letter.subject, letter.payload, reply=reply, headers=headers)

    async def _answered(self, message: Msg) -> None:
        attempts, _, number = message.subject.rpartition(".")[2].partition("-")
        if self._attempt is not None and str(self._attempt.number) == attempts:
            self._attempt.answered(int(number), message)


class _Attempt:
    """What has become of the letters of one attempt."""

    def __init__(self, number: int, size: int, *, after: int) -> None:
        self.number = number
        self._after = after
        self._places: list[int | None] = [None] * size
        self._open = size
        self._heard = asyncio.Event()
        self._error: Exception | None = None
        self._doubled = False

    def answered(self, number: int, message: Msg) -> None:
        if self._places[number] is not None:
            return
        try:
            place = _place(message)
        except (stream.Error, ValueError) as error:
            self._error = self._error or error
            place = None
        if place is not None:
            self._places[number] = place
            self._doubled |= place != self._after + number + 1
        self._open -= 1
        self._heard.set()

    @property
    def failed(self) -> bool:
        """Whether one was refused, so that none after it will be taken."""
        return self._error is not None

    async def ended(self, *, patience: float, still: Callable[[], bool]) -> None:
        """Until all are answered, one was refused, or nothing is heard for too long.

        Args:
            still: whether an answer can come.
        """
        silent = 0.0
        while self._open and self._error is None and silent < patience and still():
            self._heard.clear()
            try:
                async with asyncio.timeout(_LOOK):
                    await self._heard.wait()
                silent = 0.0
            except TimeoutError:
                silent += _LOOK

    def outcome(self) -> Appended:
        missing = [n for n, place in enumerate(self._places) if place is None]
        count = missing[0] if missing else len(self._places)
        sound = not missing and not self._doubled
        return Appended(
            count=count,
            last=self._after + count if sound else None,
            error=self._error,
        )


def _place(message: Msg) -> int:
    """The number that a message got in the stream."""
    if message.headers and message.headers.get(Header.STATUS.value) == "503":
        raise stream.NoStreamResponseError
    answer = json.loads(message.data)
    if "error" in answer:
        raise stream.APIError.from_error(answer["error"])
    return int(answer["seq"])
