"""The table of exit codes: one per branch of the error tree, for scripts to tell them apart."""

from ricordo.errors import (
    Conflict,
    Corrupt,
    Denied,
    Invalid,
    NotFound,
    RicordoError,
    Unavailable,
)

DONE = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130

EXIT_CODES: dict[type[RicordoError], int] = {
    RicordoError: FAILED,
    Invalid: USAGE,
    NotFound: 3,
    Denied: 4,
    Conflict: 5,
    Unavailable: 6,
    Corrupt: 7,
}
"""A class that is not here has the code of its nearest ancestor that is."""


def exit_code(error: RicordoError) -> int:
    """The exit code of a command that ended in `error`."""
    return next(EXIT_CODES[cls] for cls in type(error).__mro__ if cls in EXIT_CODES)
