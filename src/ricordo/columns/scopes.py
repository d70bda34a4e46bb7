"""Scopes as columns, and the keyed hash that an erased one leaves behind."""

import hmac
import json

from ricordo.errors import Invalid
from ricordo.model import OrganizationScope, Scope, UserScope

NOWHERE = 0
"""The number of a scope that holds nothing; no row has it."""


def scope_key(scope: Scope) -> tuple[str, str, str]:
    """What identifies a scope: its kind, tenant and owner, compared byte for byte."""
    if isinstance(scope, UserScope):
        return "user", scope.tenant, scope.user
    return "organization", scope.tenant, scope.namespace or ""


def scope_from(kind: str, tenant: str, owner: str) -> Scope:
    """A scope from its row."""
    if kind == "user":
        return UserScope(tenant=tenant, user=owner)
    return OrganizationScope(tenant=tenant, namespace=owner or None)


def subject_of(scope: Scope, secret: bytes) -> str:
    """The keyed hash under which an erased scope is remembered."""
    return hmac.digest(secret, json.dumps(scope_key(scope)).encode(), "sha256").hex()


def sealed(value: str, secret: bytes) -> str:
    """The keyed hash of a value that is no scope."""
    return hmac.digest(secret, b"value\0" + value.encode(), "sha256").hex()


def check_keys(*keys: str) -> None:
    """Raise `Invalid` for an id or name that could not be found again exactly."""
    for key in keys:
        if not key or "\0" in key:
            raise Invalid(f"{key[:40]!a} is empty or contains a NUL character; mend it")
