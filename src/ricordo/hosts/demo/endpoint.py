"""A model endpoint on 127.0.0.1 that speaks OpenAI's chat completions over real HTTP.

It does not think: what it answers is decided by the function that it is given, for example a
`Replay` of recorded completions.
"""

import asyncio
import json
import sys
import threading
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from ricordo.hosts.demo.recordings import Answer, Reply

HEADER = "X-Ricordo-Endpoint"
"""Response header in which the endpoint says what it is."""

LARGEST = 4_000_000
"""Bytes of a request beyond which it is refused unread."""

_POLL = 0.02


@asynccontextmanager
async def endpoint(
    answer: Answer, *, models: Sequence[str] = (), says: str = "recorded"
) -> AsyncGenerator[str]:
    """Serve until the end of the ``async with``; yields the base URL for a client.

    Args:
        answer: decides on each reply.
        models: names that ``/v1/models`` lists.
        says: value of the header `HEADER`.
    """
    server = _Server(("127.0.0.1", 0), _handler(answer, models, says))
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": _POLL}, daemon=True
    )
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        await asyncio.to_thread(server.shutdown)
        server.server_close()
        await asyncio.to_thread(thread.join)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error of ours."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _handler(answer: Answer, models: Sequence[str], says: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Two paths; everything else is a JSON error."""

        def do_GET(self) -> None:
            if self.path.rstrip("/") == "/v1/models":
                rows = [{"id": name, "object": "model", "owned_by": "ricordo"} for name in models]
                self._send(Reply({"object": "list", "data": rows}))
            else:
                self._send(_error(404, "there are only /v1/models and /v1/chat/completions"))

        def do_POST(self) -> None:
            if self.path.rstrip("/") != "/v1/chat/completions":
                self._send(_error(404, "there are only /v1/models and /v1/chat/completions"))
                return
            body = self._body()
            if isinstance(body, Reply):
                self._send(body)
                return
            reply = answer(body)
            if reply.status == 200 and body.get("stream"):
                self._stream(reply.body)
            else:
                self._send(reply)

        def _body(self) -> dict[str, Any] | Reply:
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal():
                return _error(411, "the request needs a Content-Length")
            if int(length) > LARGEST:
                self.close_connection = True
                return _error(413, f"the request is larger than {LARGEST:,} bytes")
            try:
                body = json.loads(self.rfile.read(int(length)))
            except ValueError:
                return _error(400, "the request is not JSON")
            if not isinstance(body, dict):
                return _error(400, "the request is no JSON object")
            fields = cast("dict[str, Any]", body)
            if not isinstance(fields.get("messages"), list):
                return _error(400, "the request has no list of messages")
            return fields

        def _send(self, reply: Reply) -> None:
            self._write(json.dumps(reply.body).encode(), "application/json", status=reply.status)

        def _stream(self, completion: Mapping[str, Any]) -> None:
            lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in _chunks(completion)]
            self._write("".join([*lines, "data: [DONE]\n\n"]).encode(), "text/event-stream")

        def _write(self, content: bytes, kind: str, *, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header(HEADER, says)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
            """Stay silent: requests carry what people said."""

    return Handler


def _error(status: int, message: str) -> Reply:
    return Reply({"error": {"message": message, "type": "invalid_request"}}, status=status)


def _chunks(completion: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The completion in pieces, as a streaming client reads it: word by word, then the usage."""
    head = {
        **{key: completion[key] for key in ("id", "created", "model")},
        "object": "chat.completion.chunk",
    }
    choice = completion["choices"][0]
    text: str = choice["message"]["content"]
    for piece in _words(text):
        yield {**head, "choices": [_delta({"role": "assistant", "content": piece})]}
    yield {**head, "choices": [_delta({}, finish=choice["finish_reason"])]}
    yield {**head, "choices": [], "usage": completion["usage"]}


def _delta(delta: dict[str, str], *, finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish}


def _words(text: str) -> list[str]:
    """The text in pieces that put together are the text, white space included."""
    pieces = text.split(" ")
    return [f"{piece} " for piece in pieces[:-1]] + pieces[-1:]
