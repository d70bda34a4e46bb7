"""Completions of a real model, kept to be given again for the same request, and never for another.

A request is known by a digest of what the model reads: the messages, and the fields of the answer
that is asked for. Ids and instants are left out of it, for they differ from run to run and mean
nothing to a model.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

_ID = re.compile(r"\b(?:[a-z]{1,8}_[0-9a-f]{20}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b")
_INSTANT = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?")
_SHOWN = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One completion as a model gave it, unedited.

    Args:
        digest: of the request.
        asked: the beginning of the last message, for people who read the file.
        text: the completion.
        finish: why the model stopped.
        model: who answered.
        prompt_tokens, completion_tokens: as the endpoint reported them.
        recorded: the day.
    """

    digest: str
    asked: str
    text: str
    finish: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    recorded: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What an endpoint sends back: a status and a JSON object."""

    body: Mapping[str, Any]
    status: int = 200


Answer = Callable[[dict[str, Any]], Reply]
"""Decides on the reply to a request's JSON body; called on the request's own thread."""


def digest(request: Mapping[str, Any]) -> str:
    """Equal for two requests that ask a model the same."""
    asked = {
        "messages": [
            [message.get("role"), _normal(_text(message))] for message in _messages(request)
        ],
        "shape": sorted(_names(request.get("response_format"))),
    }
    canonical = json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]


def recording(request: Mapping[str, Any], completion: Mapping[str, Any], *, day: str) -> Recording:
    """What must be kept of an endpoint's answer."""
    choice = completion["choices"][0]
    usage: Mapping[str, Any] = completion.get("usage") or {}
    return Recording(
        digest=digest(request),
        asked=_text(_messages(request)[-1])[:_SHOWN],
        text=choice["message"].get("content") or "",
        finish=choice.get("finish_reason") or "stop",
        model=str(completion.get("model") or request.get("model") or "unknown"),
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        completion_tokens=int(usage.get("completion_tokens") or 0),
        recorded=day,
    )


@dataclass(frozen=True, slots=True)
class Replay:
    """Gives recorded completions to the requests that they belong to."""

    recordings: Mapping[str, Recording] = field(default_factory=dict[str, Recording])

    @property
    def models(self) -> tuple[str, ...]:
        """What the endpoint calls itself: it says that it only repeats."""
        return tuple(dict.fromkeys(f"recorded:{one.model}" for one in self.recordings.values()))

    def __call__(self, request: dict[str, Any]) -> Reply:
        """The recorded completion, or an error: an answer is never made up."""
        wanted = digest(request)
        found = self.recordings.get(wanted)
        return unknown(wanted) if found is None else Reply(_completion(found))


def unknown(wanted: str) -> Reply:
    """The error for a request that nothing was recorded for."""
    message = (
        f"No completion was recorded for this request ({wanted}). This endpoint only repeats what "
        "a model said when the demonstration was recorded; record it anew with "
        "tools/record_demo.py, or point your client at a real model."
    )
    return Reply(
        {"error": {"message": message, "type": "not_recorded", "code": "not_recorded"}}, status=404
    )


def load(path: Path | None = None) -> Replay:
    """The recordings in a file; without a path, those that come with the package."""
    source = files("ricordo.hosts.demo").joinpath("recordings.json") if path is None else path
    rows = cast("list[dict[str, Any]]", json.loads(source.read_text(encoding="utf-8")))
    kept = [Recording(**row) for row in rows]
    return Replay({one.digest: one for one in kept})


def save(recordings: Sequence[Recording], *, path: Path) -> None:
    """Write recordings to a file, in the order in which they were made."""
    rows = [asdict(one) for one in recordings]
    path.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _completion(found: Recording) -> dict[str, Any]:
    return {
        "id": f"recorded-{found.digest[:12]}",
        "object": "chat.completion",
        "created": 0,
        "model": f"recorded:{found.model}",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": found.text},
                "finish_reason": found.finish,
            }
        ],
        "usage": {
            "prompt_tokens": found.prompt_tokens,
            "completion_tokens": found.completion_tokens,
            "total_tokens": found.prompt_tokens + found.completion_tokens,
        },
    }


def _names(node: Any) -> set[str]:
    """The fields and choices of a schema, however a version of a library arranges them."""
    if isinstance(node, list):
        return set[str]().union(*map(_names, cast("list[Any]", node)))
    if not isinstance(node, dict):
        return set()
    fields = cast("dict[str, Any]", node)
    here = {str(name) for name in (*fields.get("properties", ()), *fields.get("enum", ()))}
    return here.union(*map(_names, fields.values()))


def _messages(request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    messages = request.get("messages")
    return cast("list[Mapping[str, Any]]", messages) if isinstance(messages, list) else []


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    parts = cast("list[Mapping[str, Any]]", content)
    return "\n".join(str(part.get("text", "")) for part in parts)


def _normal(text: str) -> str:
    return _INSTANT.sub("<time>", _ID.sub("<id>", text)).strip()
