"""What a walk reads, hop by hop: numbers instead of whole entities and relations."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from ricordo.model import Scope

Link = tuple[int, str, int, int, int, int]
"""One relation as a walk meets it, in the direction in which it is walked.

Place of the near entity among those asked for; id of the relation; number of the near entity;
number of the far one; number of the relation; 1 where it points away from the near entity, else 0.
A plain tuple, for a walk meets thousands and keeps few.
"""


class Walking(Protocol):
    """The graph of one scope, as a walk sees it.

    Entities and relations go by numbers that mean something within one reading and one scope only;
    another scope's are as good as unknown. Each call is one indexed query, however many it asks
    for. A number asked for twice, or unknown, is no error.
    """

    async def nodes(self, keys: Sequence[str], *, scope: Scope) -> dict[str, int]:
        """By normalised name or alias, the entity that stands for it now."""
        ...

    async def links(
        self, nodes: Sequence[int], *, scope: Scope, at: datetime, limit: int
    ) -> list[Link]:
        """Relations valid at `at` that start or end at these entities, at most `limit`.

        Ordered by place of the near entity, then by relation id; one from an entity to itself is
        met twice. A relation that was closed without an end ended then.
        """
        ...

    async def twins(
        self, nodes: Sequence[int], *, scope: Scope, other: Scope, apart: Sequence[str]
    ) -> list[tuple[int, int]]:
        """These entities with those of the `other` scope that share a name or an alias.

        Names in `apart` (normalised) do not make two entities one.
        """
        ...

    async def described(
        self, relations: Sequence[int], *, scope: Scope
    ) -> dict[int, tuple[str, str, str, tuple[str, ...]]]:
        """Of each relation its source's name, its type, its target's name, and its evidence."""
        ...
