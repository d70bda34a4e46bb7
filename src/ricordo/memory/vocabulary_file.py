"""Reads a vocabulary's tables and says in plain words what is wrong with them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TypeVar, cast

from ricordo.errors import Invalid
from ricordo.memory.phrases import fits_as_name, snake

_E = TypeVar("_E", bound=StrEnum)

_TABLES = ("mode", "entities", "relations", "names")

THING = "Thing"
"""The type above all others."""


class Mode(StrEnum):
    """What happens to a relation or type that is not listed."""

    STRICT = "strict"
    """It is refused."""
    OPEN = "open"
    """A relation is admitted as new, between anything; a type counts as `THING`."""


class Cardinality(StrEnum):
    """How many current values a source may have."""

    ONE = "one"
    MANY = "many"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityType:
    """A kind of thing. `parent` is None only for `THING`."""

    name: str
    parent: str | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationType:
    """A way in which two things may be related.

    Args:
        name: snake_case; the only form that is stored.
        domain, range: types that the source and the target may have; subtypes are included.
        cardinality: `ONE` lets a source have one current value.
        inverse: how it reads from the target; such a claim is stored turned round.
        inverse_aliases: other spellings of the inverse.
        aliases: other spellings, in any language.
        symmetric: it reads the same both ways; stored once.
        hierarchical: it never leads back to where it began.
        reflexive: a thing may have it with itself.
    """

    name: str
    domain: tuple[str, ...] = (THING,)
    range: tuple[str, ...] = (THING,)
    cardinality: Cardinality = Cardinality.MANY
    inverse: str | None = None
    inverse_aliases: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    symmetric: bool = False
    hierarchical: bool = False
    reflexive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """A vocabulary file, read and each key checked by itself.

    Args:
        names: names of things, each with other names by which the same thing is known.
    """

    mode: Mode
    entities: tuple[EntityType, ...]
    relations: tuple[RelationType, ...]
    names: tuple[tuple[str, tuple[str, ...]], ...] = ()


def read(document: Mapping[str, object], *, source: str) -> Tables:
    """The tables of a parsed file.

    Args:
        document: what the TOML parser returned.
        source: name of the file, for messages.

    Raises:
        Invalid: a key that is unknown, missing or of the wrong type; the message names both.
    """
    root = _Table(document, f"{source}: the file", allowed=_TABLES)
    mode = root.choice("mode", Mode, Mode.OPEN)
    entities = [_entity(name, table) for name, table in root.tables("entities", source)]
    relations = [_relation(name, table) for name, table in root.tables("relations", source)]
    names = root.lists("names", source)
    return Tables(
        mode=mode, entities=tuple(entities), relations=tuple(relations), names=tuple(names)
    )


def _entity(name: str, table: "_Table") -> EntityType:
    table.only("parent", "aliases")
    if not name.strip() or not snake(name):
        raise Invalid(f"{table.where}: the name of an entity type needs a letter or a digit")
    parent = table.text("parent")
    if name == THING and parent is not None:
        raise Invalid(f"{table.where}.parent: {THING} is above all types and has no parent")
    return EntityType(
        name=name,
        parent=None if name == THING else parent or THING,
        aliases=table.texts("aliases"),
    )


def _relation(name: str, table: "_Table") -> RelationType:
    table.only(*(field.name for field in fields(RelationType) if field.name != "name"))
    for key, value in ((None, name), ("inverse", table.text("inverse"))):
        if value is not None and (snake(value) != value or not fits_as_name(value)):
            where = table.where if key is None else f"{table.where}.{key}"
            raise Invalid(f"{where}: {value!r} is no snake_case name, such as {_example(value)!r}")
    relation = RelationType(
        name=name,
        domain=table.texts("domain") or (THING,),
        range=table.texts("range") or (THING,),
        cardinality=table.choice("cardinality", Cardinality, Cardinality.MANY),
        inverse=table.text("inverse"),
        inverse_aliases=table.texts("inverse_aliases"),
        aliases=table.texts("aliases"),
        symmetric=table.flag("symmetric"),
        hierarchical=table.flag("hierarchical"),
        reflexive=table.flag("reflexive"),
    )
    _check_alone(relation, table.where)
    return relation


def _check_alone(relation: RelationType, where: str) -> None:
    """What a relation's keys may not say together."""
    if relation.symmetric and (relation.inverse or relation.inverse_aliases):
        raise Invalid(f"{where}.inverse: a symmetric relation is its own inverse; leave it out")
    if relation.symmetric and set(relation.domain) != set(relation.range):
        raise Invalid(f"{where}.range: a symmetric relation has the same domain and range")
    if relation.symmetric and relation.hierarchical:
        raise Invalid(f"{where}.hierarchical: what reads the same both ways is no hierarchy")
    if relation.hierarchical and relation.reflexive:
        raise Invalid(f"{where}.reflexive: nothing in a hierarchy stands above itself")
    if relation.inverse == relation.name:
        raise Invalid(f"{where}.inverse: is the relation itself; say symmetric = true instead")
    if relation.inverse_aliases and relation.inverse is None:
        raise Invalid(f"{where}.inverse_aliases: name the inverse itself first, with inverse = …")


def _example(value: str) -> str:
    return snake(value)[:40] or "works_on"


class _Table:
    """One table of the file, with its place for messages."""

    def __init__(
        self, table: Mapping[str, object], where: str, *, allowed: tuple[str, ...] | None = None
    ) -> None:
        self._table = table
        self.where = where
        if allowed is not None:
            self.only(*allowed)

    def only(self, *allowed: str) -> None:
        """Refuse keys that mean nothing here: a misspelt key would be lost in silence."""
        for key in self._table:
            if key not in allowed:
                raise Invalid(f"{self.where}: unknown key {key!r}; allowed: {', '.join(allowed)}")

    def tables(self, key: str, source: str) -> list[tuple[str, "_Table"]]:
        """The tables below `key`, by name."""
        found = self._table.get(key, {})
        if not isinstance(found, Mapping):
            raise Invalid(f"{source}: [{key}] must be a table of tables")
        below: list[tuple[str, _Table]] = []
        for name, table in cast("Mapping[str, object]", found).items():
            if not isinstance(table, Mapping):
                raise Invalid(f"{source}: [{key}.{name}] must be a table")
            where = f"{source}: [{key}.{name}]"
            below.append((name, _Table(cast("Mapping[str, object]", table), where)))
        return below

    def lists(self, key: str, source: str) -> list[tuple[str, tuple[str, ...]]]:
        """The lists of strings in the table `key`, by name."""
        found = self._table.get(key, {})
        if not isinstance(found, Mapping):
            raise Invalid(f"{source}: [{key}] must be a table of lists")
        table = _Table(cast("Mapping[str, object]", found), f"{source}: [{key}]")
        return [(name, table.texts(name)) for name in cast("Mapping[str, object]", found)]

    def text(self, key: str) -> str | None:
        value = self._table.get(key)
        if value is None or (isinstance(value, str) and value.strip()):
            return value
        raise Invalid(f"{self.where}.{key}: must be a string that is not empty")

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._table.get(key, [])
        if not isinstance(value, list):
            raise Invalid(f"{self.where}.{key}: must be a list of strings")
        items = cast("list[object]", value)
        if not all(isinstance(item, str) and snake(item) for item in items):
            raise Invalid(f"{self.where}.{key}: each item must be a string with a letter in it")
        return tuple(cast("list[str]", items))

    def flag(self, key: str) -> bool:
        value = self._table.get(key, False)
        if not isinstance(value, bool):
            raise Invalid(f"{self.where}.{key}: must be true or false")
        return value

    def choice(self, key: str, kind: type[_E], default: _E) -> _E:
        value = self._table.get(key, default.value)
        if value not in [str(member) for member in kind]:
            choices = " or ".join(f'"{member}"' for member in kind)
            raise Invalid(f"{self.where}.{key}: must be {choices}")
        return kind(cast("str", value))
