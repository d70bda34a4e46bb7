"""Requests over NATS, and the tokens that they bring."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator

from ricordo.settings.group import Group


class Answering(Group):
    """How requests are worked on, and whom they are believed to come from."""

    answer_concurrency: int = Field(
        default=16,
        ge=1,
        le=1_000,
        description="Requests that one `ricordo answer` works on at the same time.",
    )
    answer_seconds: float = Field(
        default=30.0,
        gt=0,
        le=3600,
        description="Seconds that a request over NATS has at most, whatever it asks for; one that "
        "does not say has 5.",
    )
    token_algorithm: Literal["HS256", "RS256", "EdDSA"] = Field(
        default="HS256",
        description="The only algorithm by which tokens of requests may be signed.",
    )
    token_secret: SecretStr | None = Field(
        default=None,
        description="Secret of whoever issues the tokens, for HS256; at least 32 bytes.",
    )
    token_keys: Path | None = Field(
        default=None,
        description="File of public keys for RS256 or EdDSA: a PEM, or a JSON set of keys (JWKS). "
        "It is read again when a token names a key that is not in it.",
    )
    token_issuer: str | None = Field(
        default=None, description="Who must have issued a token (`iss`)."
    )
    token_audience: str | None = Field(
        default=None, description="For whom a token must be (`aud`)."
    )
    token_tenant_claim: str = Field(
        default="tenant", min_length=1, description="The claim that holds the tenant."
    )
    token_user_claim: str = Field(
        default="sub", min_length=1, description="The claim that holds the user."
    )
    token_grants_claim: str = Field(
        default="grants",
        min_length=1,
        description="The claim that holds roles by namespace, as the setting `grants` has them; a "
        "token without it grants nothing of the organization's memory.",
    )

    @field_validator("token_keys")
    @classmethod
    def _keys_at_home(cls, value: Path | None) -> Path | None:
        return value if value is None else value.expanduser()
