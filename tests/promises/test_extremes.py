"""A great many memories or none, and questions of every shape: sensible answers, no errors."""

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ricordo import Ricordo
from ricordo.memory.rendering import render
from ricordo.model import UserScope
from tests.support.crowding import WORDS, crowd
from tests.support.opening import opened, person

PATIENT = 20.0
MANY = 4_000
"""Memories of the person with many; enough for every path that only large partitions take. A
hundred thousand were tried by hand: docs/benchmarks.md."""

LONG = ("Please tell me everything about the matter. " * 230)[:10_000]
QUESTIONS = {
    "one letter": "x",
    "punctuation": "?!… --- ... ()[]{}",
    "emoji": "🎉👩‍💻🏳️‍🌈",
    "NUL": "\0",
    "NUL in words": "Where\0is Falcon?",
    "lone surrogate": "\ud83d Falcon \udc00",
    "only surrogates": "\ud83d\udc00"[::-1],
    "right to left": "ما هو مشروع فالكون؟ \u202e\u200f",
    "script that no memory uses": "ファルコンとは何ですか",
    "combining marks": "Z̸̢͎̊a̷l̵g̶o̸" * 40,
    "no spaces": "ファルコン" * 2_000,
    "one endless word": "x" * 10_000,
    "digits": "8" * 10_000,
    "symbols": "→§%&" * 2_500,
    "long": LONG,
    "emoji without end": "🎉🚀" * 5_000,
    "different words without end": " ".join(random.Random(1).choices(WORDS, k=1_800))[:10_000],
    "lines": "\n\r\t\u2028" * 100 + "Falcon",
    "query syntax": 'Falcon* AND (NEAR "x") OR NOT title:\' ; drop table memories; -- %_',
    "regular expression": r"(a+)+$ [ \ (?P<x>",
}


@pytest.fixture(params=["empty", "three", "many"])
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ricordo]:
    """A memory of nobody, of a person with three memories, and of one with many."""
    async with opened(tmp_path) as found:
        alice = found.user(person(), agent="coder")
        if request.param == "three":
            for text in ("Works on Falcon", "Likes tea", "Parle français"):
                await alice.remember(text)
        if request.param == "many":
            await crowd(found, UserScope(tenant="acme", user="alice"), count=MANY)
        yield found


async def test_every_question_has_an_answer(memory: Ricordo) -> None:
    alice = memory.user(person(), agent="coder")
    size = (await memory.stats()).census.largest
    for name, question in QUESTIONS.items():
        found = await alice.recall(question, deadline=PATIENT, nearly=3)
        assert found.degraded == (), name
        assert len(found.items) <= 10
        assert found.visible in (0, size), name
        assert "\ud83d" not in render(found)
        again = await alice.recall(question, deadline=PATIENT)
        assert [i.memory.id for i in again.items] == [i.memory.id for i in found.items], name


async def test_one_of_many_is_found_and_forgotten(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        scope = UserScope(tenant="acme", user="alice")
        texts = await crowd(memory, scope, count=MANY)
        alice = memory.user(person(), agent="coder")
        for number in (0, 1_234, MANY - 1):
            found = await alice.recall(texts[number], deadline=PATIENT)
            assert found.items[0].memory.text == texts[number]
            assert found.visible == MANY
        bob = await memory.user(person("bob")).recall(texts[0], deadline=PATIENT)
        assert (bob.visible, bob.items) == (0, ())
        assert await alice.forget("m_0001234") == 1
        assert await alice.forget_where(thread_id="t3") == 40
        found = await alice.recall(texts[1_234], deadline=PATIENT)
        assert found.visible == MANY - 41
        assert (await alice.erase()).clean
        assert (await alice.recall(texts[0], deadline=PATIENT)).visible == 0


@pytest.mark.parametrize("where", ["beginning", "end"])
async def test_what_a_long_question_begins_or_ends_with_is_found(
    where: str, tmp_path: Path
) -> None:
    """Ten thousand characters around it cost a bounded time, and hide nothing that is asked."""
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        for text in ("Falcon's pilot is Zoe", "The canteen closes at two", "Likes tea"):
            await alice.remember(text)
        asked = "Who is Falcon's pilot?"
        long = f"{asked} {LONG}" if where == "beginning" else f"{LONG} {asked}"
        found = await alice.recall(long, deadline=PATIENT)
        assert found.items[0].memory.text == "Falcon's pilot is Zoe"
        assert "words" in found.items[0].signals
