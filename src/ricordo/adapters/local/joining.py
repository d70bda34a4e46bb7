"""Which entities of several scopes are one node."""

from collections.abc import Iterable, Iterator


class Joined:
    """Nodes of a walk: an entity by itself, or entities of several scopes that are one.

    A node's number is the lowest mark among its entities'. The mark of an entity follows from its
    number and the place of its scope, so an entity by itself needs no entry; with one scope it is
    the entity's number.
    """

    def __init__(self, scopes: int) -> None:
        self._scopes = scopes
        self._node_of: dict[int, int] = {}
        self._marks_of: dict[int, list[int]] = {}

    def mark(self, place: int, entity: int) -> int:
        """The mark of an entity of the scope at that place."""
        return entity * self._scopes + place

    def by_place(self, marks: Iterable[int]) -> list[list[int]]:
        """The entities of these marks, for each place those of its scope."""
        found: list[list[int]] = [[] for _ in range(self._scopes)]
        for mark in marks:
            found[mark % self._scopes].append(mark // self._scopes)
        return found

    def node(self, mark: int) -> int:
        """The node that the entity belongs to."""
        return self._node_of.get(mark, mark)

    def entities(self, node: int, *, place: int) -> Iterator[int]:
        """The node's entities in the scope at that place."""
        for mark in self._marks_of.get(node, (node,)):
            if mark % self._scopes == place:
                yield mark // self._scopes

    def join(self, one: int, other: int) -> None:
        """Make the nodes of two entities one, by their marks."""
        stays, goes = sorted((self.node(one), self.node(other)))
        if stays == goes:
            return
        moved = self._marks_of.pop(goes, [goes])
        self._marks_of[stays] = [*self._marks_of.get(stays, [stays]), *moved]
        self._node_of.update(dict.fromkeys(moved, stays))
