"""Addresses as they may be shown: what is secret in them is masked."""

import re

MASK = "********"

_PASSWORD = re.compile(r"(?<=://)([^/@?#:]*):.*@")
_PARAMETER = re.compile(r"(?i)\b((?:ssl)?password|passfile|sslkey)=[^&]*")


def shown_address(text: str) -> str:
    """A path as it is; a URL without the password that it may hold."""
    if "://" not in text:
        return text
    return _PARAMETER.sub(rf"\1={MASK}", _PASSWORD.sub(rf"\1:{MASK}@", text))
