"""From a request to its answer: who asks, what for, until when."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ricordo.errors import DeadlineExceeded, Denied, Invalid, RicordoError
from ricordo.hosts.bus.acts import document, forget, observe, recall
from ricordo.memory.engine import Ricordo
from ricordo.model import Principal
from ricordo.ports import Act, Fact, Request, Verifier
from ricordo.wire import read_ask, write_answer

_log = logging.getLogger(__name__)

Doer = Callable[..., Awaitable[Mapping[str, Any]]]

ACTS: dict[str, Doer] = {
    "observe": observe,
    "recall": recall,
    "document": document,
    "forget": forget,
}
"""What may be asked for."""


class Answering:
    """Answers requests on behalf of whoever a token vouches for.

    Args:
        usual: seconds that a request has where it does not say.
        longest: seconds that a request has at most.
    """

    def __init__(
        self, memory: Ricordo, verifier: Verifier, *, usual: float = 5.0, longest: float = 30.0
    ) -> None:
        self._memory = memory
        self._verifier = verifier
        self._usual = usual
        self._longest = longest

    async def answer(self, request: Request) -> bytes:
        """The answer to a request.

        Raises:
            RicordoError: whatever went wrong; of what nobody foresaw only that it did.
        """
        with self._memory.services.measures.act(Act.ANSWER) as doing:
            try:
                done = await self._answered(request)
            except RicordoError as error:
                doing.tell(Fact.OUTCOME, type(error).__name__)
                _log.info("a request was refused (%s: %s)", type(error).__name__, error)
                raise
            except Exception as error:
                # The edge of the program: one request must not end the others. By name only, for
                # the message of an unknown error may quote anything.
                _log.critical("a request failed unexpectedly (%s)", type(error).__name__)
                raise RicordoError("the request failed unexpectedly") from error
            doing.tell(Fact.OUTCOME, "answered")
            return done

    async def _answered(self, request: Request) -> bytes:
        principal = await self._principal(request)
        act = ACTS.get(request.what)
        if act is None:
            raise Invalid(f"nothing of that name can be asked for; there are {', '.join(ACTS)}")
        asked = read_ask(request.payload)
        seconds = min(request.deadline or asked.deadline or self._usual, self._longest)
        try:
            async with asyncio.timeout(seconds):
                return write_answer(
                    await act(self._memory, asked.body, principal=principal, seconds=seconds)
                )
        except TimeoutError as error:
            raise DeadlineExceeded(f"no answer to {request.what} within {seconds:g} s") from error

    async def _principal(self, request: Request) -> Principal:
        if request.token is None:
            raise Denied("a request needs a token in its header Authorization: Bearer …")
        principal = await self._verifier.principal(request.token)
        if principal.tenant != request.tenant:
            raise Denied("the token is of another tenant than the subject")
        return principal
