"""What a process does that answers requests."""

import asyncio

from ricordo.hosts.bus.answering import Answering
from ricordo.memory.engine import Ricordo
from ricordo.ports import Requests


class Service:
    """Answers the requests that come over a bus, until it is told to end."""

    def __init__(self, memory: Ricordo, requests: Requests, answering: Answering) -> None:
        self._memory = memory
        self._requests = requests
        self._answering = answering

    async def run(self) -> None:
        """Answer until cancelled; what recalls counted is written down meanwhile."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._memory.services.journal.run(), name="ricordo-journal")
            group.create_task(self._requests.serve(self._answering.answer), name="ricordo-requests")

    async def wind_down(self, *, within: float) -> bool:
        """Take no more requests; whether all that were taken are answered by then."""
        return await self._requests.wind_down(within=within)
