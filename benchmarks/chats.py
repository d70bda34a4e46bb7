"""The labelled chats of the benchmark `extraction`: what was said, and what should come of it.

One JSON object per line of `data/extraction.jsonl`:

- ``id``, ``language`` (en, de, fr, it), ``part`` (tuning, held-back), ``about``;
- ``known``: memories from before: ``kind``, ``text``, ``relations`` as [source, relation, target];
- ``turns``: lists of [speaker, text]; speakers are user, assistant, tool, and ``pasted``: text of
  the user's that the host knows to be someone else's;
- ``expected``: ``kind`` (preference, fact, or either), ``any`` (see `benchmarks.matching`), the
  user's words for it (``quote``, any of several), ``relation`` as [relations, names] with ``|``
  between alternatives, ``replaces`` (number of the known memory that it makes untrue), and
  ``optional`` where both storing it and leaving it is right;
- ``forbidden``: what must not be stored: ``category`` and ``any``.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ricordo.model import EntityClaim, RelationClaim, Said, Speaker, Turn

FILE = Path(__file__).parent / "data" / "extraction.jsonl"
PARTS = ("tuning", "held-back")
LANGUAGES = ("en", "de", "fr", "it")
AGENT = "helper"

Words = tuple[tuple[str, ...], ...]
"""Alternatives, each a set of words that must all be there."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """A memory from before the chat."""

    kind: str
    text: str
    claims: tuple[RelationClaim, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Expected:
    """Something that should be stored."""

    kind: str
    any: Words
    quotes: tuple[str, ...]
    relations: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    replaces: int | None = None
    optional: bool = False


@dataclass(frozen=True, kw_only=True)
class Forbidden:
    """Something that must not be stored."""

    category: str
    any: Words


@dataclass(frozen=True, kw_only=True)
class Chat:
    """A short conversation with its labels."""

    id: str
    language: str
    part: str
    turns: tuple[tuple[tuple[str, str], ...], ...]
    known: tuple[Known, ...] = ()
    expected: tuple[Expected, ...] = ()
    forbidden: tuple[Forbidden, ...] = ()

    @property
    def own_words(self) -> tuple[str, ...]:
        """What the user said themselves, message by message."""
        return tuple(text for turn in self.turns for speaker, text in turn if speaker == "user")

    def as_turns(self, *, at: datetime) -> list[Turn]:
        """The chat as a host would observe it: one turn for each run of the agent, from `at` on."""
        return [
            Turn(
                thread_id=self.id,
                run_id=f"{self.id}-{number}",
                agent=AGENT,
                at=at + timedelta(minutes=number),
                said=tuple(_said(speaker, text) for speaker, text in turn),
            )
            for number, turn in enumerate(self.turns, start=1)
        ]


def load(path: Path = FILE) -> list[Chat]:
    """All labelled chats, in the order of the file."""
    return [_chat(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _said(speaker: str, text: str) -> Said:
    if speaker == "pasted":
        return Said(speaker=Speaker.USER, text=text, trusted=False)
    return Said(speaker=Speaker(speaker), text=text, trusted=speaker != "tool")


def _chat(row: Mapping[str, Any]) -> Chat:
    return Chat(
        id=row["id"],
        language=row["language"],
        part=row["part"],
        turns=tuple(tuple((speaker, text) for speaker, text in turn) for turn in row["turns"]),
        known=tuple(_known(each) for each in row.get("known", ())),
        expected=tuple(_expected(each) for each in row["expected"]),
        forbidden=tuple(
            Forbidden(category=each["category"], any=_words(each["any"]))
            for each in row.get("forbidden", ())
        ),
    )


def _known(row: Mapping[str, Any]) -> Known:
    claims = tuple(
        RelationClaim(
            source=EntityClaim(name=source), relation=relation, target=EntityClaim(name=target)
        )
        for source, relation, target in row.get("relations", ())
    )
    return Known(kind=row["kind"], text=row["text"], claims=claims)


def _expected(row: Mapping[str, Any]) -> Expected:
    relations, names = row.get("relation", ("", ""))
    return Expected(
        kind=row["kind"],
        any=_words(row["any"]),
        quotes=tuple(row["quote"]),
        relations=tuple(filter(None, relations.split("|"))),
        names=tuple(filter(None, names.split("|"))),
        replaces=row.get("replaces"),
        optional=row.get("optional", False),
    )


def _words(rows: Sequence[Sequence[str]]) -> Words:
    return tuple(tuple(row) for row in rows)
