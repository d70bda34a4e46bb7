"""TLS to a NATS server: by whom it is known, and by what it knows this program."""

import ssl
from pathlib import Path

from ricordo.adapters.nats.access import Access
from ricordo.errors import Denied, Invalid


def tls_of(access: Access) -> ssl.SSLContext | None:
    """What TLS needs to know; None where nobody asked for it. Reads files: call it in a thread.

    Raises:
        Denied: a file cannot be read. Invalid: it holds something else, or an encrypted key.
    """
    if not access.encrypted:
        return None
    context = _trusting(access.authority)
    if access.certificate is not None:
        _show(context, access.certificate, key=access.certificate_key)
    return context


def certificate_refused(access: Access) -> str:
    """What is said where a server wants a certificate and ends the connection."""
    if access.certificate is None:
        return "it wants a certificate; set nats_certificate"
    return f"it does not accept nats_certificate {access.certificate}"


def _trusting(authority: Path | None) -> ssl.SSLContext:
    if authority is None:
        return ssl.create_default_context()
    _check_readable(authority, setting="nats_ca")
    try:
        return ssl.create_default_context(cafile=str(authority))
    except (OSError, ValueError) as error:
        raise Invalid(f"nats_ca {authority} is no file of certificates (PEM)") from error


def _show(context: ssl.SSLContext, certificate: Path, *, key: Path | None) -> None:
    _check_readable(certificate, setting="nats_certificate")
    told = f"nats_certificate {certificate}"
    if key is not None:
        _check_readable(key, setting="nats_certificate_key")
        told += f" and nats_certificate_key {key}"
    asked: list[bool] = []

    def password() -> str:
        asked.append(True)  # without an answer of ours, OpenSSL would ask at the terminal
        return ""

    try:
        context.load_cert_chain(certificate, key, password)
    except (OSError, ValueError) as error:
        if asked:
            raise Invalid(f"{told}: the key is encrypted; give one that is not") from error
        raise Invalid(f"{told} are no certificate and its key (PEM)") from error


def _check_readable(path: Path, *, setting: str) -> None:
    try:
        with path.open("rb"):
            return
    except OSError as error:
        raise Denied(f"{setting} {path} cannot be read: {error.strerror}") from error
