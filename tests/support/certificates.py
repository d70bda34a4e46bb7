"""Certificates for servers of the tests' own, made when they are needed."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Where a certificate and its key lie."""

    file: Path
    key: Path


class Authority:
    """Vouches for certificates; its own lies in `folder`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named("authority")
        made = _built(self._name, self._key.public_key(), issuer=self._name, authority=True)
        self.file = folder / "ca.pem"
        signed = made.sign(self._key, hashes.SHA256())
        self.file.write_bytes(signed.public_bytes(serialization.Encoding.PEM))

    def certify(
        self, name: str, *, host: str = "127.0.0.1", password: bytes | None = None
    ) -> Certificate:
        """A certificate for whoever is called so; `password` encrypts its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        made = _built(_named(name), key.public_key(), issuer=self._name, authority=False)
        signed = made.add_extension(_host(host), critical=False).sign(self._key, hashes.SHA256())
        found = Certificate(file=self._folder / f"{name}.pem", key=self._folder / f"{name}.key")
        found.file.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        locked = (
            serialization.NoEncryption()
            if password is None
            else serialization.BestAvailableEncryption(password)
        )
        form = serialization.PrivateFormat.PKCS8
        found.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, locked))
        return found


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _host(host: str) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))])


def _built(
    name: x509.Name, key: ec.EllipticCurvePublicKey, *, issuer: x509.Name, authority: bool
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(issuer, name, key, x509.random_serial_number())
    made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=9))
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )
    return made.add_extension(
        x509.BasicConstraints(ca=authority, path_length=None), critical=True
    ).add_extension(usage, critical=True)
