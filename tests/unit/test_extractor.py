"""Extraction by a chat client: one call, checked item by item, failing as errors of our own."""

import json

import pytest
from agent_framework import ChatResponse, Message

from ricordo.adapters.framework import FrameworkExtractor
from ricordo.adapters.framework.answer import LONGEST_ANSWER
from ricordo.errors import DeadlineExceeded, Malformed, Unavailable
from ricordo.model import MAX_NAME
from ricordo.ports import Instructions, StatedRelation
from tests.support.fake_model import FakeModel, Reply, scripted
from tests.support.talking import answer, extractor, item

ASK = Instructions(
    version="extract-1",
    system="Write down what is durable.",
    examples=(("U1> Hello.", '{"items":[{"kind":"none"}]}'),),
    material="U1> I work on Project Falcon.",
    relations=("works_on", "uses"),
    types=("Person", "Project"),
)
WORKS = item(
    "Works on Project Falcon",
    "I work on Project Falcon",
    relations=(("user", "works_on", "Project Falcon"),),
)
SECRET = "hunter-two-is-private"


async def test_one_call_returns_preferences_and_facts_with_their_relations():
    """Promise 6."""
    reply = answer(
        WORKS, item("Prefers short examples", "short examples", kind="preference", replaces=(1,))
    )
    with FakeModel(scripted(reply)) as model:
        found = await extractor(model).extract(ASK)
        [request] = model.requests
    fact, preference = found.candidates
    assert (fact.kind, fact.quote, fact.turn) == ("fact", "I work on Project Falcon", 1)
    assert fact.relations == (
        StatedRelation(source="user", relation="works_on", target="Project Falcon"),
    )
    assert (preference.kind, preference.replaces) == ("preference", (1,))
    assert preference.confidence == 0.9
    assert not found.faults
    assert (found.model, found.prompt_tokens, found.completion_tokens) == ("fake", 10, 5)
    assert [m["role"] for m in request.messages] == ["system", "user", "assistant", "user"]
    assert request.last_user_text == ASK.material


async def test_the_endpoint_is_held_to_a_strict_schema_with_kind_first_and_at_least_one_item():
    with FakeModel(scripted(answer(WORKS))) as model:
        await extractor(model).extract(ASK)
        body = model.requests[0].body
    sent = body["response_format"]["json_schema"]
    items, shape = sent["schema"]["properties"]["items"], _item_shape(sent["schema"])
    assert sent["strict"] is True
    assert items["minItems"] == 1
    assert next(iter(shape["properties"])) == "kind"
    assert shape["properties"]["kind"]["enum"] == ["preference", "fact", "none"]
    relation = sent["schema"]["$defs"]["Relation"]["properties"]
    assert relation["relation"]["enum"] == ["works_on", "uses"]
    assert relation["source_type"]["enum"] == ["Person", "Project"]
    assert body["temperature"] == 0


async def test_a_bound_on_items_is_part_of_the_schema():
    ask = Instructions(version="extract-1", system="s", material="m", most=5)
    with FakeModel(scripted(answer(WORKS))) as model:
        await extractor(model).extract(ask)
        schema = model.requests[0].body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["items"]["maxItems"] == 5


@pytest.mark.parametrize("known", [0, 2])
async def test_only_listed_memories_can_be_replaced(known: int):
    ask = Instructions(version="extract-1", system="s", material="m", known=known)
    with FakeModel(scripted(answer(WORKS))) as model:
        await extractor(model).extract(ask)
        schema = model.requests[0].body["response_format"]["json_schema"]["schema"]
    shape = _item_shape(schema)
    assert set(shape["required"]) == set(shape["properties"])
    assert shape["properties"].get("replaces", {}).get("items", {}).get("enum") == (
        [1, 2] if known else None
    )


@pytest.mark.parametrize(
    "text",
    [
        "```json\n{0}\n```",
        'Here it is, as {{"asked"}}: {0} I hope that {{helps}}.',
        '{{"thought": "first"}} {0}',
        "\ufeff\n{0}\n\n",
    ],
)
async def test_fences_and_words_around_the_answer_are_passed_over(text: str):
    wrapped = Reply(text=text.format(json.dumps({"items": [WORKS]})))
    with FakeModel(scripted(wrapped)) as model:
        found = await extractor(model).extract(ASK)
        assert len(model.requests) == 1
    assert [one.text for one in found.candidates] == ["Works on Project Falcon"]


async def test_none_means_nothing_and_is_no_fault():
    with FakeModel(scripted(answer(item("", "", kind="none")))) as model:
        found = await extractor(model).extract(ASK)
    assert (found.candidates, found.faults) == ((), ())


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"kind": "rumour"}, "kind"),
        ({"kind": 7}, "kind"),
        ({"text": None}, "text"),
        ({"text": ["Works"]}, "text"),
        ({"text": "  "}, "text"),
        ({"text": "x" * 1_001}, "text"),
        ({"text": "a\x00b"}, "text"),
        ({"quote": "\ud800 lone"}, "quote"),
        ({"quote": "x" * 4_001}, "quote"),
        ({"confidence": 7}, "confidence"),
        ({"confidence": "certainly"}, "confidence"),
        ({"confidence": float("nan")}, "confidence"),
        ({"replaces": "all"}, "replaces"),
        ({"replaces": list(range(99))}, "replaces"),
        ({"relations": "none"}, "relations"),
        ({"relations": [{}] * 17}, "relations"),
        ({"turn": 0}, "turn"),
        ({"turn": {"n": 1}}, "turn"),
    ],
)
async def test_an_item_of_the_wrong_shape_costs_only_itself_and_leaves_a_line(changes, named):
    """Nothing is lost silently, and no line carries the item's text."""
    bad = {**item(SECRET, SECRET), **changes}
    with FakeModel(scripted(answer(bad, WORKS))) as model:
        found = await extractor(model).extract(ASK)
    assert [one.text for one in found.candidates] == ["Works on Project Falcon"]
    [fault] = found.faults
    assert fault.startswith("item 1: ")
    assert named in fault
    assert SECRET not in fault


@pytest.mark.parametrize("field", ["text", "quote"])
async def test_a_missing_field_is_a_fault(field: str):
    bad = {key: value for key, value in WORKS.items() if key != field}
    with FakeModel(scripted(answer(bad))) as model:
        found = await extractor(model).extract(ASK)
    assert found.candidates == ()
    assert found.faults == (f"item 1: {field} missing",)


@pytest.mark.parametrize("bad", [None, 3, "Works on Falcon", ["x"]])
async def test_what_is_no_object_is_a_fault(bad):
    with FakeModel(scripted(Reply(text=json.dumps({"items": [bad, WORKS]})))) as model:
        found = await extractor(model).extract(ASK)
    assert len(found.candidates) == 1
    assert found.faults == ("item 1: not an object",)


async def test_a_bad_relation_costs_only_itself():
    stated = [
        "works_on",
        {"source": "user", "relation": "works_on"},
        {"source": "user", "relation": "uses", "target": "x" * (MAX_NAME + 1)},
        {"source": "user", "relation": "works_on", "target": "Falcon", "target_type": "Project"},
    ]
    with FakeModel(scripted(answer({**WORKS, "relations": stated}))) as model:
        found = await extractor(model).extract(ASK)
    [fact] = found.candidates
    assert [one.target for one in fact.relations] == ["Falcon"]
    assert [fault.split(":")[0] for fault in found.faults] == [
        "item 1, relation 1",
        "item 1, relation 2",
        "item 1, relation 3",
    ]


async def test_the_same_item_twice_is_one():
    as_fact = item("Prefers short examples.", "short examples please")
    as_preference = item("prefers short examples", "short examples", kind="preference")
    with FakeModel(scripted(answer(as_fact, WORKS, as_preference, WORKS))) as model:
        found = await extractor(model).extract(ASK)
    assert [one.kind for one in found.candidates] == ["fact", "fact", "preference"]
    assert found.faults == ()


async def test_of_a_thousand_items_the_rest_is_counted():
    many = [item(f"Works on project {number}", "I work on it") for number in range(1_000)]
    with FakeModel(scripted(answer(*many))) as model:
        found = await extractor(model, max_items=10).extract(ASK)
    assert len(found.candidates) == 10
    assert found.faults == ("990 items beyond the first 10 were not read",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty"),
        ("I would rather not.", "no complete JSON object"),
        (json.dumps({"items": [WORKS]})[:-30], 'no list under "items"'),
        ('{"memories": []}', 'no list under "items"'),
        ('{"items": {"kind": "fact"}}', 'no list under "items"'),
        ("[" * 100_000, "no complete JSON object"),
        ('{"a":' * 50_000, "no complete JSON object"),
        ("x" * (LONGEST_ANSWER + 1), "longer than"),
    ],
)
async def test_an_unreadable_answer_is_repaired_once(text: str, told: str):
    """The model is shown its own answer and what was wrong with it."""
    with FakeModel(scripted(Reply(text=text), answer(WORKS))) as model:
        found = await extractor(model).extract(ASK)
        first, second = model.requests
    assert [one.text for one in found.candidates] == ["Works on Project Falcon"]
    assert second.messages[: len(first.messages)] == first.messages
    shown, complaint = second.texts()[-2:]
    assert shown == (text[:4_000] or "(nothing)")
    assert told in complaint
    assert (found.prompt_tokens, found.completion_tokens) == (20, 10)


async def test_an_answer_that_stays_unreadable_is_malformed_without_its_text():
    with (
        FakeModel(scripted(Reply(text=SECRET))) as model,
        pytest.raises(Malformed, match="after a repair") as caught,
    ):
        await extractor(model).extract(ASK)
    assert len(model.requests) == 2
    assert SECRET not in str(caught.value)


def _refusing(*, unless: str) -> FakeModel:
    """An endpoint that answers 400 while a request carries that option."""

    def decide(request):
        return Reply(status=400) if unless in request.body else answer(WORKS)

    return FakeModel(decide)


async def test_an_endpoint_without_response_format_is_asked_in_plain_words_from_then_on():
    with _refusing(unless="response_format") as model:
        asking = extractor(model)
        await asking.extract(ASK)
        await asking.extract(ASK)
        forms = ["response_format" in request.body for request in model.requests]
        system = model.requests[-1].texts(role="system")[0]
        assert model.requests[-1].body["temperature"] == 0
    assert forms == [True, False, False]
    assert system.startswith(ASK.system)
    assert "JSON object" in system
    assert "JSON" not in ASK.system


async def test_an_endpoint_that_refuses_options_gets_none():
    with _refusing(unless="max_completion_tokens") as model:
        await extractor(model).extract(ASK)
        assert len(model.requests) == 3
        assert "temperature" not in model.requests[-1].body


async def test_a_request_refused_in_every_manner_changes_nothing_for_the_next():
    def decide(request):
        return answer(WORKS) if "short" in request.all_text else Reply(status=400)

    short = Instructions(version="extract-1", system="s", material="short")
    with FakeModel(decide) as model:
        asking = extractor(model)
        with pytest.raises(Unavailable, match=r"HTTP 400.*no use"):
            await asking.extract(ASK)
        await asking.extract(short)
        assert "response_format" in model.requests[-1].body


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (401, "no use.*credentials"),
        (403, "no use.*credentials"),
        (404, "no use.*no such model"),
        (413, "no use.*too large"),
        (409, "HTTP 409"),
    ],
)
async def test_an_http_error_names_its_status_and_whether_to_try_again(status: int, told: str):
    with (
        FakeModel(scripted(Reply(status=status))) as model,
        pytest.raises(Unavailable, match=told) as caught,
    ):
        await _impatient(model).extract(ASK)
    assert caught.value.__cause__ is not None
    assert "Falcon" not in str(caught.value)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_passing_http_error_says_try_again_later(status: int):
    with (
        FakeModel(scripted(Reply(status=status))) as model,
        pytest.raises(Unavailable, match=f"HTTP {status}; try again later"),
    ):
        await _impatient(model).extract(ASK)


async def test_an_endpoint_that_is_not_there_is_unavailable():
    with FakeModel() as model:
        asking = _impatient(model)
    with pytest.raises(Unavailable, match="client failed"):
        await asking.extract(ASK)


async def test_a_model_that_hangs_is_given_up_at_the_deadline():
    with (
        FakeModel(scripted(Reply(hang=True))) as model,
        pytest.raises(DeadlineExceeded, match=r"0\.05 s"),
    ):
        await extractor(model, timeout=0.05).extract(ASK)


class _Plugged:
    """A chat client of somebody else's making, without a usage report or a model's name."""

    additional_properties: dict = {}  # noqa: RUF012 - the protocol's own shape

    def __init__(self, outcome) -> None:
        self.outcome = outcome

    async def get_response(self, messages, *, stream=False, options=None, **_):
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return ChatResponse(messages=[Message(role="assistant", contents=[self.outcome])])


async def test_any_client_of_the_framework_fits():
    asking = FrameworkExtractor(_Plugged(json.dumps({"items": [WORKS]})), model="theirs")
    found = await asking.extract(ASK)
    assert len(found.candidates) == 1
    assert (found.model, found.prompt_tokens, found.completion_tokens) == ("theirs", None, None)


@pytest.mark.parametrize("error", [RuntimeError(SECRET), TimeoutError(SECRET), KeyError(SECRET)])
async def test_whatever_a_client_raises_is_unavailable_without_its_message(error: Exception):
    with pytest.raises(Unavailable, match=type(error).__name__) as caught:
        await FrameworkExtractor(_Plugged(error)).extract(ASK)
    assert caught.value.__cause__ is error
    assert SECRET not in str(caught.value)


def _item_shape(schema: dict) -> dict:
    return schema["$defs"]["Item"]


def _impatient(model: FakeModel) -> FrameworkExtractor:
    """Without the vendor's own retries, which would only make the test wait."""
    from agent_framework.openai import OpenAIChatCompletionClient
    from openai import AsyncOpenAI

    vendor = AsyncOpenAI(api_key="none", base_url=model.base_url, max_retries=0)
    return FrameworkExtractor(OpenAIChatCompletionClient(model="fake", async_client=vendor))
