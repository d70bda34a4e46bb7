"""The shape of a model's answer: the schema it is held to, and how an answer is read.

`kind` comes first and may be ``"none"``, and there is at least one item: small models answer best
when they decide first and are never asked for an empty list. The quote comes before the text, so
that the model looks at the words before it puts them into its own.
"""

import json
from collections.abc import Iterator
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ricordo.errors import Invalid, Malformed
from ricordo.model import MAX_NAME, check_text
from ricordo.ports import Candidate, Instructions, StatedRelation

LONGEST_ANSWER = 1_000_000
"""Characters beyond which an answer is not looked at."""

_SURE = {"high": 0.9, "medium": 0.6, "low": 0.3}
_MAX_RELATIONS = 16
_ASKED_RELATIONS = 4
_MAX_REPLACES = 32
_MAX_TRIES = 64

Sure = Literal["high", "medium", "low"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)


class _StatedRelation(_Strict):
    source: str = Field(max_length=MAX_NAME)
    source_type: str | None = Field(default=None, max_length=MAX_NAME)
    relation: str = Field(max_length=MAX_NAME)
    target: str = Field(max_length=MAX_NAME)
    target_type: str | None = Field(default=None, max_length=MAX_NAME)

    @field_validator("source", "relation", "target")
    @classmethod
    def _readable(cls, value: str) -> str:
        return _checked(value)


class _Item(_Strict):
    turn: int | None = Field(default=None, ge=1)
    quote: str = Field(max_length=4_000)
    text: str = Field(max_length=1_000)
    relations: list[Any] = Field(default_factory=list[Any], max_length=_MAX_RELATIONS)
    confidence: float = Field(default=_SURE["medium"], ge=0, le=1, allow_inf_nan=False)
    replaces: list[int] = Field(default_factory=list[int], max_length=_MAX_REPLACES)

    @field_validator("confidence", mode="before")
    @classmethod
    def _grade(cls, value: object) -> object:
        return _SURE.get(value.strip().lower(), value) if isinstance(value, str) else value

    @field_validator("quote", "text")
    @classmethod
    def _readable(cls, value: str) -> str:
        return _checked(value)


def _checked(value: str) -> str:
    try:
        return check_text(value).strip()
    except Invalid as exc:
        raise ValueError("unreadable") from exc


# The models below exist for their schema. What comes back is read item by item with the ones
# above, so that one bad item costs only itself.


class Relation(BaseModel):
    model_config = ConfigDict(extra="forbid")
    source: str
    source_type: str
    relation: str
    target: str
    target_type: str


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["preference", "fact", "none"]
    turn: int
    quote: str
    text: str
    relations: list[Relation]
    confidence: Sure
    replaces: list[int]


class Memories(BaseModel):
    model_config = ConfigDict(extra="forbid")
    items: list[Item] = Field(min_length=1)


def schema(instructions: Instructions) -> dict[str, Any]:
    """The JSON schema of an answer; names and numbers are restricted to those that exist."""
    asked = _untitled(Memories.model_json_schema())
    if instructions.most is not None:
        asked["properties"]["items"]["maxItems"] = instructions.most
    relation = asked["$defs"]["Relation"]["properties"]
    item = asked["$defs"]["Item"]
    # A model that begins to repeat itself must come to an end inside an item as well.
    item["properties"]["relations"]["maxItems"] = _ASKED_RELATIONS
    if instructions.known:
        item["properties"]["replaces"]["maxItems"] = instructions.known
        item["properties"]["replaces"]["items"]["enum"] = list(range(1, instructions.known + 1))
    else:
        # Nothing to replace: a model that is asked all the same makes numbers up.
        del item["properties"]["replaces"]
        item["required"].remove("replaces")
    if instructions.relations:
        relation["relation"]["enum"] = list(instructions.relations)
    if instructions.types:
        for end in ("source_type", "target_type"):
            relation[end]["enum"] = list(instructions.types)
    return {"title": "memories", **asked}


def _untitled(node: Any) -> Any:
    """Without the titles that pydantic adds: they cost tokens and say nothing."""
    if isinstance(node, dict):
        pairs = cast("dict[str, Any]", node).items()
        return {
            key: _untitled(value)
            for key, value in pairs
            if key not in ("title", "description") or not isinstance(value, str)
        }
    if isinstance(node, list):
        return [_untitled(value) for value in cast("list[Any]", node)]
    return node


def read(text: str) -> list[Any]:
    """The items of an answer, unchecked; code fences and words around the object are passed over.

    Raises:
        Malformed: no object with a list of items. The message tells the model what was wrong.
    """
    if not text.strip():
        raise Malformed("the answer was empty")
    if len(text) > LONGEST_ANSWER:
        raise Malformed(f"the answer was longer than {LONGEST_ANSWER:,} characters")
    found = False
    for value in _objects(text):
        found = True
        items = value.get("items")
        if isinstance(items, list):
            return cast("list[Any]", items)
    if found:
        raise Malformed('the answer had no list under "items"')
    raise Malformed("the answer was no complete JSON object")


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every outermost JSON object in the text, in order."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    for _ in range(_MAX_TRIES):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


def candidates(items: list[Any], *, most: int) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    """What of the items has the agreed shape, and a line for each that has not, without its text.

    Args:
        items: as `read` returned them.
        most: items beyond this number are not looked at, only counted.
    """
    good: dict[Candidate, None] = {}
    faults: list[str] = []
    for number, item in enumerate(items[:most], start=1):
        candidate = _candidate(item, where=f"item {number}", faults=faults)
        if candidate is not None:
            good[candidate] = None  # the same again, to the letter, is no second item
    if len(items) > most:
        faults.append(f"{len(items) - most} items beyond the first {most} were not read")
    return tuple(good), tuple(faults)


def _candidate(item: object, *, where: str, faults: list[str]) -> Candidate | None:
    if not isinstance(item, dict):
        faults.append(f"{where}: not an object")
        return None
    fields = cast("dict[str, Any]", item)
    kind = fields.get("kind")
    kind = kind.strip().lower() if isinstance(kind, str) else ""
    if kind == "none":
        return None
    if kind not in ("preference", "fact"):
        faults.append(f"{where}: kind is none of preference, fact, none")
        return None
    try:
        checked = _Item.model_validate(fields)
    except ValidationError as exc:
        faults.append(f"{where}: {_what(exc)}")
        return None
    return Candidate(
        kind=kind,
        text=checked.text,
        quote=checked.quote,
        confidence=checked.confidence,
        relations=tuple(_relations(checked.relations, where=where, faults=faults)),
        replaces=tuple(checked.replaces),
        turn=checked.turn,
    )


def _relations(values: list[Any], *, where: str, faults: list[str]) -> Iterator[StatedRelation]:
    for number, value in enumerate(values, start=1):
        try:
            relation = _StatedRelation.model_validate(value)
        except ValidationError as exc:
            faults.append(f"{where}, relation {number}: {_what(exc)}")
            continue
        yield StatedRelation(
            source=relation.source,
            relation=relation.relation,
            target=relation.target,
            source_type=relation.source_type or None,
            target_type=relation.target_type or None,
        )


def _what(exc: ValidationError) -> str:
    """Which fields are wrong and how, without their values."""
    faults = exc.errors(include_url=False, include_context=False, include_input=False)
    return ", ".join(f"{'.'.join(map(str, f['loc'])) or 'value'} {f['type']}" for f in faults[:4])
