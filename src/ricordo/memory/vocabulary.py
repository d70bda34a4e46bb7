"""The words of the graph: which kinds of things there are and how they may be related.

An operator can read and replace the file behind it; see `vocabulary.toml` for the default.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ricordo.errors import Invalid
from ricordo.memory.phrases import fits_as_name, negated, shortened, snake, spelling
from ricordo.memory.vocabulary_file import (
    THING,
    Cardinality,
    EntityType,
    Mode,
    RelationType,
    Tables,
    read,
)
from ricordo.model import name_key

__all__ = ["THING", "Cardinality", "EntityType", "Meant", "Mode", "RelationType", "Vocabulary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """What a stated relation means.

    Args:
        relation: its entry; a new one in open mode.
        turned: True when source and target change places to store it.
        listed: False for a relation that is admitted as new.
    """

    relation: RelationType
    turned: bool = False
    listed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Entity types and relations, with every spelling under which they are known.

    Args:
        spellings: key of a phrase → relation's name, and whether it is the inverse.
        type_spellings: key of a type's spelling → its name.
        names: key of a thing's name → the name by which it is known best.
    """

    mode: Mode
    types: Mapping[str, EntityType]
    relations: Mapping[str, RelationType]
    spellings: Mapping[str, tuple[str, bool]]
    type_spellings: Mapping[str, str]
    names: Mapping[str, str]

    @classmethod
    def load(
        cls, path: Path | str | None = None, *, mode: Mode | str | None = None
    ) -> "Vocabulary":
        """Read a vocabulary file; without a path, the one that comes with the package.

        Args:
            mode: used instead of the file's own.

        Raises:
            Invalid: not readable, not TOML, or contradictory; the message names table and key.
        """
        text, source = _text(path)
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as exc:
            raise Invalid(f"{source}: not a TOML file: {exc}") from exc
        tables = read(document, source=source)
        if mode is not None and mode not in list(Mode):
            raise Invalid(f"the vocabulary's mode is {mode!r}; it is 'strict' or 'open'")
        return cls.of(tables, mode=tables.mode if mode is None else Mode(mode), source=source)

    @classmethod
    def of(cls, tables: Tables, *, mode: Mode, source: str = "vocabulary") -> "Vocabulary":
        """The vocabulary of tables that were read, checked against one another."""
        types = {kind.name: kind for kind in (EntityType(name=THING), *tables.entities)}
        _check_parents(types, source)
        type_spellings = _Spellings(source, key_of=_type_key)
        for kind in types.values():
            for key, word in _type_words(kind):
                type_spellings.add(word, kind.name, where=f"[entities.{kind.name}].{key}")
        spellings = _Spellings(source)
        for relation in tables.relations:
            _check_types(relation, types, source)
            for key, word, turned in _relation_words(relation):
                where = f"[relations.{relation.name}].{key}"
                spellings.add(word, relation.name, where=where, turned=turned)
        return cls(
            mode=mode,
            types=types,
            relations={relation.name: relation for relation in tables.relations},
            spellings=spellings.found,
            type_spellings={key: name for key, (name, _) in type_spellings.found.items()},
            names={
                name_key(spelled): name
                for name, others in tables.names
                for spelled in (name, *others)
            },
        )

    @property
    def open(self) -> bool:
        """Whether new relations and types are admitted."""
        return self.mode is Mode.OPEN

    @property
    def relation_names(self) -> tuple[str, ...]:
        """Names of the listed relations, in the file's order; to tell a model."""
        return tuple(self.relations)

    @property
    def type_names(self) -> tuple[str, ...]:
        """The listed entity types, in the file's order and in small letters; to tell a model."""
        return tuple(name.lower() for name in self.types)

    def relation(self, phrase: str) -> Meant | None:
        """What a relation as stated means; None when it is not admitted.

        ``"arbeitet an"`` and ``"is working on"`` mean ``works_on``. In open mode an unlisted phrase
        means a new relation between anything, unless it says that something is *not* so.
        """
        known = self.spellings.get(spelling(phrase))
        if known is None and (shorter := shortened(phrase)):
            known = self.spellings.get(shorter)
        if known is not None:
            name, turned = known
            return Meant(relation=self.relations[name], turned=turned)
        name = snake(phrase)
        if not self.open or negated(phrase) or not fits_as_name(name):
            return None
        return Meant(relation=RelationType(name=name), listed=False)

    def type(self, name: str | None) -> str | None:
        """The listed type of that name or alias, in any case; open mode calls the rest `THING`.

        None (nothing was said) is `THING` as well. Strict mode answers None for an unlisted one.
        """
        if name is None:
            return THING
        known = self.type_spellings.get(_type_key(name))
        return known or (THING if self.open else None)

    def is_a(self, kind: str, ancestor: str) -> bool:
        """Whether `kind` is `ancestor` or lies below it; an unlisted type lies below `THING`."""
        return ancestor == THING or ancestor in self._upwards(kind)

    def narrowed(self, kind: str, allowed: tuple[str, ...]) -> str | None:
        """The type that something of `kind` must have to be one of `allowed`; None if it cannot.

        `kind` itself when it fits already. When it is too general, what the allowed types below it
        have in common: a mere thing that lives somewhere is a person.
        """
        if any(self.is_a(kind, one) for one in allowed):
            return kind
        below = [one for one in allowed if self.is_a(one, kind)]
        if not below:
            return None
        shared = [up for up in self._upwards(below[0]) if all(self.is_a(b, up) for b in below)]
        return shared[0] if shared else kind

    def _upwards(self, kind: str) -> list[str]:
        line: list[str] = []
        at = self.types.get(kind)
        while at is not None:
            line.append(at.name)
            at = self.types.get(at.parent) if at.parent else None
        return line


class _Spellings:
    """Collects spellings and finds two that clash."""

    def __init__(self, source: str, *, key_of: Callable[[str], str] = spelling) -> None:
        self.found: dict[str, tuple[str, bool]] = {}
        self._places: dict[str, str] = {}
        self._source = source
        self._key_of = key_of

    def add(self, word: str, name: str, *, where: str, turned: bool = False) -> None:
        key = self._key_of(word)
        earlier = self.found.setdefault(key, (name, turned))
        if earlier != (name, turned):
            raise Invalid(
                f"{self._source}: {where}: {word!r} is used already, by {self._places[key]}; "
                "a spelling may mean one thing only"
            )
        self._places.setdefault(key, where)


def _text(path: Path | str | None) -> tuple[str, str]:
    if path is None:
        packaged = files("ricordo.memory").joinpath("vocabulary.toml")
        return packaged.read_text(encoding="utf-8"), "vocabulary.toml"
    path = Path(path)
    try:
        return path.read_text(encoding="utf-8"), path.name
    except (OSError, UnicodeDecodeError) as exc:
        reason = "not UTF-8" if isinstance(exc, UnicodeDecodeError) else exc.strerror
        raise Invalid(f"the vocabulary {path} cannot be read: {reason}") from exc


def _type_key(name: str) -> str:
    return spelling(name).replace("_", "")  # "ProgrammingLanguage" and "programming language"


def _type_words(kind: EntityType) -> Iterator[tuple[str, str]]:
    yield "name", kind.name
    for alias in kind.aliases:
        yield "aliases", alias


def _relation_words(relation: RelationType) -> Iterator[tuple[str, str, bool]]:
    yield "name", relation.name, False
    for alias in relation.aliases:
        yield "aliases", alias, False
    if relation.inverse is not None:
        yield "inverse", relation.inverse, True
    for alias in relation.inverse_aliases:
        yield "inverse_aliases", alias, True


def _check_parents(types: Mapping[str, EntityType], source: str) -> None:
    for kind in types.values():
        seen = {kind.name}
        at = kind
        while at.parent is not None:
            where = f"{source}: [entities.{at.name}].parent"
            if at.parent not in types:
                raise Invalid(f"{where}: there is no entity type {at.parent!r}")
            if at.parent in seen:
                raise Invalid(f"{where}: {at.parent!r} lies below itself")
            seen.add(at.parent)
            at = types[at.parent]


def _check_types(relation: RelationType, types: Mapping[str, EntityType], source: str) -> None:
    for key, names in (("domain", relation.domain), ("range", relation.range)):
        for name in names:
            if name not in types:
                where = f"{source}: [relations.{relation.name}].{key}"
                raise Invalid(f"{where}: there is no entity type {name!r}")
