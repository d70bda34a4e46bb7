"""What becomes of the items of an imported file, for one user."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ricordo.access import user_scope
from ricordo.hosts.cli.here import Here
from ricordo.model import Origin, Source

if TYPE_CHECKING:
    from ricordo.hosts.cli.formats.items import Context, Item
    from ricordo.memory.engine import Ricordo
    from ricordo.memory.user import UserMemory


class Importer:
    """Takes items of a file into one user's memory."""

    def __init__(
        self, here: Here, memory: "Ricordo", *, context: "Context", as_memories: bool
    ) -> None:
        from ricordo.memory.restoring_graph import ToldNames

        self._memory = memory
        self._here = here
        self._context = context
        self._as_memories = as_memories
        self._merged: dict[str, str] = {}
        self._names = ToldNames()
        self._later: list[Item] = []

    async def take(self, item: "Item") -> Counter[str]:
        """Observe, remember or restore one item; returns what it was. Raises `Invalid`."""
        if item.record is not None:
            return await self._restore(item)
        if item.turn is None:
            return Counter()
        mine = self._here.user_memory(self._memory, agent=item.turn.agent)
        if self._as_memories:
            return await self._remember(mine, item)
        fresh = await mine.observe(item.turn)
        return Counter({"turns" if fresh else "known": 1})

    async def _remember(self, mine: "UserMemory", item: "Item") -> Counter[str]:
        counts: Counter[str] = Counter()
        turn = item.turn
        if turn is None:
            return counts
        for line in item.lines:
            origin = Origin(
                at=turn.at,
                agent=turn.agent,
                thread_id=turn.thread_id,
                display_id=turn.display_id,
                run_id=turn.run_id,
                message_ids=(line.message_id,) if line.message_id else (),
            )
            stored = await mine.remember(
                line.text, origin=origin, valid_from=None, source=Source.IMPORTED
            )
            counts["memories" if stored.created else "known"] += 1
        return counts

    def later(self) -> Iterator["Item"]:
        """What is stored once all memories are there: entities, then merges."""
        yield from sorted(self._later, key=lambda item: (item.record or {})["record"] == "merge")

    async def finish(self) -> None:
        """Let memories stand for those that were merged into them, now that all are here."""
        from ricordo.memory.restoring import stand_in

        principal = self._here.principal()
        await stand_in(
            self._memory.services, self._merged, scope=user_scope(principal), by=principal.user
        )

    async def _restore(self, item: "Item") -> Counter[str]:
        from ricordo.memory.restoring import read_record, restore

        principal = self._here.principal()
        if (item.record or {}).get("record") in ("entity", "merge"):
            return self._keep(item)
        found = read_record(
            item.record or {},
            scope=user_scope(principal),
            agent=self._context.agent,
            now=self._context.at,
        )
        fresh = await restore(self._memory.services, found, by=principal.user, names=self._names)
        if found.merged_into is not None:
            self._merged[found.memory.id] = found.merged_into
        return Counter({"memories" if fresh else "known": 1})

    def _keep(self, item: "Item") -> Counter[str]:
        """Note what an entity or a merge is called, and keep it for later."""
        from ricordo.memory.restoring_graph import read_entity, read_merge

        record = item.record or {}
        if record["record"] == "entity":
            entity = read_entity(record)
            self._names.add(entity.name, entity)
        else:
            merge = read_merge(record)
            self._names.add(merge.into, merge.source, merge.target)
        self._later.append(item)
        return Counter()

    async def take_later(self, item: "Item") -> Counter[str]:
        """Restore an entity's names, or a merge. Raises `Invalid`."""
        from ricordo.memory.restoring_graph import (
            read_entity,
            read_merge,
            restore_entity,
            restore_merge,
        )

        principal, record = self._here.principal(), item.record or {}
        services, scope = self._memory.services, user_scope(principal)
        if record["record"] == "entity":
            await restore_entity(services, read_entity(record), scope=scope, by=principal.user)
        else:
            await restore_merge(services, read_merge(record), scope=scope, by=principal.user)
        return Counter()
