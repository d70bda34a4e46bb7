"""The reference pages of the library: its classes and methods, its events, its errors.

Written from the code; `tools.reference` puts them where they belong.
"""

import importlib
import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from enum import Enum
from typing import Any

from tools.event_examples import message

import ricordo
from ricordo import errors
from ricordo.adapters.local import LocalEvents
from ricordo.errors import RicordoError
from ricordo.events import ALL, Event, OrganizationEvent, UserEvent
from ricordo.hosts import maf
from ricordo.hosts.cli.exits import exit_code
from ricordo.memory.intake import Intake
from ricordo.wire import name_of, type_of

FACADES = (ricordo.Ricordo, ricordo.UserMemory, ricordo.OrganizationMemory)
"""The classes whose every public method is listed."""

_PARTS = {
    "intake.ready": Intake.ready,
    "intake.drain": Intake.drain,
    "intake.use": Intake.use,
    "events.subscribe": LocalEvents.subscribe,
}
"""What an opened memory has besides its methods."""

_LIBRARY = """# The library

```python
from ricordo import Principal, open_memory

async with open_memory("memory.db") as memory:
    mine = memory.user(Principal(tenant="acme", user="alice"), agent="coder")
```

Everything is async; arguments behind `*` are named. Names are imported from `ricordo` unless
another module is given. Errors are those of [their own page](errors.md), events those of
[theirs](events.md).

A recall always tells why: each item of a `Recollection` has its `score`, the `signals` that it is
made of, the `origins` of its memory, and the `path` of the walk that led to it.
"""

_EVENTS = """# Events

What happened, one class each, in `ricordo.events`. Events carry ids and origins, never a memory's
text. They are written in the transaction that makes them true, and leave from the ledger's outbox
at least once, in order per scope.

```python
from ricordo.events import OrganizationMemoryDocumented, UserMemoryProposed

kinds = [UserMemoryProposed, OrganizationMemoryDocumented]
async for event in memory.events.subscribe(kinds=kinds):
    print(type(event).__name__, event.memory_id)
```

Without `kinds` all are delivered, with a class its subclasses too (`UserEvent`,
`OrganizationEvent`, `Event`). With `consumer="a name"` the position is kept in the file: who comes
again under that name goes on after the last event that it was done with.

Events that a named consumer has yet to read are kept, however old they are. One that does not come
back is retired (`memory.retire_reader("a name")`, `ricordo events retire`), so that it holds
nothing up. Should it come back, it gets `Retired`; with `come_back=True` it goes on with what is
there, and `missed` of the subscription says how many events are gone. Erasures always wait for
it.

## What has none

Some acts have no event of their own, each for a reason:

- a turn that is accepted: nothing became true of memory yet. What became of it is announced;
- a proposed merge that is withdrawn, with its pass or with one of its entities: nobody decided;
- relations that go with their memory: the event of the memory stands for them. They have one where
  they are closed, lapse or open again while no memory changes;
- a dead letter or a refusal that its owner forgets: it never was memory;
- a memory that a file has in the very same words, from the same turns: nothing changed;
- what a person looks at: only what is given to an agent, or to a question, is recalled;
- reindexing, views, moving to another ledger: what is remembered stays the same.

## Over NATS

With `nats_url` set, the same events are published to a stream of NATS JetStream (see
[how to](../how-to/announce-over-nats.md)), each as a CloudEvent of version 1.0 in JSON, as shown
below with every event. There a person is the ledger's keyed hash, wherever they are named: in
`scope`, in `by`, and as `author` of an origin; no `quote` is there, and of a reason only the name
of the error. `sequence` grows from one event to the next, so a subscriber that remembers the last
one it saw knows a second delivery. A message has room for half a megabyte of data: of a hundred
origins the last, of each the last hundred messages, and of what is longer still as much as fits;
`left_out` then says by field how many are not told. [asyncapi.yaml](asyncapi.yaml) has the schemas,
for programs.

Subjects are `ricordo.<tenant>.events.<user|organization>.<thing>.<happened>.<key>`. The first part
is the setting `nats_prefix`. Letters, digits, `_` and `-` of an id stay as they are; every other
byte is `=` and two hexadecimal digits. The key is the person's keyed hash, or the namespace, where
`=` alone is the tenant's common one.

## Fields of every event

| field | meaning |
|---|---|
"""

_ERRORS = """# Errors

Every error that Ricordo raises is a `RicordoError` of `ricordo.errors`. Its branch says what can be
done about it. Messages name ids, limits and the way out, never a memory's text. What lies in
another scope is `NotFound`, as if it did not exist.

A constructor that is given nonsense raises a plain `ValueError`.

| error | is a | meaning | exit code |
|---|---|---|---|
"""

FIELDS = {
    "id": "unique; a second delivery of the same event has the same id",
    "at": "when it became true",
    "scope": "a `UserScope` or an `OrganizationScope`",
    "origins": "the turns or statements that led to it, oldest first; but last the one that led "
    "to what is announced",
    "memory_id": "the memory",
    "memory_ids": "the memories",
    "kind": "`preference` or `fact`",
    "reasons": "names of the policy checks that want a person to look",
    "relation_ids": "the relations: those that a memory brought into the graph, or that changed",
    "version": "the memory's version from now on",
    "change": "what changed, in one word, such as `edited`, `superseded`, `merged`, `demoted`; of "
    "relations `closed`, `lapsed`, `reopened`",
    "agent": "the agent that was given them; none where a person asked directly",
    "subject": "the keyed hash of the erased scope, as on the receipt",
    "refusal_id": "the kept refusal; `refusals()` and `ricordo review refusals` show it",
    "rule": "the integrity rule that was broken, of `ricordo.model.Rule`",
    "thread_id": "the conversation",
    "run_id": "the exchange in it",
    "reason": "why it could not be extracted",
    "approved": "whether the person said yes",
    "by": "the person's id",
    "entity_id": "the entity",
    "into_id": "the entity that stands for it",
    "merge_id": "the merge; `unmerge` takes it back",
    "proposal_id": "the proposal; `merge_proposals()` shows those that wait",
}
"""What each field of an event means."""


def library_page() -> str:
    """docs/reference/library.md."""
    lines = [_LIBRARY, "## Open", "", _function("open_memory", ricordo.open_memory)]
    lines.append(_function("open_history", ricordo.open_history))
    lines.append(_function("load_settings", ricordo.load_settings))
    for facade in FACADES:
        lines += ["", f"## `{facade.__name__}`", "", about(facade), ""]
        lines += [_function(name, member) for name, member in methods(facade)]
        if facade is ricordo.Ricordo:
            lines += [_function(f"memory.{name}", member) for name, member in _PARTS.items()]
    lines += ["", "## Values", "", _function("grants_of", ricordo.grants_of)]
    lines += [_value(name) for name in ricordo.__all__ if _is_value(name)]
    lines += ["", "## In an agent: `ricordo.hosts.maf`", ""]
    lines += [f"- `{name}`: {about(getattr(maf, name))}" for name in maf.__all__]
    lines += ["", "## Models of your own: `ricordo.adapters.framework`", ""]
    framework = importlib.import_module("ricordo.adapters.framework")
    lines += [f"- `{name}`: {about(getattr(framework, name))}" for name in framework.__all__]
    return "\n".join(lines) + "\n"


def events_page() -> str:
    """docs/reference/events.md."""
    rows = [f"| `{field.name}` | {FIELDS[field.name]} |" for field in fields(Event)]
    lines = [_EVENTS + "\n".join(rows)]
    for title, kept in (
        ("Of a user's memory", _below(UserEvent)),
        ("Of an organization's memory", _below(OrganizationEvent)),
        ("Of either", lambda cls: not issubclass(cls, UserEvent | OrganizationEvent)),
    ):
        lines += ["", f"## {title}"]
        for event in filter(kept, ALL):
            lines += ["", f"### `{event.__name__}`", "", about(event), ""]
            lines += _own_fields(event)
            lines += ["", f"Type `{type_of(event)}`, on `{_channel(event)}`:", ""]
            lines += ["```json", json.dumps(message(event), indent=1, ensure_ascii=False), "```"]
    return "\n".join(lines) + "\n"


def errors_page() -> str:
    """docs/reference/errors.md."""
    every = [c for c in vars(errors).values() if isinstance(c, type)]
    rows = [_error(cls) for cls in every if issubclass(cls, RicordoError)]
    after = (
        "\nThe exit code is the command line's. Besides, 0 is done, 130 was interrupted by Ctrl-C, "
        "and a\nwrong command line is 2.\n"
    )
    return _ERRORS + "\n".join(rows) + "\n" + after


def methods(facade: type) -> list[tuple[str, Any]]:
    """The public methods and properties of a class, in the order in which they are written."""
    return [(n, m) for n, m in vars(facade).items() if not n.startswith("_")]


def _below(root: type[Event]) -> Callable[[type[Event]], bool]:
    return lambda cls: issubclass(cls, root)


def _channel(event: type[Event]) -> str:
    key = "<hash>" if issubclass(event, UserEvent) else "<namespace>"
    return f"ricordo.<tenant>.events.{name_of(event)}.{key}"


def _own_fields(event: type[Event]) -> list[str]:
    common = {field.name for field in fields(Event)}
    return [f"- `{f.name}`: {FIELDS[f.name]}" for f in fields(event) if f.name not in common]


def _error(cls: type[RicordoError]) -> str:
    parent = cls.__bases__[0].__name__
    shown = f"`{parent}`" if parent.endswith("Error") or parent in vars(errors) else ""
    code = exit_code(cls("", rule="") if cls is errors.Refused else cls(""))
    return f"| `{cls.__name__}` | {shown} | {about(cls)} | {code} |"


def _function(name: str, member: Any) -> str:
    if isinstance(member, property):
        return f"- `{name}`: {about(member)}"
    return f"- `{name}({_parameters(member)})`: {about(member)}"


def _parameters(member: Callable[..., Any]) -> str:
    shown: list[str] = []
    starred = False
    for name, parameter in inspect.signature(member).parameters.items():
        if name == "self":
            continue
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            shown.append("*")
            starred = True
        default = parameter.default
        shown.append(name if default is inspect.Parameter.empty else f"{name}={_default(default)}")
    return ", ".join(shown)


def _default(value: object) -> str:
    if isinstance(value, Enum):
        return repr(value.value)
    if callable(value):
        return value.__name__
    if type(value).__repr__ is object.__repr__:  # a sign for "nothing was said"
        return type(value).__name__.upper()
    return repr(value)


def _is_value(name: str) -> bool:
    return inspect.isclass(getattr(ricordo, name)) and getattr(ricordo, name) not in FACADES


def _value(name: str) -> str:
    cls = getattr(ricordo, name)
    return f"- `{name}{_shape(cls)}`: {about(cls)}"


def _shape(cls: type) -> str:
    if issubclass(cls, Enum):
        return ""
    shape: Mapping[str, Any] = getattr(cls, "__dataclass_fields__", {})
    return f"({', '.join(_field(f) for f in shape.values())})" if shape else ""


def _field(field: Any) -> str:
    optional = field.default is not MISSING or field.default_factory is not MISSING
    return f"{field.name}=…" if optional else field.name


def about(thing: object) -> str:
    """The first paragraph of a docstring, in one line."""
    text = (inspect.getdoc(thing) or "").split("\n\n")[0]
    return re.sub(r"\s+", " ", text).strip().replace("|", "\\|")


PAGES = {"library.md": library_page, "events.md": events_page, "errors.md": errors_page}
