"""`Ricordo`: one opened memory, and the ways into it."""

from collections.abc import Callable, Sequence
from datetime import datetime

from ricordo.memory.abreast import Begin, abreast
from ricordo.memory.consolidation import Habit, Keeper
from ricordo.memory.intake import Intake, Pace
from ricordo.memory.organization import UNSAID, OrganizationMemory, Unsaid
from ricordo.memory.pruning import Retention, prune
from ricordo.memory.readers import retire
from ricordo.memory.recall import Recaller
from ricordo.memory.relaying import Relay
from ricordo.memory.run import Ask
from ricordo.memory.services import Services
from ricordo.memory.stats import Stats, stats
from ricordo.memory.user import UserMemory
from ricordo.memory.viewing.leaving import LeftBehind, give_up
from ricordo.memory.watching import watch
from ricordo.model import Origin, Principal, Recollection
from ricordo.ports import EventBus, Extractor, Ledger, Reader, Signs


class Ricordo:
    """One opened memory. Whoever opened it closes it, and starts its worker if there is to be one.

    What is for people and agents hangs from a `Principal`: through `user` and `organization` nobody
    reads, writes or deletes without one. `ledger`, `services` and `events` are for whoever operates
    the memory as a whole: they see every tenant, and no host hands them on.
    """

    def __init__(
        self,
        services: Services,
        *,
        events: EventBus,
        pace: Pace,
        extractor: Extractor | None = None,
        make_extractor: Callable[[object], Extractor] | None = None,
        habit: Habit | None = None,
        reworder: Extractor | None = None,
        relay: Relay | None = None,
        keep: Retention | None = None,
        signs: Signs | None = None,
    ) -> None:
        self._services = services
        self._keep = keep or Retention()
        self.relay = relay
        self._recaller = Recaller(services)
        self.intake = Intake(services, pace=pace, extractor=extractor, signs=signs)
        self.keeper = Keeper(services, habit=habit or Habit(), extractor=reworder)
        self.events = events
        self.make_extractor = make_extractor

    @property
    def services(self) -> Services:
        """The engines behind it, for an operator's tools."""
        return self._services

    @property
    def ledger(self) -> Ledger:
        """The ledger behind it, for an operator's tools."""
        return self._services.ledger

    def user(self, principal: Principal, *, agent: str | None = None) -> UserMemory:
        """The principal's own memory, through an agent or (None) directly."""
        return UserMemory(
            self._services,
            principal=principal,
            agent=agent,
            recaller=self._recaller,
            intake=self.intake,
            keeper=self.keeper,
        )

    def organization(
        self, principal: Principal, *, namespace: str | Unsaid | None = UNSAID
    ) -> OrganizationMemory:
        """The organization's memory, as far as the principal is granted it.

        Args:
            namespace: the one to read and write; None is the tenant's common one. Left out: all
                granted ones are read, and the only writable one is written.
        """
        return OrganizationMemory(
            self._services,
            principal=principal,
            namespace=namespace,
            recaller=self._recaller,
            intake=self.intake,
        )

    async def recall(
        self,
        question: str,
        *,
        principal: Principal,
        agent: str | None = None,
        limit: int | None = None,
        tokens: int | None = None,
        deadline: float | None = None,
        hops: int | None = None,
        as_of: datetime | None = None,
        user: bool = True,
        organization: bool = True,
        namespaces: Sequence[str | None] | None = None,
        explain: bool = True,
        nearly: int = 0,
        origin: Origin | None = None,
    ) -> Recollection:
        """Find what helps with a question, in every memory that the principal may see.

        Args: as of `UserMemory.recall`.
        """
        ask = Ask(
            question=question,
            principal=principal,
            agent=agent,
            limit=limit,
            tokens=tokens,
            deadline=deadline,
            hops=hops,
            as_of=as_of,
            user=user,
            organization=organization,
            namespaces=None if namespaces is None else tuple(namespaces),
            explain=explain,
            nearly=nearly,
            origin=origin,
        )
        return await self._recaller.recall(ask)

    async def stats(self) -> Stats:
        """Count the whole file, and how long this process took: an operator's view, without ids."""
        return await stats(self._services)

    async def readers(self) -> list[Reader]:
        """Who reads events under a name, and how far behind they are: an operator's view. What one
        of them has yet to read is kept, however old it is."""
        return list(await self.ledger.readers())

    async def retire_reader(self, name: str) -> Reader:
        """Keep events no more for a reader that does not come back; erasures still wait for it.

        Should it come back, it is told how many events are gone that it never had.

        Raises:
            NotFound: nobody ever read under that name.
            Conflict: somebody reads under it just now, or it is of a view that is configured here.
        """
        return await retire(self._services, name)

    async def give_up_view(self, name: str) -> list[LeftBehind]:
        """Wait no more for a view that was switched off for good, or of one that is configured, for
        its builds in engines that the settings name no more; what must be deleted there by hand.

        From then on no receipt names them, whatever is left in those engines.

        Raises:
            NotFound: no build of such a view is known.
            Conflict: the settings name the view, and all of it lies where they say; or somebody
                feeds it just now.
        """
        return await give_up(self._services, name)

    async def run(self) -> None:
        """Do the work that goes on in the background, until cancelled: learning, counting, and
        keeping order. What fails unexpectedly is begun again, and ends nothing else."""
        works: dict[str, Begin] = {
            "ricordo-intake": self.intake.run,
            "ricordo-journal": self._services.journal.run,
            "ricordo-keeper": self.keeper.run,
            "ricordo-views": self._services.views.run,
            "ricordo-prune": lambda: prune(self._services, keep=self._keep),
        }
        if self._services.measures.telemetry is not None:
            works["ricordo-watch"] = lambda: watch(self._services, self.relay)
        if self.relay is not None:
            works["ricordo-relay"] = self.relay.run
        await abreast(works)
