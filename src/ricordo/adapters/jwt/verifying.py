"""From a token to the person whom it vouches for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import jwt
from jwt.exceptions import PyJWTError

from ricordo.adapters.jwt.keys import Keys
from ricordo.errors import Denied, Invalid
from ricordo.model import Grant, Principal, Role

LONGEST = 16_384
"""Characters of a token that is looked at."""

_LEEWAY = 5.0
"""Seconds by which clocks may differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Names of the claims that say who somebody is.

    Args:
        tenant, user: hold an id each.
        grants: an object of namespaces, each with a role; the empty name is the common namespace.
            A token need not have it.
    """

    tenant: str = "tenant"
    user: str = "sub"
    grants: str = "grants"


class JwtVerifier:
    """Implements `ricordo.ports.Verifier` on signed tokens.

    Args:
        algorithm: the only one that is accepted, whatever a token says of itself.
        issuer, audience: which a token must name; it must name when it expires as well.
    """

    def __init__(
        self, keys: Keys, *, algorithm: str, issuer: str, audience: str, claims: Claims
    ) -> None:
        self._keys = keys
        self._algorithm = algorithm
        self._issuer = issuer
        self._audience = audience
        self._claims = claims

    async def principal(self, token: str) -> Principal:
        """See `ricordo.ports.Verifier`."""
        if len(token) > LONGEST:
            raise Denied(f"the token has {len(token):,} characters; at most {LONGEST:,} are read")
        try:
            header = cast("Mapping[str, Any]", jwt.get_unverified_header(token))
            if header.get("alg") != self._algorithm:
                raise Denied(f"the token is not signed with {self._algorithm}")
            key = await self._keys.key(cast("str | None", header.get("kid")))
            found = cast(
                "Mapping[str, Any]",
                jwt.decode(
                    token,
                    key,
                    algorithms=[self._algorithm],
                    issuer=self._issuer,
                    audience=self._audience,
                    leeway=_LEEWAY,
                    options={"require": ["exp", "iss", "aud"]},
                ),
            )
        except (PyJWTError, ValueError, TypeError, RecursionError) as error:
            raise Denied(f"the token is not accepted ({type(error).__name__})") from error
        return self._person(found)

    def _person(self, found: Mapping[str, Any]) -> Principal:
        claims = self._claims
        try:
            return Principal(
                tenant=found.get(claims.tenant, ""),
                user=found.get(claims.user, ""),
                grants=_grants(found.get(claims.grants)),
            )
        except (Invalid, ValueError) as error:
            raise Denied(
                f"the token's claims {claims.tenant}, {claims.user} and {claims.grants} do not say "
                "who somebody is, and what they may do"
            ) from error


def _grants(value: object) -> frozenset[Grant]:
    if value is None:
        return frozenset()
    if not isinstance(value, dict):
        raise Invalid("grants are an object of namespaces")
    listed = cast("Mapping[str, Any]", value)
    return frozenset(
        Grant(role=Role(role), namespace=namespace or None) for namespace, role in listed.items()
    )
