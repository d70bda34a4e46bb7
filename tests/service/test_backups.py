"""What docs/deploy.md says of backups: one of a memory in use is whole; and it knows no erasure
that came after it, so that an operator has to erase again."""

import asyncio
from pathlib import Path

from ricordo import EntityClaim, Listing, RelationClaim, Ricordo
from tests.support.opening import Clock, opened, person
from tests.support.places import Places


async def _write(memory: Ricordo, user: str, name: str) -> str:
    knows = RelationClaim(
        source=EntityClaim(name="user"), relation="knows", target=EntityClaim(name=name)
    )
    mine = memory.user(person(user), agent="coder")
    return (await mine.remember(f"Knows {name}", relations=[knows])).memory.id


async def _backup_in_use(places: Places, clock: Clock) -> tuple[Path, Path, set[str]]:
    """The memory's folder and its backup's, and what was acknowledged before the backup began."""
    folder = places.new("live")
    async with opened(folder, clock=clock) as memory:
        known = {await _write(memory, "alice", f"a {number}") for number in range(20)}
        await _write(memory, "bob", "Bob's friend")

        async def go_on() -> None:
            for number in range(1_000_000):
                await _write(memory, "alice", f"b {number}")

        writer = asyncio.create_task(go_on())
        backup = await asyncio.to_thread(places.restored, folder, "backup")
        assert not writer.done()
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)
    return folder, backup, known


async def test_a_backup_of_a_memory_in_use_is_whole(places: Places) -> None:
    """Sound, with everything acknowledged before it began; and the program goes on from it."""
    clock = Clock()
    _, backup, known = await _backup_in_use(places, clock)
    async with opened(backup, clock=clock) as memory:
        assert [each for each in await memory.ledger.check() if each.problem] == []
        mine = memory.user(person("alice"), agent="coder")
        there = {m.id for m in (await mine.list(Listing(limit=1_000))).memories}
        assert known <= there
        for memory_id in known:
            assert len(await mine.relations(memory_id)) == 1
        assert (await mine.recall("Who is a 7?", deadline=60)).items
        assert await _write(memory, "alice", "somebody new") not in there


async def test_who_was_erased_since_a_backup_is_erased_again(places: Places) -> None:
    """Promise 11 ends at the backup's door: it brings the person back, until erased once more."""
    clock = Clock()
    folder, backup, _ = await _backup_in_use(places, clock)
    async with opened(folder, clock=clock) as memory:
        first = await memory.user(person("alice")).erase()
        assert first.clean
    async with opened(backup, clock=clock) as memory:
        alice = memory.user(person("alice"))
        assert (await alice.list()).memories, "a backup knows nothing of what came later"
        again = await alice.erase()
        assert again.clean
        assert again.subject == first.subject, "receipts of the same person match"
        assert not (await alice.list()).memories
        assert (await memory.user(person("bob")).list()).memories
