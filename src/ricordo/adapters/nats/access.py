"""Where a NATS server is, and what one shows it."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Where NATS is, and as whom one comes.

    Args:
        servers: addresses of one or more nodes, without secrets: ``nats://host:4222``.
        user, password: where the server knows users.
        token: where it knows one token.
        nkey: file of the seed of a key, where it knows public keys.
        credentials: file of a JWT and its key, where it knows accounts of an operator.
        authority: file of the certificates by which the server is known; the system's without.
        certificate: file of the certificate by which it knows this program, and of its key.
        certificate_key: file of that key, where it lies elsewhere.
        patience: seconds that a call may take, connecting included.
        inbox: first part of the subjects on which answers come.
    """

    servers: tuple[str, ...]
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    nkey: Path | None = None
    credentials: Path | None = None
    authority: Path | None = None
    certificate: Path | None = None
    certificate_key: Path | None = None
    patience: float = 5.0
    inbox: str = "_INBOX"

    @property
    def address(self) -> str:
        """The addresses, for people."""
        return ", ".join(self.servers)

    @property
    def encrypted(self) -> bool:
        """Whether nothing may travel in the clear: one address or setting of TLS is enough."""
        addressed = any(server.startswith(("tls://", "wss://")) for server in self.servers)
        return addressed or self.authority is not None or self.certificate is not None
