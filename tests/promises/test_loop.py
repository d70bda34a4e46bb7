"""Promise 5: while a model's answer is checked, the event loop is free for those who wait."""

import threading
from pathlib import Path

import pytest

from ricordo.memory import grounding, learning, sifting
from tests.support.fake_model import FakeModel
from tests.support.opening import Clock, opened, person
from tests.support.talking import answer, extractor, item, turn


async def test_long_messages_are_read_on_threads_and_folded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes time in proportion to all that was said does not run on the loop, and not once
    per item of the answer."""
    threads: dict[str, set[threading.Thread]] = {}
    folded: list[str] = []

    def watched(name: str, work):
        def watching(*args, **more):
            threads.setdefault(name, set()).add(threading.current_thread())
            if name == "_folded":
                folded.append(args[0])
            return work(*args, **more)

        return watching

    for where, name in (
        (learning, "own_voice"),
        (learning, "without_secrets"),
        (learning.prompting, "extraction"),
        (sifting, "find_quote"),
        (grounding, "_folded"),
    ):
        monkeypatch.setattr(where, name, watched(name, getattr(where, name)))
    long = "Every day something else is said. " * 1_000
    items = [item(f"Says {n}", f"never said number {n}") for n in range(20)]
    clock = Clock()
    with FakeModel(lambda _: answer(*items)) as model:
        async with opened(tmp_path, clock=clock, extractor=extractor(model)) as memory:
            alice = memory.user(person(), agent="coder")
            for run in ("r1", "r2"):
                await alice.observe(turn(f"{run}: {long}", run=run, clock=clock))
            await memory.intake.drain()
            assert await alice.refusals()
    assert set(threads) == {
        "own_voice",
        "without_secrets",
        "extraction",
        "find_quote",
        "_folded",
    }
    assert threading.main_thread() not in set().union(*threads.values())
    assert sum(long.strip() in text for text in folded) == 2


@pytest.mark.parametrize("at", [9_980, 9_990, 10_000, 11_990, 19_995])
def test_a_secret_is_found_wherever_it_stands_in_a_long_text(at: int) -> None:
    """A long text is searched piece by piece; nothing hides where two pieces meet."""
    said = "my password is hunter2! "
    text = f"{'a word ' * 4_000}"[: at - 1] + " " + said + "and so on " * 2_000
    blanked = learning.without_secrets(text)
    assert "hunter2" not in blanked
    assert len(blanked) == len(text)
    assert blanked.count("my password is") == 1
