"""The demonstration: a real agent and memory, and an endpoint that repeats what was recorded."""

import asyncio
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from agent_framework import Message
from agent_framework.openai import OpenAIChatCompletionClient
from tools.record_demo import Recorder, record

from ricordo.errors import Unavailable
from ricordo.hosts.demo import Recording, Replay, Scene, Stage, endpoint, load, play
from ricordo.hosts.demo.endpoint import HEADER, LARGEST
from ricordo.hosts.demo.recordings import digest
from ricordo.hosts.demo.screen import Screen
from ricordo.wiring.demo import show, staged
from tests.support.fake_model import FakeModel, Reply, Request
from tests.support.talking import answer, item

ASK = {"messages": [{"role": "user", "content": "Hello there"}]}
KNOWN = Recording(
    digest=digest(ASK),
    asked="Hello there",
    text="Hello  to you,\n  and to yours.",
    finish="stop",
    model="tiny-1",
    prompt_tokens=3,
    completion_tokens=8,
    recorded="2026-03-01",
)
REPLAY = Replay({KNOWN.digest: KNOWN})


@dataclass(frozen=True)
class Got:
    """An HTTP response."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def _fetch(url: str, content: bytes | None) -> Got:
    asked = urllib.request.Request(url, data=content)
    try:
        with urllib.request.urlopen(asked, timeout=10) as reply:
            return Got(reply.status, reply.headers, reply.read().decode())
    except urllib.error.HTTPError as error:
        return Got(error.code, error.headers, error.read().decode())


async def _get(url: str) -> Got:
    return await asyncio.to_thread(_fetch, url, None)


async def _post(url: str, content: Any) -> Got:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return await asyncio.to_thread(_fetch, url, data)


async def _chat(url: str, body: Any) -> Got:
    return await _post(f"{url}/chat/completions", body)


async def test_a_known_request_gets_what_was_recorded_and_the_endpoint_says_so():
    async with endpoint(REPLAY, models=REPLAY.models) as url:
        reply = await _chat(url, {**ASK, "model": "whatever", "temperature": 1})
        listed = (await _get(f"{url}/models")).json
    body = reply.json
    assert url.startswith("http://127.0.0.1:")
    assert body["choices"][0]["message"]["content"] == KNOWN.text
    assert body["usage"] == {"prompt_tokens": 3, "completion_tokens": 8, "total_tokens": 11}
    assert body["model"] == "recorded:tiny-1"
    assert reply.headers[HEADER] == "recorded"
    assert [one["id"] for one in listed["data"]] == ["recorded:tiny-1"]


async def test_an_unknown_request_gets_an_error_and_never_an_invented_answer():
    async with endpoint(REPLAY) as url:
        reply = await _chat(url, {"messages": [{"role": "user", "content": "Hello here"}]})
    assert reply.status == 404
    error = reply.json["error"]
    assert error["code"] == "not_recorded"
    assert "No completion was recorded" in error["message"]
    assert "Hello here" not in reply.text


async def test_the_frameworks_own_client_streams_it_to_the_letter():
    async with endpoint(REPLAY) as url:
        client = OpenAIChatCompletionClient(model="any", api_key="none", base_url=url)
        asked = [Message(role="user", contents=["Hello there"])]
        pieces = [piece.text async for piece in client.get_response(asked, stream=True)]
        whole = await client.get_response(asked)
    assert len(pieces) > 3
    assert "".join(pieces) == KNOWN.text
    assert whole.text == KNOWN.text


@pytest.mark.parametrize(
    ("body", "status"), [([], 400), ({}, 400), ({"messages": "hi"}, 400), ("hi", 400)]
)
async def test_a_request_of_the_wrong_shape_is_refused(body: Any, status: int):
    async with endpoint(REPLAY) as url:
        assert (await _chat(url, body)).status == status
        assert (await _chat(url, ASK)).status == 200


async def test_what_is_no_json_too_large_or_elsewhere_is_refused():
    async with endpoint(REPLAY) as url:
        assert (await _chat(url, b"{")).status == 400
        assert (await _post(f"{url}/embeddings", {})).status == 404
        assert (await _get(f"{url}/nothing")).status == 404
        assert await _status_of_head(url, f"Content-Length: {LARGEST + 1}") == 413
        assert await _status_of_head(url, "Content-Length: -1") == 411
        assert await _status_of_head(url, "Accept: */*") == 411


async def _status_of_head(url: str, header: str) -> int:
    """The status for a request of which only the head is ever sent."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(f"POST /v1/chat/completions HTTP/1.0\r\n{header}\r\n\r\n".encode())
    status = (await reader.readline()).split()[1]
    writer.close()
    await writer.wait_closed()
    return int(status)


def _asking(content: Any, **more: Any) -> str:
    return digest({"messages": [{"role": "user", "content": content}], **more})


def test_ids_and_instants_do_not_make_another_request():
    one = "m_0123456789abcdef0123 at 2026-03-02T09:00:00+00:00"
    other = "m_fedcba98765432100123 at 2026-11-29T10:30:11.123Z"
    assert _asking(one) == _asking(other)
    assert _asking("Hi") == _asking([{"type": "text", "text": "Hi"}])
    assert _asking("Hi", model="a", temperature=0) == _asking("Hi", model="b", stream=True)


def test_words_roles_order_and_shape_do():
    shape = {"json_schema": {"schema": {"properties": {"items": {"enum": ["fact"]}}}}}
    asked = [
        _asking("Hi"),
        _asking("Hi, m"),
        _asking("Hi", response_format=shape),
        digest({"messages": [{"role": "system", "content": "Hi"}]}),
        digest({"messages": [{"role": "user", "content": "Hi"}] * 2}),
    ]
    assert len(set(asked)) == len(asked)


def test_the_packaged_recordings_name_a_real_model_and_a_day():
    replay = load()
    assert len(replay.models) == 1
    for one in replay.recordings.values():
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", one.recorded)
        assert one.text
        assert one.completion_tokens > 0


async def _steps(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert await show(as_json=True) == 0
    return json.loads(capsys.readouterr().out)


async def test_the_story_keeps_the_promises(capsys: pytest.CaptureFixture[str]):
    """Promises 1, 2, 3, 8, 9 and 11, told by one real agent, and again in the same bytes."""
    steps = await _steps(capsys)
    meets, remembers, planner, bob, documents, walks, forgets, erases = steps
    assert [step["step"] for step in steps] == list(range(1, 9))
    assert not any(step.get("degraded") for step in steps)

    learned = {one["kind"]: one for one in meets["learned"]}
    assert meets["recalled"] == []
    assert set(learned) == {"preference", "fact"}
    assert "concise" in learned["preference"]["text"].lower()
    assert learned["fact"]["relations"] == ["user —works_on→ Project Falcon"]
    for one in learned.values():
        assert one["origin"]["quote"] in meets["said"]
        assert one["origin"]["thread_id"] == meets["thread"]
        assert one["extracted_by"]["model"].startswith("recorded:")

    assert remembers["thread"] != meets["thread"]
    assert _kinds(remembers) == {"preference", "fact"}
    assert all(one["why"] and one["origin"] for one in remembers["recalled"])
    assert _kinds(planner) == {"fact"}
    assert "Falcon" in planner["answer"]
    assert bob["recalled"] == []
    assert "Falcon" not in bob["answer"]

    scopes = {one["scope"] for one in documents["documented"]}
    assert scopes == {"organization:acme/platform"}
    longest = max(walks["paths"], key=lambda walk: len(walk["steps"]))
    assert [(step["relation"], step["graph"]) for step in longest["steps"]] == [
        ("works_on", "user"),
        ("uses", "organization:acme/platform"),
        ("requires", "organization:acme/platform"),
    ]
    assert "service mesh" in walks["answer"]
    assert _kinds(forgets) == {"fact"}
    assert erases["receipt"]["clean"]
    assert not any(erases["receipt"]["remaining"].values())

    again = await _steps(capsys)
    assert _timeless(again) == _timeless(steps)


def _kinds(step: dict[str, Any]) -> set[str]:
    return {one["kind"] for one in step["recalled"]}


def _timeless(steps: list[dict[str, Any]]) -> str:
    """Without how long it took, and without the receipt's subject, keyed anew in every ledger."""
    for step in steps:
        step.pop("took_ms", None)
        step.get("receipt", {}).pop("subject", None)
    return json.dumps(steps)


async def test_without_a_recording_the_story_ends_in_a_clear_error(tmp_path: Path):
    async with _stage(Replay(), tmp_path) as stage:
        with pytest.raises(Unavailable, match=r"tools/record_demo\.py"):
            await anext(play(stage))


@asynccontextmanager
async def _stage(replay: Replay, folder: Path) -> AsyncGenerator[Stage]:
    async with (
        endpoint(replay) as url,
        staged(url, model="any", database=folder / "memory.db") as stage,
    ):
        yield stage


async def test_recording_anew_makes_a_file_that_replays(tmp_path: Path):
    """One command records; what the model said is kept to the letter."""

    def model(request: Request) -> Reply:
        if "response_format" not in request.body:
            return Reply(text=f"I read {len(request.messages)} messages.")
        works = item(
            "Works on Project Falcon",
            "I work on Project Falcon",
            relations=(("user", "works_on", "Project Falcon"),),
        )
        brief = item("Likes it concise", "keep your code examples concise", kind="preference")
        return answer(works, brief)

    file = tmp_path / "recordings.json"
    with FakeModel(model) as fake:
        recorder = Recorder(fake.base_url, model="fake", key="none", shown="tiny-1", timeout=10)
        await record(recorder, out=file)
    replay = load(file)
    assert replay.models == ("recorded:tiny-1",)
    texts = [one.text for one in replay.recordings.values()]
    assert "I read 2 messages." in texts
    async with _stage(replay, tmp_path) as stage:
        scenes = [scene async for scene in play(stage)]
    assert len(scenes) == 8


def test_a_models_words_do_not_steer_the_terminal():
    file = StringIO()
    scene = Scene(
        title="One",
        at="2026-03-02T09:00:00+00:00",
        who="alice",
        agent="coder",
        said="Hi",
        answer="\x1b[2J\x1b]0;owned\x07 [bold]fine[/bold]",
    )
    Screen(file).show(scene)
    assert "\x1b" not in file.getvalue()
    assert "\x07" not in file.getvalue()
    assert "[bold]fine[/bold]" in file.getvalue()


@pytest.mark.parametrize(("options", "colours"), [((), True), (("--no-color",), False)])
def test_the_command_plays_for_a_person_and_keeps_the_memory_where_it_is_told(
    tmp_path: Path, options: tuple[str, ...], colours: bool
):
    database = tmp_path / "story.db"
    run = [sys.executable, "-c", "from ricordo.wiring import main; main()", "demo"]
    told = subprocess.run(
        [*run, "--db", str(database), *options],
        env={**_plain_environment(), "FORCE_COLOR": "1", "COLUMNS": "100"},
        capture_output=True,
        check=True,
        encoding="utf-8",
        timeout=60,
    ).stdout
    assert "recorded:" in told
    assert "injected: nothing" in told
    assert "receipt" in told
    assert str(database.name) in told
    assert database.exists()
    assert bool(re.search(r"\x1b\[(?:\d+;)*3[0-7]m", told)) is colours


def _plain_environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k != "NO_COLOR" and not k.startswith("RICORDO")}
