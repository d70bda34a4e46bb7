"""Which model `chat` talks to: the one that is set, or a local Ollama where it answers."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from ricordo import Settings
from ricordo.errors import Unavailable
from ricordo.hosts.cli import endpoint
from ricordo.hosts.cli.checks import probe
from ricordo.hosts.cli.endpoint import OLLAMA, choose_endpoint

NOWHERE = "http://127.0.0.1:9/v1"


class Models(BaseHTTPRequestHandler):
    """Lists two models, for whoever brings the key where one is asked for."""

    body = json.dumps({"data": [{"id": "zephyr"}, {"id": "gemma"}]})
    key: str | None = None

    def do_GET(self) -> None:
        allowed = self.key is None or self.headers["Authorization"] == f"Bearer {self.key}"
        self.send_response(200 if allowed and self.path == "/v1/models" else 401)
        self.end_headers()
        self.wfile.write(self.body.encode())

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Models, "key", None)
    with HTTPServer(("127.0.0.1", 0), Models) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


async def test_what_is_set_is_used_without_asking() -> None:
    assert await choose_endpoint(Settings(model="m", model_base_url=NOWHERE)) == (NOWHERE, "m")
    assert await choose_endpoint(Settings(model="m", model_api_key="k")) == (None, "m")  # type: ignore[arg-type]


async def test_an_endpoint_without_a_model_is_asked_for_one(url: str) -> None:
    assert await choose_endpoint(Settings(model_base_url=url)) == (url, "gemma")


async def test_ollama_is_the_default_where_it_answers(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert OLLAMA == "http://localhost:11434/v1"
    monkeypatch.setattr(endpoint, "OLLAMA", url)
    assert await choose_endpoint(Settings()) == (url, "gemma")
    assert await choose_endpoint(Settings(model="zephyr")) == (url, "zephyr")


async def test_where_nothing_answers_the_error_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(endpoint, "OLLAMA", NOWHERE)
    for settings in (Settings(), Settings(model="m")):
        with pytest.raises(Unavailable, match="--base-url and --model, or set RICORDO_MODEL_BASE"):
            await choose_endpoint(settings)
    with pytest.raises(Unavailable, match="give --model"):
        await choose_endpoint(Settings(model_base_url=NOWHERE))


@pytest.mark.parametrize(
    "body", ["", "no", "[]", "{}", '{"data": 7}', '{"data": [{}]}', '{"data": []}']
)
async def test_an_odd_list_of_models_is_none(
    body: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Models, "body", body)
    with pytest.raises(Unavailable, match="names no model"):
        await choose_endpoint(Settings(model_base_url=url))


async def test_the_key_is_sent_and_its_refusal_is_told(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Models, "key", "k")
    settings = Settings(model_base_url=url, model_api_key="k")  # type: ignore[arg-type]
    assert await choose_endpoint(settings) == (url, "gemma")
    assert await probe(url, key=settings.model_api_key) is None
    assert "refuses the key (HTTP 401)" in str(await probe(url))
    assert "does not answer" in str(await probe(NOWHERE))
