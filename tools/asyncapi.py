"""The description of all events for other programs: docs/reference/asyncapi.yaml."""

import types
import typing
from dataclasses import MISSING, fields
from datetime import datetime
from enum import Enum
from importlib import metadata
from typing import Any

import yaml
from tools.event_examples import message
from tools.library_pages import FIELDS, about

from ricordo.events import ALL, Event, UserEvent
from ricordo.model import Origin
from ricordo.wire import LEFT_OUT, name_of, schema_of, type_of

Schema = dict[str, Any]


class _Dumper(yaml.SafeDumper):
    """Writes a text of several lines as it is, and nothing by reference."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    ),
)
_ABOUT = """What happens in Ricordo's memory: ids and origins, never a memory's text. Events of one
scope arrive in order. A subscriber may be given one twice, and knows it by its `id`, or by a
`sequence` that is not above the last one it saw.

People are named by a keyed hash, which only the memory itself can make. `{prefix}` is the setting
`nats_prefix`, by default `ricordo`; the streams are made by `ricordo events init`.

A field may be added to an event at any time; anything else becomes a new version, which its `type`
and `dataschema` tell.
"""

_ORIGIN = {
    "at": "when it was said",
    "agent": "the agent that heard it",
    "thread_id": "the conversation or goal",
    "display_id": "one view for a person",
    "run_id": "one start-to-stop execution",
    "author": "keyed hash of whoever said it, where that is not the user themselves",
    "message_ids": "ids of the messages, in order",
}
_KEY = {
    "user": "The person's keyed hash.",
    "organization": "The namespace; `=` is the tenant's common one.",
}


def page() -> str:
    """docs/reference/asyncapi.yaml."""
    head = "# Written by `python -m tools.reference` from the code.\n"
    return head + yaml.dump(
        document(), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=96
    )


def document() -> Schema:
    """The whole description, of AsyncAPI 3.0."""
    version = metadata.version("ricordo")
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "Ricordo's events", "version": version, "description": _ABOUT},
        "defaultContentType": "application/cloudevents+json",
        "servers": {"nats": {"host": "localhost:4222", "protocol": "nats"}},
        "channels": {kind.__name__: _channel(kind) for kind in ALL},
        "operations": {f"announce{kind.__name__}": _operation(kind) for kind in ALL},
        "components": {
            "messages": {kind.__name__: _message(kind) for kind in ALL},
            "schemas": schemas(),
        },
    }


def schemas() -> Schema:
    """By name, the schemas of envelopes, of their data, and of what these are made of."""
    found: Schema = {"UserScope": _user(), "OrganizationScope": _organization()}
    found["Origin"] = _object(Origin, _ORIGIN, without={"quote"})
    for kind in ALL:
        found[kind.__name__] = _envelope(kind)
        found[f"{kind.__name__}Data"] = _data(kind)
    return found


def _channel(kind: type[Event]) -> Schema:
    name = name_of(kind)
    return {
        "address": f"{{prefix}}.{{tenant}}.events.{name}.{{key}}",
        "description": about(kind),
        "messages": {kind.__name__: {"$ref": f"#/components/messages/{kind.__name__}"}},
        "parameters": {
            "prefix": {"description": "The setting nats_prefix.", "default": "ricordo"},
            "tenant": {"description": "The tenant, as one token."},
            "key": {"description": _KEY[name.of]},
        },
    }


def _operation(kind: type[Event]) -> Schema:
    channel = f"#/channels/{kind.__name__}"
    return {
        "action": "send",
        "channel": {"$ref": channel},
        "messages": [{"$ref": f"{channel}/messages/{kind.__name__}"}],
    }


def _message(kind: type[Event]) -> Schema:
    return {
        "name": type_of(kind),
        "title": kind.__name__,
        "summary": about(kind),
        "contentType": "application/cloudevents+json",
        "headers": {
            "type": "object",
            "required": ["Nats-Msg-Id"],
            "properties": {"Nats-Msg-Id": {"type": "string", "description": "The event's id."}},
        },
        "payload": {"$ref": f"#/components/schemas/{kind.__name__}"},
        "examples": [{"payload": message(kind)}],
    }


def _envelope(kind: type[Event]) -> Schema:
    text = {"type": "string", "minLength": 1}
    return {
        "type": "object",
        "description": "A CloudEvent of version 1.0.",
        "required": [
            *("specversion", "id", "source", "type", "subject", "time"),
            *("datacontenttype", "dataschema", "sequence", "data"),
        ],
        "properties": {
            "specversion": {"const": "1.0"},
            "id": {**text, "description": FIELDS["id"]},
            "source": {**text, "description": "`/ricordo/tenants/` and the tenant"},
            "type": {"const": type_of(kind)},
            "subject": {**text, "description": "`user/` or `organization/`, and whose memory"},
            "time": {**_time(), "description": FIELDS["at"]},
            "datacontenttype": {"const": "application/json"},
            "dataschema": {"const": schema_of(kind)},
            "sequence": {
                "type": "string",
                "pattern": "^[0-9]{19}$",
                "description": "grows from one event to the next",
            },
            "data": {"$ref": f"#/components/schemas/{kind.__name__}Data"},
        },
    }


def _data(kind: type[Event]) -> Schema:
    scope = "UserScope" if issubclass(kind, UserEvent) else "OrganizationScope"
    made = _object(kind, FIELDS | {"by": "keyed hash of the person"}, without={"id", "at", "scope"})
    made["required"] = ["scope", *made["required"]]
    made["properties"] = {
        "scope": {"$ref": f"#/components/schemas/{scope}"},
        **made["properties"],
        LEFT_OUT: _left_out(made["properties"]),
    }
    return made


def _left_out(properties: Schema) -> Schema:
    """How much of an event's lists had no room in a message."""
    lists = [name for name, schema in properties.items() if schema["type"] == "array"]
    counted = [*lists, "message_ids"]
    return {
        "type": "object",
        "description": "by field, how many of its items are not told, for a message has not the "
        "room; of `origins` and their `message_ids` the last are told. Missing where all are",
        "properties": {name: {"type": "integer", "minimum": 1} for name in counted},
    }


def _object(kind: type, described: typing.Mapping[str, str], *, without: set[str]) -> Schema:
    hints = typing.get_type_hints(kind)
    kept = [field for field in fields(kind) if field.name not in without]
    return {
        "type": "object",
        "required": [
            field.name
            for field in kept
            if field.default is MISSING and field.default_factory is MISSING
        ],
        "properties": {
            field.name: {**_schema(hints[field.name]), "description": described[field.name]}
            for field in kept
        },
    }


def _schema(hint: Any) -> Schema:
    if typing.get_origin(hint) is tuple:
        return {"type": "array", "items": _schema(typing.get_args(hint)[0])}
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return _schema(next(each for each in typing.get_args(hint) if each is not type(None)))
    if hint is Origin:
        return {"$ref": "#/components/schemas/Origin"}
    if hint is datetime:
        return _time()
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"type": "string", "enum": [member.value for member in hint]}
    return {"type": {str: "string", int: "integer", bool: "boolean"}[hint]}


def _time() -> Schema:
    return {"type": "string", "format": "date-time"}


def _user() -> Schema:
    return {
        "type": "object",
        "required": ["type", "tenant", "user"],
        "properties": {
            "type": {"const": "user"},
            "tenant": {"type": "string"},
            "user": {"type": "string", "description": "the person's keyed hash"},
        },
    }


def _organization() -> Schema:
    return {
        "type": "object",
        "required": ["type", "tenant", "namespace"],
        "properties": {
            "type": {"const": "organization"},
            "tenant": {"type": "string"},
            "namespace": {
                "type": ["string", "null"],
                "description": "null is the tenant's common one",
            },
        },
    }
