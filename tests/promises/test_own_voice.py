"""Promise 8, on the whole way: what a model is shown of a turn, and what is kept of its answer."""

from pathlib import Path

from ricordo import Listing
from ricordo.model import Said, Speaker, Turn
from tests.support.fake_model import FakeModel
from tests.support.opening import Clock, opened, person
from tests.support.talking import answer, extractor, item, turn

ECHO = "Prefers answers without long introductions"
MAIL = "Sum up this:\n\nFrom: Gordon <gordon@x.example>\nI live in Hull. My van is white."


async def _learned(tmp_path: Path, *items: dict, said: Turn, clock: Clock):
    """The requests' texts, what was stored, and why the rest was refused."""
    with FakeModel(lambda _: answer(*items)) as model:
        async with opened(tmp_path, clock=clock, extractor=extractor(model)) as memory:
            alice = memory.user(person(), agent="coder")
            await alice.observe(said)
            await memory.intake.drain()
            kept = (await alice.list(Listing())).memories
            refused = [refusal.reason for refusal in await alice.refusals()]
            asked = "\n".join(request.all_text for request in model.requests)
            return asked, [one.text for one in kept], refused


async def test_a_model_never_sees_a_secret_and_cannot_give_away_a_part_of_it(tmp_path: Path):
    clock = Clock()
    said = turn("My NAS is a Synology. Its password is Tr0ub4dor&3, ok?", clock=clock)
    part = item("Tr0ub4dor&3", "Tr0ub4dor&3")
    nas = item("Has a Synology NAS", "My NAS is a Synology")
    asked, kept, refused = await _learned(tmp_path, part, nas, said=said, clock=clock)
    assert "Tr0ub4dor" not in asked
    assert kept == ["Has a Synology NAS"]
    assert refused == ["its quote is not what the user said"]


async def test_a_pasted_mail_is_neither_shown_to_the_model_nor_a_source(tmp_path: Path):
    clock = Clock()
    lives = item("Lives in Hull", "I live in Hull")
    asked, kept, refused = await _learned(
        tmp_path, lives, said=turn(MAIL, clock=clock), clock=clock
    )
    assert "Hull" not in asked
    assert kept == []
    assert refused == ["its quote is not what the user said"]


async def test_a_turn_of_nothing_but_pasted_text_asks_no_model(tmp_path: Path):
    clock = Clock()
    pasted = Said(speaker=Speaker.USER, text="I live in Hull.", trusted=False)
    said = Turn(thread_id="t", run_id="r", agent="coder", at=clock(), said=(pasted,))
    asked, kept, _ = await _learned(tmp_path, said=said, clock=clock)
    assert (asked, kept) == ("", [])


async def test_what_is_no_memory_is_refused_and_the_reason_kept(tmp_path: Path):
    clock = Clock()
    said = turn("Do you like jazz? Write me a haiku. I live in Bern.", clock=clock)
    items = (
        item("Likes jazz", "you like jazz"),
        item("Writes haikus", "Write me a haiku"),
        item("Lives in Basel", "Write me a haiku"),
        item("Lives in Bern", "I live in Bern"),
    )
    _, kept, refused = await _learned(tmp_path, *items, said=said, clock=clock)
    assert kept == ["Lives in Bern"]
    assert set(refused) == {
        "it is a question",
        "it is a task for this one time",
        "it repeats what the model was shown, not what was said",
    }


async def test_a_wish_that_the_model_echoes_or_misfiles_is_kept_in_the_users_words(tmp_path: Path):
    clock = Clock()
    said = turn("All derivations annoy me. Always answer in French.", clock=clock)
    items = (
        item(ECHO, "derivations annoy me", kind="preference"),
        item("Speaks Frisian", "Always answer in French"),
    )
    _, kept, refused = await _learned(tmp_path, *items, said=said, clock=clock)
    assert set(kept) == {"derivations annoy me", "Always answer in French"}
    assert refused == []
