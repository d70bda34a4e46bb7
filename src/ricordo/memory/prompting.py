"""Builds what a model is asked: a versioned prompt file, then numbered, delimited material.

Every line of the material begins with a mark that this module writes (``U1>`` a user's words in
turn 1, ``A1>`` the assistant's, ``D1>`` a text). A text from outside is put on one line, its white
space made single, so that it cannot begin a line, pose as another speaker, or end the material.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from ricordo.memory.budget import cut, estimate
from ricordo.model import Memory, Speaker, Turn, UserScope, clean_text
from ricordo.ports import Instructions

EXTRACT = "extract-1"
"""Version of the prompt that reads conversations; stored with each memory that came from it."""

RELATE = "relate-1"
"""Version of the prompt that reads relations out of a text stored without any."""

REWORD = "reword-1"
"""Version of the prompt that looks for one wording of two memories that say the same."""

_ASSISTANT_TOKENS = 60
_KNOWN_SHARE = 0.25
_LEAST_ITEMS = 2
_TOKENS_PER_ITEM = 8
_ABOUT_USER = 'Where a text names nobody ("Works on ..."), it is about "user".'

_SOURCE_CUT = re.compile(r"[UD]\d+ was cut ")

# Marks by which chat templates tell roles apart; in a text from outside they are words.
_TEMPLATE_MARK = re.compile(r"<(?=\||/?s>|(?:start|end)_of_turn>)|\[(?=/?INST\])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Line:
    """One message on its way into the material."""

    mark: str
    text: str
    source: bool


def extraction(
    turns: Sequence[Turn],
    existing: Sequence[Memory] = (),
    *,
    vocabulary_relations: Sequence[str],
    vocabulary_types: Sequence[str],
    budget_tokens: int = 4_000,
    open_vocabulary: bool = False,
) -> Instructions:
    """Ask for everything durable that the user said in these turns.

    Args:
        turns: of one user, in order; `Candidate.turn` counts them from 1.
        existing: what is known already; `Candidate.replaces` counts it from 1.
        vocabulary_relations, vocabulary_types: names that a relation and an entity may have.
        budget_tokens: for the material, without the prompt itself. What the user said is cut last,
            and where it is cut at the end of a sentence, a note says so.
        open_vocabulary: True lets the model name relations and types that are not listed.
    """
    known, listed = _known(existing, tokens=int(budget_tokens * _KNOWN_SHARE))
    body, notes = _fit(_lines(turns), tokens=budget_tokens - estimate(known))
    prompt = _prompt(
        EXTRACT,
        example=("user", "person", "lives_in", "Basel", "place"),
        relations=vocabulary_relations,
        types=vocabulary_types,
    )
    return Instructions(
        version=EXTRACT,
        system=prompt.system,
        examples=prompt.examples,
        material=f"{known}{body}",
        most=_most(body),
        known=listed,
        relations=() if open_vocabulary else tuple(vocabulary_relations),
        types=() if open_vocabulary else tuple(vocabulary_types),
        notes=(*_unlisted(existing, listed=listed), *notes),
    )


def relating(
    memories: Sequence[Memory],
    *,
    vocabulary_relations: Sequence[str],
    vocabulary_types: Sequence[str],
    budget_tokens: int = 4_000,
    open_vocabulary: bool = False,
) -> Instructions:
    """Ask for the relations in texts that were stored without any.

    Args:
        memories: of one scope; `Candidate.turn` counts them from 1.
        vocabulary_relations, vocabulary_types, budget_tokens, open_vocabulary: as in `extraction`.
    """
    lines = [
        _Line(f"D{number}>", memory.text, source=True)
        for number, memory in enumerate(memories, start=1)
    ]
    body, notes = _fit(lines, tokens=budget_tokens)
    personal = any(isinstance(memory.scope, UserScope) for memory in memories)
    prompt = _prompt(
        RELATE,
        example=("web shop", "product", "uses", "PostgreSQL", "technology"),
        relations=vocabulary_relations,
        types=vocabulary_types,
        personal=_ABOUT_USER if personal else "",
    )
    return Instructions(
        version=RELATE,
        system=prompt.system,
        examples=prompt.examples,
        material=body,
        most=_most(body),
        relations=() if open_vocabulary else tuple(vocabulary_relations),
        types=() if open_vocabulary else tuple(vocabulary_types),
        notes=notes,
    )


def rewording(pairs: Sequence[tuple[Memory, Memory]]) -> Instructions:
    """Ask which pairs say the same, and for one wording of each; `Candidate.turn` counts them."""
    lines = [
        f"D{number}> [{one.kind.value}] {_inline(one.text)} // {_inline(other.text)}"
        for number, (one, other) in enumerate(pairs, start=1)
    ]
    prompt = _prompt(REWORD, example=("", "", "", "", ""), relations=(), types=())
    return Instructions(
        version=REWORD,
        system=prompt.system,
        examples=prompt.examples,
        material="\n".join(lines),
        most=len(lines) + 1,
    )


def example_texts(instructions: Instructions) -> tuple[str, ...]:
    """The texts of memories in the examples: what a model copies when it has nothing to say."""
    answers = (json.loads(right) for _, right in instructions.examples)
    return tuple(item["text"] for answer in answers for item in answer["items"] if item["text"])


def concerns_source(note: str) -> bool:
    """Whether a note of `Instructions` tells of a source that was cut, not of mere context."""
    return _SOURCE_CUT.match(note) is not None


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A prompt file, its blanks filled in."""

    system: str
    examples: tuple[tuple[str, str], ...]


@cache
def prompt_text(version: str) -> str:
    """A prompt file as it is, its blanks not filled in."""
    source = files("ricordo.memory").joinpath("prompts", f"{version}.md")
    return source.read_text(encoding="utf-8")


def _prompt(
    version: str,
    *,
    example: tuple[str, str, str, str, str],
    relations: Sequence[str],
    types: Sequence[str],
    personal: str = "",
) -> _Prompt:
    filled = Template(prompt_text(version)).substitute(
        relations=", ".join(relations) or "none",
        types=", ".join(types) or "none",
        example=_example(example, relations=relations, types=types),
        personal=personal,
    )
    system, *examples = filled.split("=== example\n")
    pairs = (part.split("=== answer\n", 1) for part in examples)
    return _Prompt(system.strip(), tuple((shown.strip(), right.strip()) for shown, right in pairs))


def _example(
    example: tuple[str, str, str, str, str], *, relations: Sequence[str], types: Sequence[str]
) -> str:
    """The example's relation, where the vocabulary has its words: a model copies what it sees."""
    source, source_type, relation, target, target_type = example
    if relation not in relations or not {source_type, target_type} <= set(types):
        return ""
    fields = {
        "source": source,
        "source_type": source_type,
        "relation": relation,
        "target": target,
        "target_type": target_type,
    }
    return json.dumps(fields, separators=(",", ":"))


def _known(existing: Sequence[Memory], *, tokens: int) -> tuple[str, int]:
    """The numbered list of what is known, as far as it fits, and how many it has.

    Only the end is left out, so that no number changes.
    """
    lines = ["Already known:"]
    left = tokens - estimate(lines[0])
    for number, memory in enumerate(existing, start=1):
        line = f"{number}. {_inline(memory.text)}"
        left -= estimate(line) + 1
        if left < 0:
            break
        lines.append(line)
    listed = len(lines) - 1
    return "\n".join(lines) + "\n" if listed else "", listed


def _unlisted(existing: Sequence[Memory], *, listed: int) -> tuple[str, ...]:
    if listed == len(existing):
        return ()
    return (f"{len(existing) - listed} of {len(existing)} known memories were not shown",)


def _lines(turns: Sequence[Turn]) -> list[_Line]:
    """What the user said, and the assistant where the user answered it.

    Never tools, and nothing that is not trusted. An answer that the conversation ends with explains
    nothing that the user said, and small models take it for a source.
    """
    lines: list[_Line] = []
    answered: set[str] = set()
    for number, turn in reversed(list(enumerate(turns, start=1))):
        for said in reversed(turn.said):
            if not said.text.strip() or not said.trusted:
                continue
            if said.speaker is Speaker.USER:
                answered.add(turn.thread_id)
                lines.append(_Line(f"U{number}>", said.text, source=True))
            elif said.speaker is Speaker.ASSISTANT and turn.thread_id in answered:
                text, _ = cut(said.text, tokens=_ASSISTANT_TOKENS)
                lines.append(_Line(f"A{number}>", text, source=False))
    return lines[::-1]


def _most(body: str) -> int:
    """How many items sources of that length can hold; stops a small model that repeats itself."""
    sources = (line for line in body.splitlines() if not line.startswith("A"))
    return _LEAST_ITEMS + sum(map(estimate, sources)) // _TOKENS_PER_ITEM


def _fit(lines: Sequence[_Line], *, tokens: int) -> tuple[str, tuple[str, ...]]:
    """The lines as material within the budget, and a note for each one that was cut.

    The assistant's lines go first, oldest first; then the longest of the user's are cut to one
    length that lets everything fit, so that a pasted novel does not silence the other turns.
    """
    sizes = [estimate(_marked(line)) for line in lines]
    kept = list(range(len(lines)))
    dropped = 0
    for at, line in enumerate(lines):
        if sum(sizes[i] for i in kept) <= tokens:
            break
        if not line.source:
            kept.remove(at)
            dropped += 1
    notes = [f"{dropped} of the assistant's messages were left out"] if dropped else []
    most = _level([sizes[i] for i in kept], tokens=tokens)
    shown: list[str] = []
    for i in kept:
        line = lines[i]
        if sizes[i] > most:
            text, _ = cut(line.text, tokens=most)
            line = _Line(line.mark, text, source=line.source)
            notes.append(f"{line.mark[:-1]} was cut from about {sizes[i]} to {most} tokens")
        shown.append(_marked(line))
    return "\n".join(shown), tuple(notes)


def _level(sizes: Sequence[int], *, tokens: int) -> int:
    """The greatest length to which all sizes can be cut so that together they fit."""
    left = tokens
    rest = sorted(sizes)
    while rest and rest[0] * len(rest) <= left:
        left -= rest.pop(0)
    return max(left // len(rest), 1) if rest else max(sizes, default=1)


def _marked(line: _Line) -> str:
    return f"{line.mark} {_inline(line.text)}"


def _inline(text: str) -> str:
    """On one line, and without what a chat template would take for its own."""
    spaced = _TEMPLATE_MARK.sub(lambda match: f"{match.group()} ", clean_text(text))
    return " ".join(spaced.split())
