"""Values as the environment writes them, in one line of text."""

import json
import re
from typing import Any
from urllib.parse import urlsplit

from ricordo.errors import Invalid
from ricordo.model import check_id

REDIS = ("redis://", "rediss://", "unix://")
"""How addresses of Redis begin."""

NATS = ("nats", "tls", "ws", "wss")
"""How addresses of NATS begin."""

_NO_TOKEN = re.compile(r"[.*>\s\ufffd]")

_NO_HOST = re.compile(r"[\x00-\x20\x7f*<>\"'\\\\]")


def identifier(value: str, *, what: str) -> str:
    """An id, as it is; raises `ValueError` for what can be none."""
    try:
        return check_id(value, what=what)
    except Invalid as error:
        raise ValueError(str(error)) from error


def history_address(value: str) -> str:
    """The address of a history, as it is; raises `ValueError` for one of an unknown kind."""
    if not value.startswith(("file://", "cosmos://", *REDIS)):
        raise ValueError(
            "a history's address begins with file://, redis://, rediss:// or cosmos://"
        )
    return value


def nats_addresses(value: str) -> str:
    """Addresses of nodes parted by commas, as they are; raises `ValueError` for anything else."""
    for address in value.split(","):
        scheme, _, host = address.strip().partition("://")
        if scheme not in NATS or not host:
            raise ValueError(f"an address begins with one of {', '.join(NATS)} and ://")
        if "@" in host:
            raise ValueError("set nats_user and nats_password, or nats_token, instead")
        if not _is_place(host):
            raise ValueError(
                "an address is nats://host or nats://host:port, with a port below 65536"
            )
    return value


def subject_token(value: str, *, what: str) -> str:
    """An id that is one token of a subject; raises `ValueError` for what can be none."""
    if _NO_TOKEN.search(value):
        raise ValueError(f"{what} is part of a subject: without a dot, *, > or white space")
    return identifier(value, what=what)


def agent_class(value: str, *, what: str) -> str:
    """The same of a class of agents, which holds no slash."""
    if "/" in value:
        raise ValueError(f"{what} holds a slash; a class of agents has none")
    return subject_token(value, what=what)


def _is_place(host: str) -> bool:
    """Whether that is a host with or without a port, and nothing else."""
    try:
        place = urlsplit(f"//{host}")
        return bool(place.hostname) and not _NO_HOST.search(host) and place.port != 0
    except ValueError:  # of a port that is none, or an address of IPv6
        return False


def pairs(text: str, *, what: str) -> dict[str, Any]:
    """What the environment writes as JSON, or as ``name=value`` parted by commas."""
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"neither JSON nor {what},{what}") from error
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    if any(not sign for _, sign, _ in parts):
        raise ValueError(f"it is written {what},{what}")
    return {name.strip(): value.strip() for name, _, value in parts}


def names(text: str) -> list[str]:
    """What the environment writes as JSON, or as names parted by commas."""
    if text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError("neither JSON nor names parted by commas") from error
    return [name.strip() for name in text.split(",")]


def read_grants(text: str) -> Any:
    """Grants as the environment writes them: JSON, or ``name=role`` parted by commas."""
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError("grants are neither JSON nor name=role,name=role") from error
    parts = [part.rpartition("=") for part in text.split(",") if part.strip()]
    if any(not sign for _, sign, _ in parts):
        raise ValueError("grants are written name=role,name=role")
    return {name.strip(): role.strip() for name, _, role in parts}
