"""The platform's requests to keep what was said: queued durably, as turns of their own run."""

import logging
from collections.abc import Sequence

from ricordo.errors import Denied, Erased, Invalid, Unreadable
from ricordo.hosts.swiss.counting import Counts
from ricordo.hosts.swiss.identity import Identity
from ricordo.hosts.swiss.marking import marked
from ricordo.hosts.swiss.payload import moment
from ricordo.hosts.swiss.requests import STORAGE_REQUESTED, StoreRequest, read_said, read_store
from ricordo.hosts.swiss.subject import Sort, Subject
from ricordo.memory.engine import Ricordo
from ricordo.model import Principal, Said, Speaker, Turn, UserScope
from ricordo.ports import Delivery, Exchange

_log = logging.getLogger(__name__)

_WAITING = 1_000
"""Waiting turns of one person that are looked through for a run that comes again."""

_BEGINNING = 1_000
"""Characters of a message by which it is known again; the middle of a long one is not kept."""


class Storing:
    """Queues what was said in a run.

    Args:
        exchange: where the requests lie.
        writer: see `ricordo.hosts.swiss.requests.read_store`.
        active: False drops every request.
    """

    def __init__(
        self,
        memory: Ricordo,
        exchange: Exchange,
        *,
        identity: Identity,
        counts: Counts,
        writer: str | None,
        active: bool,
    ) -> None:
        self._memory = memory
        self._exchange = exchange
        self._identity = identity
        self._counts = counts
        self._writer = writer
        self._active = active

    async def handle(self, delivery: Delivery) -> None:
        """Queue one request; the same run again changes nothing.

        Raises:
            Unreadable, Denied: it is no request, or nobody vouches for whom it names.
            Invalid: what was said in that run is kept already, and was something else.
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
        scope = UserScope(tenant=principal.tenant, user=principal.user)
        turn = await marked(
            turn, scope=scope, event_id=subject.event_id, ledger=self._memory.ledger
        )
        try:
            fresh = await self._memory.user(principal, agent=request.agent).observe(turn)
        except Erased:
            self._counts.dropped += 1
            _log.info("a person was erased after they said what an event wants to be kept")
            return
        if not fresh and await self._differs(turn, scope=scope, delivery=delivery):
            raise Invalid("something else of the same run is kept already; a run is stored once")
        self._counts.stored += fresh
        self._counts.repeated += not fresh

    async def _differs(self, turn: Turn, *, scope: UserScope, delivery: Delivery) -> bool:
        """Whether something else was kept of that run, as far as that still can be told: while it
        waits for a worker, or while the platform has the run's first request."""
        for known in await self._memory.ledger.waiting(scope=scope, limit=_WAITING):
            if (known.thread_id, known.run_id) == (turn.thread_id, turn.run_id):
                return _words(known.said) != _words(turn.said)
        subject = Subject.parse(delivery.subject)
        if subject.event_name != STORAGE_REQUESTED:
            return False
        payload = await self._exchange.first(delivery.source, subject=subject.run_alike)
        if payload is None:
            return False
        try:
            first = read_said(payload)
        except Unreadable:
            return False  # it was refused, and what is kept came later
        return _words(first) != _words(turn.said)

    async def _principal(
        self, request: StoreRequest, *, subject: Subject, delivery: Delivery
    ) -> Principal:
        principal = await self._identity.of_token(delivery.token)
        if principal is not None:
            self._identity.check_same(principal, request.person)
            return principal
        if request.person is None:
            raise Denied("the event names nobody")
        principal = self._identity.of_word(
            request.person, subject=subject, origin=request.agent if request.handed_over else None
        )
        if principal is None:
            raise Denied("nobody vouches for whom the event names; see protocol_trust")
        return principal


def _words(said: Sequence[Said]) -> list[tuple[Speaker, str]]:
    """Who said what, as far as it is kept of long messages too."""
    return [(one.speaker, one.text[:_BEGINNING]) for one in said]
