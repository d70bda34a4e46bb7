"""Any embedding client of the framework plugs in, and whatever it answers is checked.

A real `OpenAIEmbeddingClient` talks HTTP to an endpoint on 127.0.0.1.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from agent_framework import Embedding, GeneratedEmbeddings, SupportsGetEmbeddings
from agent_framework.openai import OpenAIEmbeddingClient
from openai import AsyncOpenAI

from ricordo.adapters.framework import FrameworkEmbedder
from ricordo.errors import Conflict, DeadlineExceeded, SpaceMismatch, Unavailable
from ricordo.ports import Embedder

SECRET = "the vault opens at dawn"


def honest(texts: Sequence[str]) -> list[list[float]]:
    """Three numbers that tell texts apart, not of length 1."""
    return [[3.0, float(len(text)), float(len(text.split()))] for text in texts]


class Endpoint:
    """OpenAI's /v1/embeddings on a free port; `vectors` and `status` decide on the answers."""

    def __init__(self) -> None:
        self.vectors: Callable[[Sequence[str]], list[Any]] = honest
        self.status = 200
        self.closing = threading.Event()
        self.hang = False
        self.arrived = threading.Event()
        self.requests: list[dict[str, Any]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: object) -> None:
                """Stay silent."""

            def do_POST(self) -> None:
                endpoint.answer(self)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.base_url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        self.requests.append({"path": handler.path, **body})
        self.arrived.set()
        if self.hang:
            self.closing.wait()
            return
        if self.status == 200:
            data = [
                {"object": "embedding", "index": n, "embedding": vector}
                for n, vector in enumerate(self.vectors(body["input"]))
            ]
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            reply = {"object": "list", "model": body["model"], "data": data[::-1], "usage": usage}
        else:
            reply = {"error": {"message": f"cannot embed {body['input']}"}}
        content = json.dumps(reply).encode()
        handler.send_response(self.status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    @property
    def inputs(self) -> list[list[str]]:
        return [request["input"] for request in self.requests]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    opened = Endpoint()
    thread = threading.Thread(
        target=opened.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    yield opened
    opened.closing.set()
    opened.server.shutdown()
    opened.server.server_close()
    thread.join()


@pytest.fixture
async def client(endpoint: Endpoint):
    async with AsyncOpenAI(base_url=endpoint.base_url, api_key="none", max_retries=0) as openai:
        yield OpenAIEmbeddingClient(model="fake-embed", async_client=openai)


def numbers(vector: bytes) -> list[float]:
    return np.frombuffer(vector, dtype="<f4").tolist()


# ---------------------------------------------------------------- what works


async def test_vectors_come_back_in_order_with_length_one(client, endpoint: Endpoint):
    """The port over real HTTP: unit little-endian float32, one per text, in the texts' order."""
    embedder: Embedder = FrameworkEmbedder(client)
    texts = ["one", "two words", "and three words"]
    vectors = await embedder.documents(texts)
    for vector, raw in zip(vectors, honest(texts), strict=True):
        assert numbers(vector) == pytest.approx(np.array(raw) / np.linalg.norm(raw), abs=1e-6)
    assert await embedder.question("one") == vectors[0]
    assert await embedder.dimension() == 3
    assert endpoint.requests[0]["path"] == "/v1/embeddings"


async def test_the_dimension_is_learned_by_asking_once(client, endpoint: Endpoint):
    embedder = FrameworkEmbedder(client)
    assert await embedder.dimension() == 3
    assert await embedder.dimension() == 3
    assert len(endpoint.requests) == 1


async def test_many_texts_go_in_batches_and_none_makes_no_request(client, endpoint: Endpoint):
    embedder = FrameworkEmbedder(client, batch=4)
    texts = [f"text {'x' * n}" for n in range(10)]
    vectors = await embedder.documents(texts)
    assert [len(batch) for batch in endpoint.inputs] == [4, 4, 2]
    assert vectors == [(await embedder.documents([text]))[0] for text in texts]
    before = len(endpoint.requests)
    assert await embedder.documents([]) == []
    assert len(endpoint.requests) == before


async def test_prefixes_are_sent_and_belong_to_the_name_of_the_space(client, endpoint: Endpoint):
    """Vectors made with other prefixes are of another space: recall must not mix them."""
    embedder = FrameworkEmbedder(client, question_prefix="query: ", document_prefix="passage: ")
    await embedder.documents(["a"])
    await embedder.question("b")
    assert endpoint.inputs == [["passage: a"], ["query: b"]]
    plain, other = FrameworkEmbedder(client), FrameworkEmbedder(client, question_prefix="q: ")
    assert plain.transform == "none"
    assert len({plain.transform, other.transform, embedder.transform}) == 3


async def test_the_model_is_the_clients_unless_another_is_named(client, endpoint: Endpoint):
    assert FrameworkEmbedder(client).model == "fake-embed"
    named = FrameworkEmbedder(client, model="fake-large")
    await named.question("a")
    assert named.model == "fake-large"
    assert endpoint.requests[-1]["model"] == "fake-large"


async def test_any_text_can_be_sent(client, endpoint: Endpoint):
    """Empty texts, NULs and lone surrogates reach the endpoint as valid, non-empty JSON."""
    embedder = FrameworkEmbedder(client)
    assert len(await embedder.documents(["", " \n", "a\0b", "\ud800", "\u202e", "x" * 10_000])) == 6
    assert all(text.strip() for text in endpoint.inputs[0])
    assert endpoint.inputs[0][2:4] == ["a b", "?"]


async def test_a_client_without_a_model_is_named_by_its_class():
    class Homemade:
        def __init__(self) -> None:
            self.additional_properties: dict[str, Any] = {}

        async def get_embeddings(self, values, *, options=None):
            return GeneratedEmbeddings([Embedding(vector=(0, 2)) for _ in values])

    client = Homemade()
    assert isinstance(client, SupportsGetEmbeddings)
    embedder = FrameworkEmbedder(client)
    assert embedder.model == "Homemade"
    assert numbers(await embedder.question("a")) == [0.0, 1.0]


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda texts: honest(texts)[1:], "1 vectors for 2 texts"),
        (lambda texts: [*honest(texts), [1.0, 2.0, 3.0]], "3 vectors for 2 texts"),
        (lambda texts: [[0.0, 0.0, 0.0] for _ in texts], "zeros"),
        (lambda texts: [[1.0, None, 0.0] for _ in texts], "NaN"),
        (lambda texts: [[1e300, 1e300, 0.0] for _ in texts], "infinite"),
        (lambda texts: [[1.0, 2.0], [1.0, 2.0, 3.0]], "unequal lengths"),
        (lambda texts: [[] for _ in texts], "else than vectors"),
        (lambda texts: [7.0 for _ in texts], "client failed"),
        (lambda texts: ["abcd" for _ in texts], "client failed"),
    ],
    ids=["few", "many", "zero", "null", "huge", "ragged", "empty", "scalar", "string"],
)
async def test_a_bad_answer_is_unavailable_and_says_why(client, endpoint, answer, reason):
    """Nothing but good vectors is stored; the message tells the reason and never the text."""
    embedder = FrameworkEmbedder(client)
    endpoint.vectors = answer
    with pytest.raises(Unavailable, match=reason) as caught:
        await embedder.documents([SECRET, "b"])
    assert SECRET not in str(caught.value)
    endpoint.vectors = honest
    assert len(await embedder.documents([SECRET, "b"])) == 2


async def test_nan_is_refused():
    class Broken:
        def __init__(self) -> None:
            self.additional_properties: dict[str, Any] = {}

        async def get_embeddings(self, values, *, options=None):
            return [Embedding(vector=[float("nan"), 1.0]) for _ in values]

    with pytest.raises(Unavailable, match="NaN"):
        await FrameworkEmbedder(Broken()).question("a")


async def test_another_dimension_than_before_is_a_conflict_with_the_way_out(client, endpoint):
    """Vectors of two models never meet in one index."""
    embedder = FrameworkEmbedder(client)
    await embedder.question("a")
    endpoint.vectors = lambda texts: [[1.0, 2.0] for _ in texts]
    with pytest.raises(
        SpaceMismatch, match=r"2 numbers a vector, before with 3.*reindex"
    ) as caught:
        await embedder.question("b")
    assert isinstance(caught.value, Conflict)


@pytest.mark.parametrize(
    ("status", "way_out"),
    [
        (400, "model's name"),
        (401, "API key"),
        (403, "API key"),
        (404, "base URL"),
        (413, "batch"),
        (422, "model's name"),
        (429, "try again"),
        (500, "try again"),
    ],
)
async def test_an_http_error_is_unavailable_without_the_text(client, endpoint, status, way_out):
    """The endpoint quotes the text in its error; our message does not."""
    endpoint.status = status
    with pytest.raises(Unavailable, match=rf"HTTP {status}.*{way_out}") as caught:
        await FrameworkEmbedder(client).documents([SECRET])
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is not None


async def test_an_endpoint_that_is_not_there_is_unavailable(endpoint: Endpoint):
    async with AsyncOpenAI(
        base_url="http://127.0.0.1:1/v1", api_key="none", max_retries=0
    ) as openai:
        nowhere = OpenAIEmbeddingClient(model="fake-embed", async_client=openai)
        with pytest.raises(Unavailable, match="APIConnectionError") as caught:
            await FrameworkEmbedder(nowhere).question(SECRET)
    assert SECRET not in str(caught.value)


async def test_an_endpoint_that_hangs_ends_at_the_deadline(client, endpoint: Endpoint):
    endpoint.hang = True
    with pytest.raises(DeadlineExceeded, match=r"0\.05 s"):
        await FrameworkEmbedder(client, deadline=0.05).question("a")


async def test_a_cancelled_call_is_cancelled(client, endpoint: Endpoint):
    """Cancelling is not an error of the client."""
    endpoint.hang = True
    asking = asyncio.create_task(FrameworkEmbedder(client).question("a"))
    assert await asyncio.to_thread(endpoint.arrived.wait, 20)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


def test_a_batch_below_one_is_a_value_error():
    with pytest.raises(ValueError, match="batch"):
        FrameworkEmbedder(object(), batch=0)


async def test_one_turn_of_an_agent_asks_an_endpoint_once(client, endpoint: Endpoint):
    """User and organization memory side by side ask the same question within a moment."""
    embedder = FrameworkEmbedder(client)
    first = await embedder.question("What is my project built with?")
    assert await embedder.question("What is my project built with?") == first
    assert len(endpoint.inputs) == 1
    await embedder.question("What else?")
    assert len(endpoint.inputs) == 2
