"""The platform's requests to keep what was said: queued durably, as turns of their own run."""

import logging

from ricordo.errors import Denied, Erased, Unreadable
from ricordo.hosts.swiss.counting import Counts
from ricordo.hosts.swiss.identity import Identity
from ricordo.hosts.swiss.payload import moment
from ricordo.hosts.swiss.requests import StoreRequest, read_store
from ricordo.hosts.swiss.subject import Sort, Subject
from ricordo.memory.engine import Ricordo
from ricordo.model import Principal, Turn
from ricordo.ports import Delivery

_log = logging.getLogger(__name__)


class Storing:
    """Queues what was said in a run.

    Args:
        writer: see `ricordo.hosts.swiss.requests.read_store`.
        active: False drops every request.
    """

    def __init__(
        self,
        memory: Ricordo,
        *,
        identity: Identity,
        counts: Counts,
        writer: str | None,
        active: bool,
    ) -> None:
        self._memory = memory
        self._identity = identity
        self._counts = counts
        self._writer = writer
        self._active = active

    async def handle(self, delivery: Delivery) -> None:
        """Queue one request; the same run again changes nothing.

        Raises:
            Unreadable, Denied: it is no request, or nobody vouches for whom it names.
            Unavailable: it cannot be queued just now.
        """
        subject = Subject.parse(delivery.subject)
        if subject.sort is not Sort.CONTROL:
            raise Unreadable("a display event triggers nothing")
        request = read_store(delivery.payload, subject=subject, writer=self._writer)
        principal = await self._principal(request, subject=subject, delivery=delivery)
        if not self._active or not request.said:
            self._counts.dropped += 1
            return
        turn = Turn(
            thread_id=request.thread_id,
            display_id=request.display_id,
            run_id=request.run_id,
            agent=request.agent,
            # A clock that goes ahead must not make of old words new ones, said after an erasure.
            at=min(moment(request.created_at), delivery.at),
            said=request.said,
        )
        try:
            fresh = await self._memory.user(principal, agent=request.agent).observe(turn)
        except Erased:
            self._counts.dropped += 1
            _log.info("a person was erased after they said what an event wants to be kept")
            return
        self._counts.stored += fresh
        self._counts.repeated += not fresh

    async def _principal(
        self, request: StoreRequest, *, subject: Subject, delivery: Delivery
    ) -> Principal:
        principal = await self._identity.of_token(delivery.token)
        if principal is not None:
            self._identity.check_same(principal, request.person)
            return principal
        if request.person is None:
            raise Denied("the event names nobody")
        principal = self._identity.of_word(request.person, subject=subject)
        if principal is None:
            raise Denied("nobody vouches for whom the event names; see protocol_trust")
        return principal
