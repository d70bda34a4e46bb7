"""The errors of NATS and JetStream in the words of `ricordo.errors`."""

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

from nats import errors as raised
from nats.js import errors as stream

from ricordo.errors import (
    Conflict,
    DeadlineExceeded,
    Denied,
    Invalid,
    NotFound,
    RicordoError,
    Unavailable,
)

BY_CODE: dict[int, tuple[type[RicordoError], str]] = {
    10023: (Unavailable, "it has not the resources; look at its disk and limits"),
    10028: (Invalid, "there is no memory left in the account's limit"),
    10039: (Invalid, "JetStream is not enabled for this account; enable it in the server's config"),
    10047: (Unavailable, "its storage is full; raise its limit or the stream's"),
    10052: (Invalid, "it does not accept the stream's configuration"),
    10058: (Conflict, "a stream of that name is there with another configuration"),
    10059: (NotFound, "the stream is not there; run `ricordo events init`"),
    10065: (Conflict, "another stream has these subjects already; set another nats_prefix"),
    10074: (
        Invalid,
        "it is no cluster, or has too few nodes for that many replicas; set nats_replicas",
    ),
    10077: (Conflict, "the stream takes no more: raise its limits, or let it discard the oldest"),
    10076: (Invalid, "JetStream is not enabled; start the server with JetStream"),
    10005: (Invalid, "its cluster has too few nodes for that many replicas; set nats_replicas"),
}
"""By JetStream's own number of an error."""

BY_CLASS: tuple[tuple[type[Exception], type[RicordoError], str], ...] = (
    (raised.AuthorizationError, Denied, "it refuses the credentials"),
    (raised.InvalidUserCredentialsError, Denied, "the credentials cannot be used"),
    (raised.SecureConnRequiredError, Invalid, "it wants TLS; give a tls:// address"),
    (raised.SecureConnWantedError, Invalid, "it offers no TLS, which the address or nats_ca wants"),
    (raised.SecureConnFailedError, Unavailable, "no TLS connection could be made"),
    (raised.BadSubjectError, Invalid, "a subject cannot be used"),
    (raised.BadHeaderError, Invalid, "a header cannot be used"),
    (raised.MaxPayloadError, Invalid, "a message is larger than the server's max_payload"),
    (raised.TimeoutError, DeadlineExceeded, "no answer in time"),
    (stream.NoStreamResponseError, Unavailable, "no stream answers; its leader may be changing"),
    (raised.NoRespondersError, Unavailable, "nobody answers there"),
    (raised.NoServersError, Unavailable, "it cannot be reached"),
    (stream.NotFoundError, NotFound, "what was asked for is not there"),
    (stream.BadRequestError, Invalid, "it does not accept the request"),
    (stream.ServiceUnavailableError, Unavailable, "JetStream does not answer; is it enabled?"),
    (raised.Error, Unavailable, "the call failed"),
    (
        ssl.SSLCertVerificationError,
        Invalid,
        "its certificate is none that nats_ca vouches for, or names another host",
    ),
    (
        ssl.SSLError,
        Invalid,
        "no TLS connection could be made; where it wants a certificate, check nats_certificate",
    ),
    (TimeoutError, DeadlineExceeded, "no answer in time"),
    (OSError, Unavailable, "it cannot be reached"),
)
"""By class; the first that fits."""

_REFUSED = ("authorization violation", "authentication", "user jwt")

_PERMISSION = re.compile(r"permissions violation for (publish|subscription) to \"([^\"]+)\"")
_ACTS = {"publish": "publish to", "subscription": "subscribe to"}
_TELLING = 3
"""Parts of a subject that are shown; the others may name somebody."""


def told(error: Exception) -> tuple[type[RicordoError], str]:
    """What an error means here, and the way out. What a server says is not repeated."""
    code = cast("int | None", getattr(error, "err_code", None))
    if code in BY_CODE:
        return BY_CODE[code]
    if type(error) is raised.Error:
        words = str(error).lower()
        if found := _PERMISSION.search(words):
            return Denied, f"it does not allow to {_ACTS[found[1]]} {_shown(found[2])}"
        if "permissions violation" in words:
            return Denied, "it does not allow what was tried"
        if any(word in words for word in _REFUSED):
            return Denied, "it refuses the credentials"
    kind, reason = next(
        ((k, r) for cause, k, r in BY_CLASS if isinstance(error, cause)),
        (Unavailable, "the call failed"),
    )
    number = f", error {code}" if code else ""
    return kind, f"{reason} ({type(error).__name__}{number})"


def _shown(subject: str) -> str:
    """As much of a subject as says what is to be allowed; of JetStream's own, all of it."""
    parts = subject[:200].split(".")
    if parts[0] != "$js" and len(parts) > _TELLING:
        parts[_TELLING:] = [">"]
    return ascii(".".join(parts))


@asynccontextmanager
async def translated(address: str, *, deadline: float | None) -> AsyncGenerator[None]:
    """Let the calls inside take `deadline` seconds; raise their faults as errors of ours."""
    task = asyncio.current_task()
    before = task.cancelling() if task is not None else 0
    try:
        async with asyncio.timeout(deadline):
            yield
            # The client waits in a way that loses a cancellation where an answer comes with it.
            if task is not None and task.cancelling() > before:
                raise asyncio.CancelledError
    except tuple(kind for kind, _, _ in BY_CLASS) as error:
        kind, reason = told(error)
        raise kind(f"NATS at {address}: {reason}") from error
