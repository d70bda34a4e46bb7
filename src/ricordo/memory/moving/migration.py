"""A move: every row carried over, then both sides compared, then the target let go."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace

from ricordo.errors import Conflict
from ricordo.memory.moving.comparing import PAGE, Difference, Sum, Tally, differences, pages
from ricordo.memory.moving.notes import pulse
from ricordo.memory.moving.planning import Plan, changed
from ricordo.ports.moving import Movable, Row, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a move.

    Attributes:
        sums: what each table of the source holds.
        differences: rows that are not the same; the first ones of each table.
    """

    sums: Mapping[str, Sum]
    differences: tuple[Difference, ...]

    @property
    def sound(self) -> bool:
        """Whether both sides hold the same, so that the target can be used."""
        return not self.differences

    @property
    def rows(self) -> int:
        """Rows in all."""
        return sum(each.rows for each in self.sums.values())


class Migration:
    """Moves one ledger into another.

    What was moved is noted in the target together with the rows, so that it can be interrupted at
    any instant; a new one goes on where the last one stopped. Nobody else can open the target
    until both sides were compared.

    Args:
        source: is only read.
        target: empty, or as an interrupted move left it.
        plan: of the two.
    """

    def __init__(self, source: Movable, target: Movable, *, plan: Plan) -> None:
        self._source = source
        self._target = target
        self._plan = plan
        self._note = plan.note
        self._sums: dict[str, Sum] = {}
        self._differences: list[Difference] = []

    async def begin(self, *, restart: bool = False) -> None:
        """Let nobody else open the target from now on.

        Args:
            restart: remove first what an interrupted move brought.
        """
        kept = self._plan.kept
        if restart and kept is not None:
            await self._target.clear()
            kept = None
        if kept is None:
            await self._target.begin(self._plan.head.secret, note=self._note.text())

    async def move(self) -> AsyncIterator[int]:
        """Carry over what is left; yields how many rows more are there."""
        yield self._note.moved
        for number, (table, late) in enumerate(self._steps()):
            if number < self._note.step:
                continue
            after = self._note.after if number == self._note.step else None
            async for more in self._step(number, table, late=late, after=after):
                yield more

    async def verify(self) -> AsyncIterator[int]:
        """Compare both sides; yields how many rows more were read, of both."""
        for table in self._source.tables:
            tallies = Tally(), Tally()
            for end, tally in zip((self._source, self._target), tallies, strict=True):
                async for page in pages(end, table):
                    tally.add(page, table=table)
                    yield len(page)
            self._sums[table.name] = tallies[0].sum()
            if tallies[0] != tallies[1]:
                self._differences += await differences(self._source, self._target, table)

    async def finish(self) -> Outcome:
        """Let the target be used, if both sides hold the same.

        Raises:
            Conflict: the source changed meanwhile; the target cannot be used.
        """
        head = await self._source.head()
        same_secret = (await self._target.head()).secret == head.secret
        counts = await self._source.counts()
        if pulse(head, counts) != self._note.pulse or not same_secret:
            raise Conflict(changed(self._source, self._target))
        outcome = Outcome(sums=self._sums, differences=tuple(self._differences))
        if outcome.sound:
            await self._target.finish(head.counters, was=self._note.text())
        return outcome

    def _steps(self) -> list[tuple[Table, bool]]:
        """Each table, and once more for what refers to other rows of its own."""
        return [
            (table, late)
            for table in self._source.tables
            for late in ((False, True) if table.late else (False,))
        ]

    async def _step(
        self, number: int, table: Table, *, late: bool, after: Row | None
    ) -> AsyncIterator[int]:
        key = table.places(table.key)
        while True:
            page = await self._source.page(table, after=after, limit=PAGE)
            if page:
                after = tuple(page[-1][place] for place in key)
                await self._carry(page, table, late=late, reached=(number, after))
                yield 0 if late else len(page)
            if len(page) < PAGE:
                return

    async def _carry(
        self, page: list[Row], table: Table, *, late: bool, reached: tuple[int, Row]
    ) -> None:
        was = self._note.text()
        moved = self._note.moved + (0 if late else len(page))
        noted = replace(self._note, step=reached[0], after=reached[1], moved=moved)
        if late:
            places = table.places(table.late)
            linked = [row for row in page if any(row[place] is not None for place in places)]
            await self._target.link(table, linked, note=noted.text(), was=was)
        else:
            await self._target.put(table, page, note=noted.text(), was=was)
        self._note = noted
