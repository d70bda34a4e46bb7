"""Keys by which tokens are known: one, or a set in a file that may be renewed."""

import asyncio
import json
from pathlib import Path
from typing import Any, Protocol

import jwt
from jwt.exceptions import PyJWTError

from ricordo.errors import Denied, Invalid

SHORTEST = 32
"""Bytes of a secret for HS256; a shorter one can be guessed from a token."""

_LARGEST = 1_048_576


class Keys(Protocol):
    """Finds the key of a token."""

    async def key(self, name: str | None) -> Any:
        """The key of that name. Raises `Denied` where there is none."""
        ...


class OneKey:
    """One key, whatever a token calls it."""

    def __init__(self, key: Any) -> None:
        self._key = key

    @classmethod
    def secret(cls, value: str) -> "OneKey":
        """A secret that whoever issues the tokens has as well. Raises `Invalid`: too short."""
        if len(value.encode()) < SHORTEST:
            raise Invalid(f"token_secret is too short; HS256 needs at least {SHORTEST} bytes")
        return cls(value)

    async def key(self, name: str | None) -> Any:
        """See `Keys`."""
        del name
        return self._key


class KeySet:
    """Public keys in a file: a PEM, or a JSON set of keys (JWKS) that are told apart by name.

    The file is read again where a token names a key that is not in it, if it has changed since.
    """

    def __init__(self, path: Path, *, algorithm: str) -> None:
        self._path = path
        self._algorithm = algorithm
        self._keys: dict[str | None, Any] = {}
        self._seen: tuple[int, int] | None = None
        self._reading = asyncio.Lock()

    @classmethod
    async def open(cls, path: Path, *, algorithm: str) -> "KeySet":
        """Read the file. Raises `Invalid` where it has no key for the algorithm."""
        keys = cls(path, algorithm=algorithm)
        await keys._renew()
        return keys

    async def key(self, name: str | None) -> Any:
        """See `Keys`."""
        found = self._find(name)
        if found is None:
            async with self._reading:
                try:
                    await self._renew()
                except Invalid as error:
                    raise Denied("the token's key is not known, nor the file readable") from error
            found = self._find(name)
        if found is None:
            raise Denied("the token's key is not known")
        return found

    def _find(self, name: str | None) -> Any:
        if None in self._keys:
            return self._keys[None]
        if name is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(name)

    async def _renew(self) -> None:
        found = await asyncio.to_thread(_read, self._path, self._algorithm, self._seen)
        if found is not None:
            self._seen, self._keys = found


def _read(
    path: Path, algorithm: str, seen: tuple[int, int] | None
) -> tuple[tuple[int, int], dict[str | None, Any]] | None:
    """The file's keys; None where it is the one that was seen."""
    try:
        status = path.stat()
        mark = (status.st_mtime_ns, status.st_size)
        if mark == seen:
            return None
        if status.st_size > _LARGEST:
            raise Invalid(f"token_keys {path} is no file of keys; it has {status.st_size:,} bytes")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"token_keys {path} cannot be read ({type(error).__name__})") from error
    keys = _of_set(text, algorithm) if text.lstrip().startswith("{") else _of_pem(text, algorithm)
    if not keys:
        raise Invalid(f"token_keys {path} has no public key for {algorithm}")
    return mark, keys


def _of_set(text: str, algorithm: str) -> dict[str | None, Any]:
    try:
        listed = json.loads(text)["keys"]
        usable = [key for key in listed if key.get("use", "sig") == "sig" and "d" not in key]
        found = jwt.PyJWKSet(usable).keys
    except (PyJWTError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    fitting = [key for key in found if key.algorithm_name == algorithm]
    if len(fitting) > 1 and any(key.key_id is None for key in fitting):
        return {}  # nobody could tell them apart
    # A key without a name in a set of one is found by its being the only one.
    return {key.key_id or "": key.key for key in fitting}


def _of_pem(text: str, algorithm: str) -> dict[str | None, Any]:
    try:
        key = jwt.get_algorithm_by_name(algorithm).prepare_key(text)
    except (PyJWTError, ValueError, TypeError, NotImplementedError):
        return {}
    return {} if hasattr(key, "private_bytes") else {None: key}
