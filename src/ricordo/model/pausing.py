"""How long to wait before another try."""

_DOUBLINGS = 16
"""Doublings of a pause; a power of two that goes on growing is a number too large for one."""


def pause_after(failures: int, *, first: float, worst: float) -> float:
    """Seconds to wait after so many failures in a row, however many: twice as long each time.

    Args:
        first: seconds that are doubled.
        worst: seconds of the longest pause.
    """
    return min(worst, first * 2 ** min(failures, _DOUBLINGS))
