"""Conversations with questions whose evidence is known, from files of several shapes."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

OWN = Path(__file__).parent / "data"
LANGUAGES = ("en", "de", "fr", "it")
PARTS = ("first", "tune", "held-out")
"""Of our own chats and of the multilingual set, which has no first part."""

NOT_A_QUESTION = 5
"""LoCoMo's category of questions that have no answer."""

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop"}


@dataclass(frozen=True, kw_only=True)
class Line:
    """One memory to be: what was said, by whom, when and in which thread; `date` in words."""

    id: str
    text: str
    at: datetime
    thread: str | None = None
    date: str = ""


@dataclass(frozen=True, kw_only=True)
class Question:
    text: str
    evidence: frozenset[str]
    category: str = ""


@dataclass(frozen=True, kw_only=True)
class Talk:
    """Everything that one person's memory holds, and what is asked of it."""

    name: str
    lines: Sequence[Line]
    questions: Sequence[Question]


def locomo(path: Path, *, count: int = 10) -> list[Talk]:
    """Every turn as "Speaker: text", every session a thread; category 5 is skipped."""
    items = json.loads(path.read_text("utf-8"))[:count]
    return [_locomo_talk(number, item) for number, item in enumerate(items)]


def _locomo_talk(number: int, item: dict[str, Any]) -> Talk:
    lines = list(_locomo_lines(item["conversation"], number))
    known = {line.id for line in lines}
    questions = [
        Question(
            text=qa["question"],
            evidence=frozenset(_evidence(qa["evidence"]) & known),
            category=CATEGORIES[qa["category"]],
        )
        for qa in item["qa"]
        if qa["category"] != NOT_A_QUESTION
    ]
    asked = [question for question in questions if question.evidence]
    return Talk(name=f"locomo-{number}", lines=lines, questions=asked)


def _locomo_lines(conversation: dict[str, Any], number: int) -> Iterator[Line]:
    names = [name for name in conversation if re.fullmatch(r"session_\d+", name)]
    for name in sorted(names, key=lambda name: int(name.removeprefix("session_"))):
        begun = datetime.strptime(
            conversation[f"{name}_date_time"], "%I:%M %p on %d %B, %Y"
        ).replace(tzinfo=UTC)
        for place, turn in enumerate(conversation[name]):
            caption = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield Line(
                id=turn["dia_id"],
                text=f"{turn['speaker']}: {turn['text']}{caption}",
                at=begun + timedelta(seconds=place),
                thread=f"{number}-{name}",
                date=conversation[f"{name}_date_time"],
            )


def _evidence(said: Sequence[str]) -> set[str]:
    return {f"D{a}:{b}" for text in said for a, b in re.findall(r"D:?(\d+):(\d+)", text)}


def alone(talk: Talk) -> Talk:
    """The same as stand-alone sentences: the date in the text, no thread and so no neighbours."""
    lines = [replace(line, text=f"[{line.date}] {line.text}", thread=None) for line in talk.lines]
    return replace(talk, name=f"{talk.name}-alone", lines=lines)


def shortened(talk: Talk, *, threads: int) -> Talk:
    """Only the first threads, and what is asked about them."""
    first = list(dict.fromkeys(line.thread for line in talk.lines))[:threads]
    lines = [line for line in talk.lines if line.thread in first]
    kept = {line.id for line in lines}
    asked = [question for question in talk.questions if question.evidence <= kept]
    return replace(talk, name=f"{talk.name}-short", lines=lines, questions=asked)


def madial(path: Path) -> Talk:
    """Stand-alone memories, asked by the last lines of a dialogue."""
    [row] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    lines = [
        Line(id=turn["id"], text=turn["text"], at=datetime.fromisoformat(turn["date"] + "T12:00Z"))
        for turn in row["turns"]
    ]
    questions = [
        Question(text=item["q"], evidence=frozenset(item["evidence"])) for item in row["questions"]
    ]
    return Talk(name="madial", lines=lines, questions=questions)


def own(name: str, part: str) -> Talk:
    """One of our own people's chats, "messenger" or "assistant"; a part is one person's memory.

    "first" was looked at when signals were chosen, weights are tried on "tune", and "held-out"
    had no say in anything. A question's category says whether it is in the language of the chat.
    """
    rows = [json.loads(line) for line in (OWN / f"{name}.jsonl").read_text("utf-8").splitlines()]
    mine = [row for row in rows if row["part"] == part]
    lines = [
        Line(
            id=row["id"],
            text=f"{row['speaker']}: {row['text']}",
            at=datetime.fromisoformat(row["at"] + "Z") + timedelta(seconds=place),
            thread=row["thread"],
        )
        for place, row in enumerate(mine)
        if "text" in row
    ]
    questions = [
        Question(
            text=row["question"], evidence=frozenset(row["evidence"]), category=row["category"]
        )
        for row in mine
        if "question" in row
    ]
    return Talk(name=f"{name} {part}", lines=lines, questions=questions)


def multilingual(part: str) -> Talk:
    """Memories in four languages, each asked for in all four; `part` is "tune" or "held-out"."""
    rows = [
        json.loads(line) for line in (OWN / "multilingual.jsonl").read_text("utf-8").splitlines()
    ]
    mine = [row for row in rows if row["part"] == part]
    at = datetime(2026, 1, 1, tzinfo=UTC)
    questions = [
        Question(
            text=row["ask"][language],
            evidence=frozenset({row["id"]}),
            category="same language" if language == row["lang"] else "across languages",
        )
        for row in mine
        for language in LANGUAGES
    ]
    lines = [Line(id=row["id"], text=row["text"], at=at) for row in mine]
    return Talk(name=f"multilingual {part}", lines=lines, questions=questions)
