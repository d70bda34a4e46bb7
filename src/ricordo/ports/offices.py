"""Work that one process of many may do at a time: offices of the ledger, held for a while."""

from datetime import datetime
from typing import Protocol


class Offices(Protocol):
    """Elects one holder per office.

    1. One at a time holds an office; when it is not kept up, another one may take it.
    2. A term is one uninterrupted holding: whoever takes an office over begins a higher term.
    3. Who lost an office can report nothing any more, however late it learns of that.
    """

    async def hold(self, office: str, *, holder: str, at: datetime, seconds: float) -> int | None:
        """The term in which `holder` has the office for the next `seconds`; None when another one
        has it. The holder asks again, long before, to keep it.

        Whoever asks again and again takes it from a holder that died within two times `seconds`,
        however wrong that one's clock was."""
        ...

    async def vacate(self, office: str, *, holder: str) -> None:
        """Let another one take it at once; no error when one has."""
        ...

    async def report(self, office: str, *, position: int, term: int) -> bool:
        """Acknowledge for the consumer that is named like the office; False, changing nothing, when
        that term is over."""
        ...
