"""Which engine the settings of a view name: enough to tell it from another, and never a secret."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

_TELLING = frozenset(
    {
        "account",
        "catalog",
        "cloud_id",
        "cluster_url",
        "connection_params",
        "connection_string",
        "contact_points",
        "database",
        "database_name",
        "db_name",
        "dbname",
        "deployment_index_id",
        "dsn",
        "endpoint",
        "endpoint_id",
        "endpoint_name",
        "environment",
        "host",
        "hostaddr",
        "index_id",
        "index_name",
        "keyspace",
        "mongo_uri",
        "namespace",
        "path",
        "port",
        "project_id",
        "project_number",
        "redis_url",
        "region",
        "region_name",
        "schema",
        "service_name",
        "table_name",
        "tenant",
        "url",
        "valkey_url",
        "vector_bucket_name",
        "vector_search_api_endpoint",
        "workspace_url",
    }
)
"""Those of the stores' settings that say where they are."""

_HIDDEN = "…"

_URL = re.compile(r"[a-z0-9+.-]+://(?:[^@/?#]*@)?([^@/?#]*)([^@?#]*)(?:[?#][^@]*)?", re.IGNORECASE)
"""An address; where a password makes it ambiguous, it is not one."""

_WORD = re.compile(r"(\w+)\s*=\s*('(?:\\.|[^'\\])*'|\S+)")

_BOLT = 7687


def store_place(store: Mapping[str, Any]) -> str:
    """Where one of mem0's stores is, by its configuration."""
    told = _told(store.get("config") or {})
    return ", ".join([str(store.get("provider")), *told])


def graph_place(url: str, database: str | None) -> str:
    """Which database of which graph server."""
    server = _shown(url)
    if ":" not in server.rpartition("]")[2]:
        server = f"{server}:{_BOLT}"
    return f"{server}, database {database}" if database else server


def _told(config: Mapping[str, Any]) -> list[str]:
    """By name, whatever tells where it is."""
    told: list[str] = []
    for name in sorted(_TELLING & config.keys()):
        value = config[name]
        if isinstance(value, Mapping):
            told += _told(cast("Mapping[str, Any]", value))
        elif isinstance(value, Sequence) and not isinstance(value, str):
            several = cast("Sequence[Any]", value)
            told.append(f"{name} {' '.join(_shown(str(one)) for one in several)}")
        elif value is not None:
            told.append(f"{name} {_shown(str(value), file=_is_file(name, str(value)))}")
    return told


def _is_file(name: str, value: str) -> bool:
    return name == "path" or (name == "url" and "://" not in value and value.endswith(".db"))


def _shown(value: str, *, file: bool = False) -> str:
    """A value without credentials; hidden where it cannot be told which part of it is one."""
    if file:
        return str(Path(value).expanduser().absolute())
    address = _URL.fullmatch(value)
    if address is not None:
        return f"{address[1]}{address[2].rstrip('/')}"
    if "://" in value:
        return _HIDDEN
    words: dict[str, str] = dict(_WORD.findall(value))
    telling = sorted(_TELLING & words.keys())
    if telling:
        return " ".join(words[name].strip("'") for name in telling)
    return _HIDDEN if "@" in value or "password" in value.casefold() else value
