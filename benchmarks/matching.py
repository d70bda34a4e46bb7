"""Whether what was stored is what a label means: by rules that anyone can check, without a model.

A stored memory *says* an expected thing when
1. its text holds every word of one alternative: a word stands for all words that begin with it,
   ``a|b`` for one or the other, ``!a`` for none of it; case and accents do not count; and
2. one of its quotes overlaps the labelled quote in the same message of the user's.

A memory breaks a ban when its text fulfils (1) for it; a secret also when its quote does.

Counted per stored memory, in the order of storing: *right* when it says an expected thing of its
kind that no earlier memory said; *neutral* when it says something optional, and nothing expected
anew; else *wrong*, repeats included. An expected thing counts as found when a memory of the right
kind says it.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.chats import Chat, Expected, Words


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A memory that a chat led to.

    Args:
        active: False while it waits for a person.
        edges: its relations, as (relation, names of both ends).
    """

    kind: str
    text: str
    quotes: tuple[str, ...]
    active: bool = True
    edges: tuple[tuple[str, frozenset[str]], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a chat led to.

    Args:
        gone: numbers (from 1) of the known memories that are not active any more.
        parked: turns that went to the dead letters, for the answer could not be read.
    """

    kept: tuple[Kept, ...] = ()
    gone: frozenset[int] = frozenset()
    parked: int = 0


@dataclass
class Tally:
    """Counts that can be added up; each is a Counter by name."""

    counts: Counter[str] = field(default_factory=Counter[str])
    remarks: list[str] = field(default_factory=list[str])

    def add(self, other: "Tally") -> None:
        """Count the other's as well."""
        self.counts.update(other.counts)

    def share(self, part: str, whole: str) -> tuple[float, int]:
        """Percentage, and of how many; 0 of nothing."""
        of = self.counts[whole]
        return (100.0 * self.counts[part] / of if of else 0.0), of

    @property
    def categories(self) -> list[str]:
        """Of the bans that were counted."""
        named = (name.removeprefix("bans ") for name in self.counts if name.startswith("bans "))
        return sorted(named)


def judge(chat: Chat, outcome: Outcome) -> Tally:
    """Compare what a chat led to with its labels."""
    tally = Tally(Counter({"chats": 1, "parked": bool(outcome.parked)}))
    _stored(chat, outcome, tally)
    _banned(chat, outcome, tally)
    _updated(chat, outcome, tally)
    return tally


def says(kept: Kept, expected: Expected, *, chat: Chat) -> bool:
    """Rules 1 and 2; the kind is not looked at."""
    return holds(kept.text, expected.any) and any(
        overlap(quote, label, messages=chat.own_words)
        for quote in kept.quotes
        for label in expected.quotes
    )


def holds(text: str, alternatives: Words) -> bool:
    """Rule 1: whether all words of one alternative are in the text."""
    folded = fold(text)
    return any(all(_has(folded, word) for word in words) for words in alternatives)


def overlap(quote: str, label: str, *, messages: Sequence[str]) -> bool:
    """Rule 2: whether both occur in one message, with a character in common."""
    for message in messages:
        one, other = _spans(quote, message), _spans(label, message)
        if any(a < d and c < b for a, b in one for c, d in other):
            return True
    return False


def fold(text: str) -> str:
    """Case, accents and white space apart."""
    parts = unicodedata.normalize("NFKD", text.casefold().replace("’", "'"))
    return " ".join("".join(c for c in parts if not unicodedata.combining(c)).split())


def _has(folded: str, word: str) -> bool:
    if word.startswith("!"):
        return not _has(folded, word[1:])
    return any(_begins(folded, fold(each)) for each in word.split("|"))


def _begins(folded: str, stem: str) -> bool:
    # "n't" and the like are endings: they need no beginning of a word before them.
    edge = r"(?<!\w)" if stem[0] != "n" or "'" not in stem else ""
    return re.search(edge + re.escape(stem), folded) is not None


def _spans(part: str, message: str) -> list[tuple[int, int]]:
    sought, whole = fold(part), fold(message)
    if not sought:
        return []
    return [(found.start(), found.end()) for found in re.finditer(re.escape(sought), whole)]


def _stored(chat: Chat, outcome: Outcome, tally: Tally) -> None:
    counts, found = tally.counts, set[int]()
    touched: dict[int, Kept] = {}
    for kept in outcome.kept:
        said = [n for n, each in enumerate(chat.expected) if says(kept, each, chat=chat)]
        fitting = {n for n in said if chat.expected[n].kind in (kept.kind, "either")}
        for number in said:
            touched.setdefault(number, kept)
        anew = {n for n in fitting - found if not chat.expected[n].optional}
        found |= fitting
        counts["stored"] += 1
        grounded = any(_spans(quote, own) for quote in kept.quotes for own in chat.own_words)
        counts["grounded"] += grounded
        if not anew and any(chat.expected[n].optional for n in fitting):
            continue
        counts[f"judged {kept.kind}"] += 1
        if anew:
            counts[f"right {kept.kind}"] += 1
        else:
            tally.remarks.append(f"wrong {kept.kind}: {kept.text!r} from {kept.quotes}")
    for number, expected in enumerate(chat.expected):
        if number in touched and expected.kind != "either":
            counts["placed"] += 1
            counts["right cell"] += number in found
        if expected.optional:
            continue
        counts[f"expected {expected.kind}"] += 1
        counts[f"found {expected.kind}"] += number in found
        if number not in found:
            tally.remarks.append(f"missed {expected.kind}: {expected.quotes}")
        elif expected.relations:
            counts["relations wanted"] += 1
            counts["relations right"] += any(
                _linked(kept, expected) for kept in outcome.kept if says(kept, expected, chat=chat)
            )
    if not chat.expected:
        counts["empty chats"] += 1
        counts["left empty"] += not outcome.kept


def _linked(kept: Kept, expected: Expected) -> bool:
    names = {fold(name) for name in expected.names}
    return any(
        relation in expected.relations and names & {fold(end) for end in ends}
        for relation, ends in kept.edges
    )


def _banned(chat: Chat, outcome: Outcome, tally: Tally) -> None:
    """Each ban once, however many memories break it."""
    for ban in chat.forbidden:
        secret = ban.category == "secret"
        broken = [
            kept
            for kept in outcome.kept
            if holds(kept.text, ban.any) or (secret and any(holds(q, ban.any) for q in kept.quotes))
        ]
        tally.counts["bans"] += 1
        tally.counts[f"bans {ban.category}"] += 1
        for kept in broken:
            how = "stored" if kept.active else "held"
            tally.remarks.append(f"forbidden ({ban.category}), {how}: {kept.text!r}")
        if any(kept.active for kept in broken):
            tally.counts["broken"] += 1
            tally.counts[f"broken {ban.category}"] += 1
        elif broken:
            tally.counts["held"] += 1
            tally.counts[f"held {ban.category}"] += 1


def _updated(chat: Chat, outcome: Outcome, tally: Tally) -> None:
    """An update is handled when the old is active no more and the new one is there."""
    updates = {each.replaces: each for each in chat.expected if each.replaces is not None}
    for number, expected in updates.items():
        tally.counts["updates"] += 1
        new = any(kept.active and says(kept, expected, chat=chat) for kept in outcome.kept)
        handled = new and number in outcome.gone
        tally.counts["updated"] += handled
        if not handled:
            tally.remarks.append(f"update not handled: known {number}, new stored: {new}")
    for number in set(range(1, len(chat.known) + 1)) - set(updates):
        tally.counts["untouchable"] += 1
        tally.counts["untouched"] += number not in outcome.gone
        if number in outcome.gone:
            tally.remarks.append(f"known {number} was retired without a reason")
