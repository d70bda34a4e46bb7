"""Answers to the platform's requests to recall: always one, in time, and empty rather than none."""

import asyncio
import logging
from dataclasses import dataclass

from ricordo.errors import Denied, RicordoError, Unavailable, Unreadable
from ricordo.hosts.swiss import telling
from ricordo.hosts.swiss.counting import Counts
from ricordo.hosts.swiss.identity import Identity
from ricordo.hosts.swiss.payload import event_id, nanoseconds, read_json
from ricordo.hosts.swiss.requests import Person, RecallRequest, read_person, read_recall
from ricordo.hosts.swiss.subject import Sort, Subject
from ricordo.memory.asking import clamped
from ricordo.memory.engine import Ricordo
from ricordo.model import Origin, Principal, Recollection, UserScope
from ricordo.ports import Delivery, Exchange

_log = logging.getLogger(__name__)

LONGEST_QUESTION = 2_000
"""Characters of a question that are recalled by; most of them from its end, where people ask."""

STALE = 60.0
"""Seconds after which nobody waits for an answer any more. Older requests come where the platform
lost what it knew of ours, or nobody served for a while: they are answered with nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What was found; and by event: whose the memories are, and which."""

    found: telling.Found
    scopes: tuple[tuple[str, str, Recollection], ...]


class Answering:
    """Answers each request to recall.

    Args:
        deadline: seconds after which an answer is empty.
        active: False answers everything with nothing.
    """

    def __init__(
        self,
        memory: Ricordo,
        exchange: Exchange,
        *,
        identity: Identity,
        counts: Counts,
        deadline: float,
        active: bool,
    ) -> None:
        self._memory = memory
        self._exchange = exchange
        self._identity = identity
        self._counts = counts
        self._deadline = deadline
        self._active = active

    async def handle(self, delivery: Delivery) -> None:
        """Answer one request; again, the answer is the same event.

        Raises:
            Unreadable, Denied: it is no request, or not one of somebody who may ask. Where its
                subject tells who waits, they have an empty answer all the same.
            Unavailable: the answer could not be sent.
        """
        subject = Subject.parse(delivery.subject)
        if subject.sort is not Sort.CONTROL:
            raise Unreadable("a display event triggers nothing")
        fault: RicordoError | None = None
        answer: _Answer | None = None
        request: RecallRequest | None = None
        try:
            request = read_recall(delivery.payload, subject=subject)
            answer = await self._in_time(request, subject=subject, delivery=delivery)
        except (Unreadable, Denied) as error:
            fault = error
        await self._send(answer, request=request, subject=subject)
        if fault is not None:
            raise fault

    async def _in_time(
        self, request: RecallRequest, *, subject: Subject, delivery: Delivery
    ) -> _Answer | None:
        """What is remembered; nothing where that fails, or takes too long."""
        if not self._active or not request.question.strip():
            return None
        age = (self._memory.services.clock() - delivery.at).total_seconds()
        if age > STALE:
            _log.warning("a request to recall is %.0f s old; its answer is empty", age)
            return None
        try:
            async with asyncio.timeout(self._deadline):
                return await self._found(request, subject=subject, delivery=delivery)
        except (Unreadable, Denied):
            raise
        except Exception as error:  # noqa: BLE001 - the host's edge: somebody waits for an answer
            self._counts.failed += 1
            _log.warning("a recall failed (%s); its answer is empty", type(error).__name__)
            return None

    async def _found(
        self, request: RecallRequest, *, subject: Subject, delivery: Delivery
    ) -> _Answer | None:
        principal = await self._principal(request, subject=subject, delivery=delivery)
        if principal is None:
            return None
        granted = {grant.namespace for grant in principal.grants}
        wanted = tuple(n for n in request.namespaces if n in granted)
        recollection = await self._memory.user(principal, agent=subject.agent).recall(
            clamped(request.question, longest=LONGEST_QUESTION),
            organization=bool(wanted) or not request.namespaces,
            namespaces=wanted if request.namespaces else None,
            origin=Origin(
                at=delivery.at,
                agent=subject.agent,
                thread_id=subject.thread_id,
                display_id=subject.display_id,
                run_id=subject.run_id,
            ),
        )
        found = telling.parted(recollection)
        of_user, of_organization = telling.RETRIEVED
        person = UserScope(tenant=principal.tenant, user=principal.user)
        owner = await self._memory.ledger.subject(scope=person)
        scopes = [(of_user, owner, found.user)]
        if principal.grants:
            scopes.append((of_organization, principal.tenant, found.organization))
        return _Answer(found=found, scopes=tuple(scopes))

    async def _principal(
        self, request: RecallRequest, *, subject: Subject, delivery: Delivery
    ) -> Principal | None:
        principal = await self._identity.of_token(delivery.token)
        if principal is not None:
            self._identity.check_same(principal, request.person)
            return principal
        if self._identity.trust.tenant_of(subject.agent) is None:
            return None
        person = request.person or await self._starter(subject, source=delivery.source)
        return None if person is None else self._identity.of_word(person, subject=subject)

    async def _starter(self, subject: Subject, *, source: str) -> Person | None:
        """Whom the event names that started the run: a request to recall itself names nobody."""
        payload = await self._exchange.first(source, subject=subject.run_control)
        return None if payload is None else read_person(read_json(payload))

    async def _send(
        self, answer: _Answer | None, *, request: RecallRequest | None, subject: Subject
    ) -> None:
        at = nanoseconds(self._memory.services.clock())
        reply = subject.control(
            telling.RECALLED, event_id=event_id(subject.event_id, telling.RECALLED)
        )
        payload = telling.recalled(
            reply,
            answer.found if answer is not None else None,
            tool_call_id=request.tool_call_id if request is not None else None,
            at=at,
        )
        await self._publish(reply, payload)
        self._counts.answered += 1
        self._counts.empty += answer is None
        for name, owner, found in answer.scopes if answer is not None else ():
            told = subject.control(name, event_id=event_id(subject.event_id, name))
            await self._mention(told, telling.retrieved(told, found, owner=owner, at=at))

    async def _publish(self, subject: Subject, payload: bytes) -> None:
        if not await self._exchange.publish(str(subject), payload, message_id=subject.event_id):
            raise Unavailable(f"nothing keeps events of agents of class {subject.agent_class}")

    async def _mention(self, subject: Subject, payload: bytes) -> None:
        """Publish what nobody waits for: where it cannot be, whoever waited has been answered."""
        try:
            await self._publish(subject, payload)
        except RicordoError as error:
            _log.warning("%s was not published: %s", subject.event_name, error)
