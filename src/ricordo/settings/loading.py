"""Where settings come from: a TOML file, then the environment, then arguments; later wins."""

import difflib
import logging
import os
import re
import sys
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from pydantic import SecretStr, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import EnvSettingsSource, SettingsError

from ricordo.errors import Invalid
from ricordo.settings.fields import Settings
from ricordo.settings.secrets import shown_address

_log = logging.getLogger(__name__)

CONFIG_VARIABLE = "RICORDO_CONFIG"
ROLE_PASSWORD_VARIABLE = "RICORDO_ROLE_PASSWORD"  # noqa: S105  its name
"""Read by `ricordo init --postgres` only; no setting, for nothing else may know it."""

_PREFIX = "RICORDO_"
_OF_TESTS = "RICORDO_TEST_"
_LISTED = "; `ricordo doctor` lists all settings"
_SHOWN = 3
_HIDDEN = ("database", "nats_url")
"""Addresses whose secrets may stand where the mask does not look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Settings, and where each of them comes from.

    Args:
        settings: the validated values.
        sources: per field ``"default"``, ``"file …"``, ``"environment …"`` or ``"argument …"``.
        file: the settings file that was read; None without one.
        stray: environment variables that look like settings but are none, with a suggestion.
    """

    settings: Settings
    sources: Mapping[str, str]
    file: Path | None
    stray: tuple[str, ...] = ()

    def shown(self, name: str) -> str:
        """The value of one field as text; a secret is masked."""
        value: object = getattr(self.settings, name)
        if value is None:
            return "(unset)"
        if isinstance(value, SecretStr):
            return "********" if value.get_secret_value() else "(empty)"
        if isinstance(value, dict):
            pairs = cast("dict[str, object]", value)
            return ", ".join(f"{key}={_told(one)}" for key, one in pairs.items()) or "(none)"
        return shown_address(str(value)) if name == "database" else _told(value)


def _told(value: object) -> str:
    """A value as text; the password in an address is masked."""
    if isinstance(value, list):
        return "+".join(str(one) for one in cast("list[object]", value))
    return re.sub(r"(?<=://)([^/@]*?):[^@]*@", r"\1:********@", str(value))


def config_path() -> Path:
    """The settings file of a person, used where none is named or lies in the directory."""
    home = Path.home()
    if sys.platform == "win32":
        root = Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        root = home / "Library" / "Application Support"
    else:
        root = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return root / "ricordo" / "ricordo.toml"


def load_settings(
    arguments: Mapping[str, Any] | None = None,
    *,
    config: Path | str | None = None,
    warn: bool = True,
) -> Loaded:
    """Read file, environment and arguments; later wins.

    Args:
        arguments: values by field name; None values are passed over.
        config: the settings file. Without it: ``$RICORDO_CONFIG``, else ``./ricordo.toml``, else
            `config_path()`; the first that exists is the only one that is read.
        warn: log the environment's variables that look like settings and are none.

    Raises:
        Invalid: a value that is not allowed, an unknown key in the file, or no readable file where
            one was named; the message says which key, from where, and what is allowed.
    """
    path = _find(config)
    layers = [
        (f"file {path}", _from_file(path) if path else {}),
        ("environment", _from_environment()),
        ("argument", {k: v for k, v in (arguments or {}).items() if v is not None}),
    ]
    values: dict[str, Any] = {}
    sources = dict.fromkeys(Settings.model_fields, "default")
    for source, layer in layers:
        for name, value in layer.items():
            values[name] = value
            sources[name] = _source(source, name)
    try:
        settings = Settings(**values)
    except ValidationError as error:
        raise Invalid(_explain(error, sources)) from error
    stray = _stray()
    for line in stray if warn else ():
        _log.warning("%s", line)
    return Loaded(settings=settings, sources=sources, file=path, stray=stray)


def _source(layer: str, name: str) -> str:
    if layer == "environment":
        return f"environment {_PREFIX}{name.upper()}"
    return layer


def _find(config: Path | str | None) -> Path | None:
    named = config or os.environ.get(CONFIG_VARIABLE)
    if named:
        return Path(named).expanduser()
    return next((p for p in (Path("ricordo.toml"), config_path()) if p.is_file()), None)


def _from_file(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Invalid(f"settings file {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise Invalid(f"settings file {path} is not valid TOML: {error}") from error
    for key in values:
        if key not in Settings.model_fields:
            raise Invalid(f"settings file {path}: unknown setting {key!r}{_suggest(key)}")
    return values


def _from_environment() -> dict[str, Any]:
    try:
        return dict(EnvSettingsSource(Settings)())
    except SettingsError as error:
        raise Invalid(f"environment: {error}") from error


def _stray() -> tuple[str, ...]:
    known = {_PREFIX + name.upper() for name in Settings.model_fields} | {
        CONFIG_VARIABLE,
        ROLE_PASSWORD_VARIABLE,
    }
    strange = (
        name
        for name in sorted(os.environ)
        if name.startswith(_PREFIX) and not name.startswith(_OF_TESTS) and name not in known
    )
    return tuple(f"{name} is not a setting{_instead(name, known)}" for name in strange)


def _instead(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else _LISTED


def _suggest(key: str) -> str:
    close = difflib.get_close_matches(key, Settings.model_fields, n=1)
    return f"; did you mean {close[0]!r}?" if close else _LISTED


def _explain(error: ValidationError, sources: Mapping[str, str]) -> str:
    lines = [_line(detail, sources) for detail in error.errors(include_url=False)]
    more = f" (and {len(lines) - _SHOWN} more)" if len(lines) > _SHOWN else ""
    return "; ".join(lines[:_SHOWN]) + more


def _line(detail: ErrorDetails, sources: Mapping[str, str]) -> str:
    message = detail["msg"].removeprefix("Value error, ")
    if not detail["loc"]:
        return f"settings: {message}"
    name = str(detail["loc"][0])
    if detail["type"] == "extra_forbidden":
        return f"unknown setting {name!r}{_suggest(name)}"
    inside = "".join(f"[{part}]" for part in detail["loc"][1:])
    return f"setting {name}{inside} ({sources.get(name, 'argument')}): {message}{_got(detail)}"


def _is_secret(name: str) -> bool:
    field = Settings.model_fields.get(name)
    return field is not None and SecretStr in (field.annotation, *get_args(field.annotation))


def _got(detail: ErrorDetails) -> str:
    """The refused value, unless it may be a secret or says nothing."""
    value: object = detail["input"]
    name = str(detail["loc"][0])
    hidden = name in _HIDDEN or any(word in name for word in ("key", "view"))
    if hidden or _is_secret(name) or not isinstance(value, (str, int, float)):
        return ""
    return f" (got {ascii(_told(value))[:60]})"
