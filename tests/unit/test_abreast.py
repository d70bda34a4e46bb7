"""What goes on in the background side by side: one failure ends nothing else (promise 4)."""

import asyncio

import pytest

from ricordo.memory.abreast import abreast


async def test_what_fails_is_begun_again_and_the_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun, again, release = 0, asyncio.Event(), asyncio.Event()
    ended: list[str] = []

    async def failing() -> None:
        nonlocal begun
        begun += 1
        if begun < 3:
            raise KeyError("what somebody said")
        again.set()
        await asyncio.Event().wait()

    async def steady() -> None:
        try:
            await release.wait()
            ended.append("by itself")
        finally:
            ended.append("ended")

    async with asyncio.timeout(60):
        work = asyncio.create_task(abreast({"one": failing, "two": steady}, pause=0))
        await again.wait()
        assert ended == []
        release.set()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    assert begun == 3
    assert ended[-1] == "ended"
    assert caplog.text.count("background work one failed (KeyError), begun again") == 2
    assert "somebody" not in caplog.text


async def test_it_ends_when_all_have_ended(caplog: pytest.LogCaptureFixture) -> None:
    async def short() -> None:
        return

    async with asyncio.timeout(60):
        await abreast({"one": short, "two": short})
    assert not caplog.text


async def test_what_fails_at_the_end_is_told(caplog: pytest.LogCaptureFixture) -> None:
    begun = asyncio.Event()

    async def clinging() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            raise OSError("no room for what was said")

    async with asyncio.timeout(60):
        work = asyncio.create_task(abreast({"one": clinging}))
        await begun.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    assert "background work one failed (OSError), at its end" in caplog.text
    assert "said" not in caplog.text
