"""How long an office has been seen unchanged, by the clock of whoever waits for it."""

from ricordo.columns.times import EARLIEST


class Seen:
    """Tells a holder that died from one whose clock goes ahead: only the latter keeps it up.

    A lease ends by its holder's clock. Where that clock was wrong, those that wait would wait for
    as long as it was; so they also take what did not change for the whole time of a lease.
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}

    def stale(self, office: str, /, *, now: int, lasts: int) -> int:
        """The end of a lease that was not begun anew in time; one that no lease has where all were.

        Args:
            now, lasts: the time, and how long a lease is, in microseconds.
        """
        until, since = self._seen.get(office, (EARLIEST, now))
        return until if now - since >= lasts else EARLIEST

    def note(self, office: str, /, *, until: int | None, now: int) -> None:
        """Another one holds the office until then, by its own clock; None where nobody does."""
        if until is None:
            self._seen.pop(office, None)
        elif until != self._seen.get(office, (None, 0))[0]:
            self._seen[office] = (until, now)
