"""As whom one comes to a NATS server.

Files are read for every connection, so that renewed ones count at once.
"""

import base64
import binascii
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from nats.aio.client import RawCredentials

from ricordo.adapters.nats.access import Access
from ricordo.errors import Denied, Invalid

_LARGEST = 1_000_000
"""Bytes that a file of credentials may have; real ones have a few thousand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a client is told, and what is said where the server refuses it.

    Args:
        options: of the client's `connect`.
        refused: names the setting, never a secret.
    """

    options: Mapping[str, Any] = field(repr=False)
    refused: str


def identity_of(access: Access, *, now: datetime) -> Identity:
    """What the access says; reads its files, so call it in a thread.

    Raises:
        Denied: a file cannot be read. Invalid: it holds something else.
    """
    if access.credentials is not None:
        return _by_credentials(access.credentials, now=now)
    if access.nkey is not None:
        return _by_key(access.nkey)
    if access.token is not None:
        return Identity(options={"token": access.token}, refused="it refuses nats_token")
    if access.user is not None:
        return Identity(
            options={"user": access.user, "password": access.password or ""},
            refused=f"it refuses nats_user {access.user!a} with that nats_password",
        )
    known = " and may not know nats_certificate as a user's" if access.certificate else ""
    return Identity(
        options={},
        refused=f"it wants to know who comes{known}; set nats_user and nats_password, nats_token, "
        "nats_nkey, or nats_credentials",
    )


def _by_credentials(path: Path, *, now: datetime) -> Identity:
    text = _read(path, setting="nats_credentials")
    jwt, seed = _block(text, "NATS USER JWT"), _block(text, "USER NKEY SEED")
    if jwt is None or seed is None:
        raise Invalid(f"nats_credentials {path} holds no JWT of a user with its key")
    _public_key(seed, path=path, setting="nats_credentials")
    refused = f"it refuses nats_credentials {path}"
    ended = _end(jwt)
    if ended is not None and ended <= now:
        refused += f", which expired at {ended:%Y-%m-%d %H:%M} UTC; put new ones there"
    # Written anew: the client's own reading never ends where a line is missing.
    parts = (
        f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )
    return Identity(options={"user_credentials": RawCredentials(parts)}, refused=refused)


def _by_key(path: Path) -> Identity:
    text = _read(path, setting="nats_nkey")
    lines = (line.strip() for line in text.splitlines())
    seed = next((line for line in lines if line.startswith("SU")), "")
    public = _public_key(seed, path=path, setting="nats_nkey")
    return Identity(
        options={"nkeys_seed_str": seed},
        refused=f"it refuses nats_nkey {path}; its public key is {public}",
    )


def _read(path: Path, *, setting: str) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST).decode()
    except OSError as error:
        raise Denied(f"{setting} {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Invalid(f"{setting} {path} is no text") from error


def _block(text: str, name: str) -> str | None:
    """The line after the one that begins a block of that name."""
    lines = [line.strip() for line in text.splitlines()]
    for number, line in enumerate(lines[:-1]):
        if f"BEGIN {name}" in line:
            return lines[number + 1] or None
    return None


def _public_key(seed: str, *, path: Path, setting: str) -> str:
    try:
        nkeys: Any = importlib.import_module("nkeys")
    except ImportError as error:
        raise ImportError(
            f"{setting} needs nkeys; install the extra with: pip install 'ricordo[nats]'"
        ) from error
    try:
        raw = bytes(nkeys.decode_seed(bytearray(seed.encode()))[1])
        if nkeys.encode_seed(raw, nkeys.PREFIX_BYTE_USER).decode() != seed:
            raise ValueError
        pair = nkeys.from_seed(bytearray(seed.encode()))
        return cast("bytes", pair.public_key).decode()
    except (nkeys.NkeysError, ValueError):
        # Without its cause, which may quote the seed.
        raise Invalid(f"{setting} {path} holds no seed of a user's key") from None


def _end(jwt: str) -> datetime | None:
    """When a JWT expires; None where it says nothing that can be read. The server decides."""
    part = [*jwt.split("."), ""][1]
    try:
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        return datetime.fromtimestamp(claims["exp"], UTC)
    except (binascii.Error, ValueError, KeyError, TypeError, OverflowError, OSError):
        return None
