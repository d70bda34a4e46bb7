"""A language model endpoint on 127.0.0.1 that says what a test wants, over real HTTP.

It speaks OpenAI's chat completions, streamed or not, and embeddings of hashed words; and it can
fail in the ways that endpoints do.

    with FakeModel(lambda request: Reply(text="Hello")) as model:
        client = OpenAIChatCompletionClient(model="fake", api_key="none", base_url=model.base_url)
"""

import base64
import hashlib
import json
import re
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

DIMENSION = 64
"""Length of the embeddings, unless a request wants another."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool that the model wants called."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the endpoint answers.

    Args:
        text: what the model says.
        calls: the tools that it wants called.
        status: the HTTP status; anything but 200 is an error without an answer.
        body: sent as it is instead of an answer, for example to be no JSON.
        hang: hold the answer back until the endpoint is closed.
    """

    text: str = ""
    calls: Sequence[Call] = ()
    status: int = 200
    body: str | None = None
    hang: bool = False


@dataclass(frozen=True)
class Request:
    """A chat completion as it was asked for."""

    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages, as OpenAI's JSON."""
        return self.body["messages"]

    @property
    def streamed(self) -> bool:
        """Whether the answer is wanted in pieces."""
        return bool(self.body.get("stream"))

    @property
    def tools(self) -> list[str]:
        """Names of the tools on offer."""
        return [tool["function"]["name"] for tool in self.body.get("tools", ())]

    def texts(self, *, role: str | None = None) -> list[str]:
        """The texts of all messages, or of one role's."""
        return [text_of(message) for message in self.messages if role in (None, message["role"])]

    @property
    def last_user_text(self) -> str:
        """What was said last in the user's role."""
        return self.texts(role="user")[-1]

    @property
    def all_text(self) -> str:
        """Everything that the model could read."""
        return "\n".join(self.texts())


def text_of(message: Mapping[str, Any]) -> str:
    """The text of one message of OpenAI's JSON."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


Answer = Callable[[Request], Reply]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256  # tests come with many runs at once


class FakeModel:
    """The endpoint, open between `with` and its end; every request is kept.

    Args:
        answer: decides on each reply; called on the request's own thread. It may be replaced.
    """

    def __init__(self, answer: Answer = lambda _: Reply(text="Fine.")) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._in_flight = 0
        self.most_in_flight = 0
        self._server = _Server(("127.0.0.1", 0), _handler_for(self))
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def base_url(self) -> str:
        """What a client is given."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> "FakeModel":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, body: dict[str, Any]) -> Reply:
        """Note a request and decide on its reply."""
        request = Request(body)
        with self._lock:
            self.requests.append(request)
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            return self.answer(request)
        finally:
            with self._lock:
                self._in_flight -= 1


def scripted(*replies: Reply | str) -> Answer:
    """Give these replies one after the other, and the last one from then on."""
    waiting = [Reply(text=reply) if isinstance(reply, str) else reply for reply in replies]
    lock = threading.Lock()

    def answer(_: Request) -> Reply:
        with lock:
            return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return answer


def _handler_for(model: FakeModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            """Stay silent."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path.endswith("/embeddings"):
                self._write("application/json", json.dumps(_embeddings(body)), Reply())
                return
            reply = model.take(body)
            if reply.hang:
                model.closing.wait()
                return
            try:
                self._send(reply, body)
            except (BrokenPipeError, ConnectionResetError):
                return  # the client has gone, as it may

        def _send(self, reply: Reply, body: dict[str, Any]) -> None:
            if reply.status != 200:
                self._write("application/json", json.dumps({"error": {"message": "broken"}}), reply)
            elif reply.body is not None:
                self._write("application/json", reply.body, reply)
            elif body.get("stream"):
                self._write("text/event-stream", _events(reply, body), reply)
            else:
                self._write("application/json", json.dumps(_completion(reply, body)), reply)

        def _write(self, kind: str, text: str, reply: Reply) -> None:
            content = text.encode()
            self.send_response(reply.status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler


def _message(reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{n}",
                "index": n,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for n, call in enumerate(reply.calls)
        ]
    return message


def _envelope(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-fake",
        "object": kind,
        "created": int(time.time()),
        "model": body.get("model", "fake"),
    }


def _completion(reply: Reply, body: dict[str, Any]) -> dict[str, Any]:
    finish = "tool_calls" if reply.calls else "stop"
    return {
        **_envelope("chat.completion", body),
        "choices": [{"index": 0, "message": _message(reply), "finish_reason": finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def _embeddings(body: dict[str, Any]) -> dict[str, Any]:
    """Vectors of hashed words: texts that share words are near each other."""
    given = body["input"]
    texts = [given] if isinstance(given, str) else given
    packed = body.get("encoding_format") == "base64"
    data = []
    for n, text in enumerate(texts):
        vector = _hashed(text, size=body.get("dimensions") or DIMENSION)
        shown = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
        data.append({"object": "embedding", "index": n, "embedding": shown if packed else vector})
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "model": body.get("model", "fake"), "data": data, "usage": usage}


def _hashed(text: str, *, size: int) -> list[float]:
    vector = [0.0] * size
    for word in re.findall(r"\w+", text.lower()) or ["-"]:
        vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % size] += 1.0
    norm = sum(x * x for x in vector) ** 0.5
    return [x / norm for x in vector]


def _events(reply: Reply, body: dict[str, Any]) -> str:
    whole = _message(reply)
    pieces: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    pieces += [{"content": word + " "} for word in reply.text.split()]
    if reply.calls:
        pieces.append({"tool_calls": whole["tool_calls"]})
    lines = [_event(piece, None, body) for piece in pieces]
    lines.append(_event({}, "tool_calls" if reply.calls else "stop", body))
    return "".join([*lines, "data: [DONE]\n\n"])


def _event(delta: dict[str, Any], finish: str | None, body: dict[str, Any]) -> str:
    chunk = {
        **_envelope("chat.completion.chunk", body),
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return f"data: {json.dumps(chunk)}\n\n"
