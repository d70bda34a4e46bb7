"""Extraction by any chat client of the Microsoft Agent Framework."""

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from agent_framework import ChatResponse, Message, SupportsChatGetResponse

from ricordo.adapters.framework.answer import candidates, read, schema
from ricordo.adapters.framework.silence import MENDING, status_of
from ricordo.errors import DeadlineExceeded, Malformed, Unavailable
from ricordo.ports import Extraction, Instructions

log = logging.getLogger(__name__)

_PLAIN = (
    "Answer with one JSON object and nothing else, of exactly this shape: "
    '{"items": [{"kind": "preference" | "fact" | "none", "turn": number, "quote": string, '
    '"text": string, "relations": [{"source": string, "source_type": string, '
    '"relation": string, "target": string, "target_type": string}], '
    '"confidence": "high" | "medium" | "low", "replaces": [number]}]}'
)
_SHOWN = 4_000
_MENDING = MENDING | {413: "the request was too large for it: lower the token budget of a batch"}


@dataclass(slots=True)
class _Spent:
    """What the calls of one extraction cost, as the model reported it."""

    model: str = ""
    prompt: int | None = None
    completion: int | None = None

    def add(self, response: ChatResponse[Any]) -> None:
        usage = response.usage_details or {}
        self.model = response.model or self.model
        self.prompt = _sum(self.prompt, usage.get("input_token_count"))
        self.completion = _sum(self.completion, usage.get("output_token_count"))


def _sum(before: int | None, more: int | None) -> int | None:
    return before if more is None else (before or 0) + more


@dataclass(frozen=True, slots=True)
class _Manner:
    """How an endpoint is asked: what it has been found to understand."""

    schema: bool = True
    options: bool = True

    def simpler(self) -> "_Manner | None":
        """The next plainer way to ask; None when there is none."""
        if self.schema:
            return replace(self, schema=False)
        return replace(self, options=False) if self.options else None


@dataclass(slots=True)
class _Conversation:
    """The messages of one extraction; a repair adds to them."""

    instructions: Instructions
    added: list[Message] = field(default_factory=list[Message])

    def messages(self, *, manner: _Manner) -> list[Message]:
        system = self.instructions.system
        if not manner.schema:
            system = f"{system}\n\n{_PLAIN}"
        said = [("system", system)]
        for shown, right in self.instructions.examples:
            said += [("user", shown), ("assistant", right)]
        said.append(("user", self.instructions.material))
        return [Message(role=role, contents=[text]) for role, text in said] + self.added

    def mend(self, answer: str, *, fault: str) -> None:
        """Show the model its own answer and what was wrong with it."""
        complaint = (
            f"That could not be read: {fault}. Answer again, shorter if need be, with the complete "
            "JSON object and nothing else."
        )
        self.added = [
            Message(role="assistant", contents=[answer[:_SHOWN] or "(nothing)"]),
            Message(role="user", contents=[complaint]),
        ]


class FrameworkExtractor:
    """Asks a chat client once for everything worth remembering.

    An endpoint that does not take a response format (it answers HTTP 400 or 422) is asked in plain
    words from then on. The client is not closed: whoever opened it does.

    Args:
        client: any chat client of the framework.
        model: name of the model where it is not the client's own.
        max_items: items of an answer beyond this number are counted as faults, not read.
        max_tokens: longest answer; None leaves it to the endpoint.
        temperature: None leaves it to the endpoint.
        timeout: seconds that one call may take.
    """

    def __init__(
        self,
        client: SupportsChatGetResponse[Any],
        *,
        model: str | None = None,
        max_items: int = 64,
        max_tokens: int | None = 2_000,
        temperature: float | None = 0.0,
        timeout: float = 60.0,
    ) -> None:
        self._client = client
        self._model = model
        self._max_items = max_items
        self._max_tokens = max_tokens
        self._temperature = temperature
        self._timeout = timeout
        self._manner = _Manner()

    async def extract(self, instructions: Instructions) -> Extraction:
        """One call; a second one when the first answer must be repaired.

        Raises:
            Malformed: the answer stayed unreadable after the repair.
            Unavailable: the model did not answer; the message says when trying again is no use.
        """
        conversation, spent = _Conversation(instructions), _Spent()
        response = await self._ask(conversation)
        spent.add(response)
        try:
            items = read(response.text)
        except Malformed as exc:
            fault = _fault(exc, response=response)
            log.info("the answer of %s is repaired: %s", spent.model or "the model", fault)
            conversation.mend(response.text, fault=fault)
            response = await self._ask(conversation)
            spent.add(response)
            items = self._repaired(response)
        good, faults = candidates(items, most=self._max_items)
        return Extraction(
            candidates=good,
            faults=faults,
            model=spent.model or self._model or "",
            prompt_tokens=spent.prompt,
            completion_tokens=spent.completion,
        )

    def _repaired(self, response: ChatResponse[Any]) -> list[Any]:
        try:
            return read(response.text)
        except Malformed as exc:
            fault = _fault(exc, response=response)
            raise Malformed(
                f"the model's answer stayed unreadable after a repair: {fault}"
            ) from exc

    async def _ask(self, conversation: _Conversation) -> ChatResponse[Any]:
        """One answer, asked for in the plainest manner that the endpoint needs."""
        manner = self._manner
        while True:
            try:
                response = await self._call(conversation, manner=manner)
            except _NotUnderstood as exc:
                simpler = manner.simpler()
                if simpler is None:
                    raise Unavailable(
                        "the model endpoint does not accept the request (HTTP "
                        f"{exc.status}), even without options; trying again is no use: check the "
                        "model's name and its context length"
                    ) from exc.__cause__
                manner = simpler
                continue
            # Remembered only now: a request that is refused in every manner tells nothing.
            self._manner = manner
            return response

    async def _call(self, conversation: _Conversation, *, manner: _Manner) -> ChatResponse[Any]:
        messages = conversation.messages(manner=manner)
        options = self._options(conversation.instructions, manner=manner)
        limit = asyncio.timeout(self._timeout)
        try:
            async with limit:
                return await self._client.get_response(messages, stream=False, options=options)
        # Not broad by carelessness: the client is whatever was plugged in, and whatever it
        # raises means that there is no answer. Nothing else is inside this `try`.
        except Exception as exc:
            if limit.expired():
                raise DeadlineExceeded(
                    f"the model did not answer within {self._timeout:g} s"
                ) from exc
            _translate(exc)

    def _options(self, instructions: Instructions, *, manner: _Manner) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if self._model is not None:
            options["model"] = self._model
        if manner.options:
            if self._temperature is not None:
                options["temperature"] = self._temperature
            if self._max_tokens is not None:
                options["max_tokens"] = self._max_tokens
        if manner.schema:
            options["response_format"] = schema(instructions)
        return options


class _NotUnderstood(Exception):
    """The endpoint answered that the request is not one; perhaps a plainer one is."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def _fault(exc: Malformed, *, response: ChatResponse[Any]) -> str:
    cut = " (it was cut off at the token limit)" if response.finish_reason == "length" else ""
    return f"{exc}{cut}"


def _translate(exc: Exception) -> NoReturn:
    """Raise our error for a client's. Its message is left out: it may quote the request."""
    status = status_of(exc)
    if status in (400, 422):
        raise _NotUnderstood(status) from exc
    if status in _MENDING:
        raise Unavailable(
            f"the model endpoint answered HTTP {status}; trying again is no use: {_MENDING[status]}"
        ) from exc
    if status is not None:
        raise Unavailable(f"the model endpoint answered HTTP {status}; try again later") from exc
    raise Unavailable(f"the model's client failed with {type(exc).__name__}") from exc
