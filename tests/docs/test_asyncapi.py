"""The published description of events is sound, and true of real events."""

import json
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from tools.event_examples import message, subject

from ricordo.adapters.nats import read_event
from ricordo.events import ALL, Event
from tests.support.publishing import published, validator
from tests.unit.test_wire import example
from tests.unit.test_wire import write as written


def test_every_event_has_a_channel_a_message_and_a_schema() -> None:
    document = published()
    names = {kind.__name__ for kind in ALL}
    assert document["asyncapi"] == "3.0.0"
    assert set(document["channels"]) == set(document["components"]["messages"]) == names
    assert {f"announce{name}" for name in names} == set(document["operations"])
    assert names <= set(document["components"]["schemas"])


def test_every_reference_leads_somewhere() -> None:
    document = published()

    def visit(node: Any) -> None:
        if isinstance(node, dict):
            if "$ref" in node:
                found: Any = document
                for part in node["$ref"].removeprefix("#/").split("/"):
                    found = found[part]
            for value in node.values():
                visit(value)
        elif isinstance(node, list):
            for value in node:
                visit(value)

    visit(document)


@pytest.mark.parametrize("kind", ALL)
def test_events_are_as_their_schema_says(kind: type[Event]) -> None:
    check = validator(kind.__name__)
    check.validate(message(kind))
    check.validate(yaml.safe_load(written(example(kind))))
    [shown] = published()["components"]["messages"][kind.__name__]["examples"]
    assert shown["payload"] == message(kind)


@pytest.mark.parametrize("kind", ALL)
def test_an_example_reads_as_its_event(kind: type[Event]) -> None:
    found = read_event(json.dumps(message(kind)).encode())
    assert type(found.event) is kind
    address = published()["channels"][kind.__name__]["address"]
    mine = subject(kind).split(".")
    filled = address.format(prefix="ricordo", tenant="acme", key=mine[-1])
    assert filled == ".".join(mine)


@pytest.mark.parametrize("kind", ALL)
def test_what_is_missing_or_of_another_type_is_not_as_the_schema_says(kind: type[Event]) -> None:
    check = validator(kind.__name__)
    for name in ("id", "time", "sequence", "data"):
        whole = message(kind)
        del whole[name]
        with pytest.raises(ValidationError):
            check.validate(whole)
    whole = message(kind)
    whole["data"]["scope"] = {"type": "nobody"}
    with pytest.raises(ValidationError):
        check.validate(whole)


def test_schemas_are_sound() -> None:
    for name in published()["components"]["schemas"]:
        Draft202012Validator.check_schema(published()["components"]["schemas"][name])
