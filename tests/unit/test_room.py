"""How many recalls are let in together: promise 5, that a recall ends in time."""

import asyncio

import pytest

from ricordo.memory.room import LEAST, Room


async def inside(room: Room) -> int:
    """How many can come in without waiting; they stay."""
    count = 0
    while not room.full:
        assert await room.enter()
        count += 1
    return count


async def test_fewer_are_let_in_while_they_are_late_and_more_again_after() -> None:
    room = Room(32)
    sizes: list[int] = []
    for late in [True] * 20 + [False] * 500:
        sizes.append(await inside(room))
        for _ in range(sizes[-1]):
            room.leave(late=late)
    assert sizes[0] == 32
    assert LEAST in sizes, "some are always let in"
    assert sizes[-1] == 32
    assert min(sizes) == LEAST


async def test_places_are_given_in_order_and_none_is_lost_to_one_that_left() -> None:
    """One that gives up while it waits, or just when it is let in, takes no place along."""
    room, came = Room(2), []

    async def come(name: str) -> None:
        await room.enter()
        came.append(name)

    assert await inside(room) == 2
    waiting = {name: asyncio.create_task(come(name)) for name in "abcd"}
    await asyncio.sleep(0)
    waiting["a"].cancel()
    await asyncio.sleep(0)
    room.leave(late=False)  # b is let in
    waiting["b"].cancel()  # and gives up before it hears of it
    await asyncio.gather(waiting["a"], waiting["b"], waiting["c"], return_exceptions=True)
    assert came == ["c"]
    assert not waiting["d"].done()
    room.leave(late=False)
    await waiting["d"]
    assert came == ["c", "d"]
    for _ in range(2):
        room.leave(late=False)
    assert await inside(room) == 2


@pytest.mark.parametrize("most", [0, 1, LEAST])
async def test_there_is_always_some_room(most: int) -> None:
    assert await inside(Room(most)) == LEAST
