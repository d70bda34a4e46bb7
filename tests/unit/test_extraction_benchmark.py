"""The benchmark `extraction`: its matcher can fail, its labels are sound, its run repeats."""

from collections import Counter

import pytest
from benchmarks.chats import LANGUAGES, PARTS, Chat, Expected, Forbidden, load
from benchmarks.matching import Kept, Outcome, holds, judge, overlap, says

CHATS = {chat.id: chat for chat in load()}
MESSAGE = "I moved to Basel, and please keep answers short. My PIN is 4817."
MOVED = Expected(
    kind="fact", any=(("basel", "live|move|home"),), quotes=("I moved to Basel",), replaces=1
)
SHORT = Expected(kind="preference", any=(("short|brief",),), quotes=("keep answers short",))
CHAT = Chat(
    id="x",
    language="en",
    part="tuning",
    turns=((("user", MESSAGE), ("assistant", "Basel is a lovely town, I love trams.")),),
    expected=(MOVED, SHORT),
    forbidden=(
        Forbidden(category="secret", any=(("4817",),)),
        Forbidden(category="assistant", any=(("tram",),)),
    ),
)
LIVES = Kept(kind="fact", text="Lives in Basel", quotes=("I moved to Basel",))
BRIEF = Kept(kind="preference", text="Prefers short answers", quotes=("please keep answers short",))


def _counts(*kept: Kept, gone: frozenset[int] = frozenset()) -> Counter[str]:
    return judge(CHAT, Outcome(kept=kept, gone=gone)).counts


def test_what_is_right_counts_as_right() -> None:
    counts = _counts(LIVES, BRIEF, gone=frozenset({1}))
    assert counts["found fact"] == counts["right fact"] == counts["expected fact"] == 1
    assert counts["found preference"] == counts["right preference"] == 1
    assert counts["placed"] == counts["right cell"] == 2
    assert counts["updated"] == counts["updates"] == 1
    assert counts["broken"] == 0


@pytest.mark.parametrize(
    "kept",
    [
        Kept(kind="fact", text="Lives in Bern", quotes=("I moved to Basel",)),
        Kept(kind="fact", text="Loves Basel", quotes=("I moved to Basel",)),
        Kept(kind="fact", text="Lives in Basel", quotes=("keep answers short",)),
        Kept(kind="fact", text="Lives in Basel", quotes=("Basel is a lovely town",)),
        Kept(kind="fact", text="Lives in Basel", quotes=()),
    ],
)
def test_wrong_words_or_a_wrong_quote_is_wrong(kept: Kept) -> None:
    counts = _counts(kept)
    assert not says(kept, MOVED, chat=CHAT)
    assert counts["found fact"] == counts["right fact"] == 0
    assert counts["judged fact"] == 1
    assert counts["updated"] == 0


def test_the_wrong_cell_is_neither_found_nor_right() -> None:
    counts = _counts(Kept(kind="fact", text=BRIEF.text, quotes=BRIEF.quotes))
    assert counts["placed"] == 1
    assert counts["right cell"] == 0
    assert counts["found preference"] == counts["right fact"] == 0


def test_saying_it_again_is_wrong() -> None:
    again = Kept(kind="fact", text="Now lives in Basel", quotes=LIVES.quotes)
    counts = _counts(LIVES, again)
    assert counts["judged fact"] == 2
    assert counts["right fact"] == 1


def test_a_quote_that_the_user_did_not_say_is_not_grounded() -> None:
    assert _counts(LIVES)["grounded"] == 1
    assert _counts(Kept(kind="fact", text="Loves trams", quotes=("I love trams",)))["grounded"] == 0


def test_bans_are_broken_by_texts_and_secrets_by_quotes_too() -> None:
    tram = Kept(kind="fact", text="Loves trams", quotes=("I moved to Basel",))
    secret = Kept(kind="fact", text="Has a PIN", quotes=("My PIN is 4817",))
    counts = _counts(tram, secret)
    assert counts["broken assistant"] == counts["broken secret"] == 1
    assert counts["bans"] == counts["broken"] == 2
    waits = Kept(kind="fact", text="Loves trams", quotes=tram.quotes, active=False)
    assert _counts(waits)["held assistant"] == 1
    assert _counts(waits)["broken assistant"] == 0


def test_an_update_needs_the_old_one_gone_and_the_new_one_active() -> None:
    assert _counts(LIVES)["updated"] == 0
    assert _counts(gone=frozenset({1}))["updated"] == 0
    waits = Kept(kind="fact", text=LIVES.text, quotes=LIVES.quotes, active=False)
    assert _counts(waits, gone=frozenset({1}))["updated"] == 0


@pytest.mark.parametrize(
    ("text", "words", "held"),
    [
        ("Café Zürich", ("cafe", "zurich"), True),
        ("Lives in Basel", ("live|wohn", "basel"), True),
        ("Sublets in Basel", ("let",), False),
        ("Does not ski", ("ski", "!not"), False),
        ("Doesn't ski", ("ski", "!n't"), False),
        ("Skis", ("ski", "!not"), True),
    ],
)
def test_words_are_compared_by_how_they_begin(
    text: str, words: tuple[str, ...], held: bool
) -> None:
    assert holds(text, (words,)) is held


def test_quotes_must_share_a_place_of_one_message() -> None:
    messages = ("I like tea.", "I like coffee.")
    assert overlap("like tea", "I like", messages=messages)
    assert not overlap("tea", "coffee", messages=messages)
    assert not overlap("tea", "I drink", messages=messages)


def test_the_set_is_large_enough_and_balanced() -> None:
    assert len(CHATS) >= 64
    for language in LANGUAGES:
        parts = Counter(chat.part for chat in CHATS.values() if chat.language == language)
        assert set(parts) == set(PARTS)
        assert min(parts.values()) >= 8


@pytest.mark.parametrize("chat", CHATS.values(), ids=CHATS)
def test_labels_are_sound(chat: Chat) -> None:
    assert 1 <= len(chat.turns) <= 4
    for expected in chat.expected:
        assert expected.kind in ("preference", "fact", "either")
        assert expected.any
        assert all(any(quote in own for own in chat.own_words) for quote in expected.quotes)
        assert expected.replaces is None or expected.replaces <= len(chat.known)
    alternatives = [words for each in chat.expected for words in each.any]
    wanted = [" ".join(w for w in words if not w.startswith("!")) for words in alternatives]
    for ban in chat.forbidden:
        assert not any(holds(text, ban.any) for text in wanted), ban.category
