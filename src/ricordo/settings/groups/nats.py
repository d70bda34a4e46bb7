"""The NATS server."""

from pathlib import Path

from pydantic import Field, SecretStr, field_validator

from ricordo.settings.group import Group
from ricordo.settings.reading import nats_addresses


class Nats(Group):
    """The server of events and of work, and what its streams keep."""

    nats_url: str | None = Field(
        default=None,
        description="Address of a NATS server with JetStream, or of several nodes parted by "
        "commas: `nats://host:4222` or `tls://host:4222`. Unset, events stay in this program. "
        "Needs `ricordo[nats]`.",
    )
    nats_user: str | None = Field(
        default=None, min_length=1, description="User at the NATS server, with `nats_password`."
    )
    nats_password: SecretStr | None = Field(
        default=None, description="Password at the NATS server."
    )
    nats_token: SecretStr | None = Field(
        default=None, description="Token for the NATS server, instead of a user."
    )
    nats_nkey: Path | None = Field(
        default=None,
        description="File of the seed of a key (nkey) that the NATS server knows, instead of a "
        "user.",
    )
    nats_credentials: Path | None = Field(
        default=None,
        description="File of credentials (JWT and key, `.creds`) for the NATS server, instead of a "
        "user.",
    )
    nats_ca: Path | None = Field(
        default=None,
        description="File of certificates by which a `tls://` server is known; unset, the "
        "system's. Set, nothing is said to a server without TLS.",
    )
    nats_certificate: Path | None = Field(
        default=None,
        description="File of the certificate that is shown to a NATS server that wants one.",
    )
    nats_certificate_key: Path | None = Field(
        default=None,
        description="File of that certificate's key; unset, it is in the same file.",
    )
    nats_prefix: str = Field(
        default="ricordo",
        pattern=r"^[A-Za-z0-9_-]{1,32}$",
        description="First part of every subject and of the streams' names. Each memory needs one "
        "of its own at a NATS server.",
    )
    nats_timeout: float = Field(
        default=5.0,
        gt=0,
        le=3600,
        description="Seconds after which a call to the NATS server has failed.",
    )
    nats_replicas: int = Field(
        default=1,
        ge=1,
        le=5,
        description="Copies of a stream that `ricordo events init` asks for; 3 needs a cluster of "
        "three nodes.",
    )
    nats_keep_days: float = Field(
        default=30.0,
        gt=0,
        le=36_500,
        description="Days for which streams keep events.",
    )
    nats_max_mb: int = Field(
        default=0,
        ge=0,
        le=1_000_000_000,
        description="Most megabytes of a stream, beyond which its oldest events go; 0 is no limit.",
    )
    nats_dedup_seconds: float = Field(
        default=120.0,
        ge=1,
        le=86_400,
        description="Seconds for which a stream knows an event that is published again.",
    )

    @field_validator("nats_url")
    @classmethod
    def _is_nats(cls, value: str | None) -> str | None:
        return value if value is None else nats_addresses(value)

    @field_validator(
        "nats_nkey", "nats_credentials", "nats_ca", "nats_certificate", "nats_certificate_key"
    )
    @classmethod
    def _nats_file_at_home(cls, value: Path | None) -> Path | None:
        return value if value is None else value.expanduser()

    def _check_nats(self) -> None:
        ways = ("nats_user", "nats_token", "nats_nkey", "nats_credentials")
        used = [way for way in ways if getattr(self, way) is not None]
        if len(used) > 1:
            raise ValueError(f"{' and '.join(used)} each say who comes to NATS; set one of them")
        if self.nats_password is not None and self.nats_user is None:
            raise ValueError("nats_password needs nats_user")
        if self.nats_certificate_key is not None and self.nats_certificate is None:
            raise ValueError("nats_certificate_key needs nats_certificate")
