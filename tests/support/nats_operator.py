"""An operator of NATS: accounts and users known by signed JWTs, and what a server needs of it."""

import base64
import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import nkeys

_KINDS = {
    "operator": nkeys.PREFIX_BYTE_OPERATOR,
    "account": nkeys.PREFIX_BYTE_ACCOUNT,
    "user": nkeys.PREFIX_BYTE_USER,
}
_NO_LIMITS = {"subs": -1, "data": -1, "payload": -1}


class Key:
    """A pair of keys of somebody, who signs with it."""

    def __init__(self, kind: str) -> None:
        self.seed: str = nkeys.encode_seed(os.urandom(32), _KINDS[kind]).decode()
        self._pair: Any = nkeys.from_seed(bytearray(self.seed.encode()))
        self.public: str = self._pair.public_key.decode()

    def signed(self, kind: str, *, of: "Key", nats: dict[str, Any], **claims: Any) -> str:
        """A JWT about somebody."""
        body = {
            "iat": int(time.time()),
            "iss": self.public,
            "name": kind,
            "sub": of.public,
            "nats": {"type": kind, "version": 2, **nats},
            **claims,
        }
        hashed = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).digest()
        body["jti"] = base64.b32encode(hashed).decode().rstrip("=")
        head = _encoded({"typ": "JWT", "alg": "ed25519-nkey"})
        signing = f"{head}.{_encoded(body)}"
        return f"{signing}.{_text(self._pair.sign(signing.encode()))}"


class Account:
    """One account; the system's may keep no streams."""

    def __init__(self, operator: Key, *, system: bool = False) -> None:
        self.key = Key("account")
        limits: dict[str, Any] = {
            **_NO_LIMITS,
            "imports": -1,
            "exports": -1,
            "wildcards": True,
            "conn": -1,
            "leaf": -1,
        }
        if not system:
            limits |= {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
        self._operator = operator
        self._limits = limits
        self._users: dict[Path, Key] = {}
        self._revoked: dict[str, int] = {}

    @property
    def jwt(self) -> str:
        """As of now, by the operator's word."""
        nats = {"limits": self._limits, "revocations": self._revoked}
        return self._operator.signed("account", of=self.key, nats=nats)

    def revoke(self, file: Path) -> None:
        """Let the credentials that were written there last be of no use from now on."""
        self._revoked[self._users[file].public] = int(time.time())

    def credentials(
        self, file: Path, *, expires: int | None = None, allowed: dict[str, Any] | None = None
    ) -> Path:
        """Write a new user's credentials.

        Args:
            expires: seconds since 1970; None never.
            allowed: permissions, as a JWT has them; None is everything.
        """
        user = self._users[file] = Key("user")
        claims = {} if expires is None else {"exp": expires}
        jwt = self.key.signed("user", of=user, nats={**_NO_LIMITS, **(allowed or {})}, **claims)
        file.write_text(
            f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{user.seed}\n------END USER NKEY SEED------\n"
        )
        return file


class Operator:
    """Vouches for accounts; `config` is what a server is told of them, from memory."""

    def __init__(self) -> None:
        self._key = Key("operator")
        # Once: a server does not take another one while it runs.
        self._jwt = self._key.signed("operator", of=self._key, nats={})
        self._system = Account(self._key, system=True)
        self.account = Account(self._key)

    @property
    def config(self) -> str:
        known = "\n".join(f"{a.key.public}: {a.jwt}" for a in (self._system, self.account))
        return (
            f"operator: {self._jwt}\nsystem_account: {self._system.key.public}\n"
            f"resolver: MEMORY\nresolver_preload: {{\n{known}\n}}"
        )


def _encoded(value: dict[str, Any]) -> str:
    return _text(json.dumps(value, separators=(",", ":")).encode())


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")
