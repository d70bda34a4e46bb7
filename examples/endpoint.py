"""The model that the examples talk to: yours with `--base-url`, or a stand-in on this machine.

The stand-in is no language model. It repeats what it was given to remember, and finds memories with
two patterns; enough to see what memory does, offline and without a key.
"""

import argparse
import json
import re
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from agent_framework.openai import OpenAIChatCompletionClient
from openai import AsyncOpenAI


@asynccontextmanager
async def chat_client(description: str, **more: list[str]) -> AsyncIterator:
    """A chat client for the endpoint that the command line names, and the parsed arguments."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--base-url", help="an OpenAI-compatible endpoint, e.g. Ollama's")
    parser.add_argument("--model", default="stand-in")
    parser.add_argument("--api-key", default="none")
    for name, choices in more.items():
        parser.add_argument(f"--{name}", choices=choices, default=choices[0])
    arguments = parser.parse_args()
    with endpoint(arguments.base_url) as url:
        async with AsyncOpenAI(base_url=url, api_key=arguments.api_key) as connection:
            client = OpenAIChatCompletionClient(model=arguments.model, async_client=connection)
            yield client, arguments


@contextmanager
def endpoint(given: str | None) -> Iterator[str]:
    """The address given, or that of the stand-in."""
    if given is not None:
        yield given
        return
    server = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class StandIn(BaseHTTPRequestHandler):
    """Answers chat completions (and embeddings, for mem0) by rule."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = _embeddings(body) if self.path.endswith("/embeddings") else _completion(body)
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _completion(body: dict) -> dict:
    texts = [_text(message) for message in body["messages"]]
    kind = body.get("response_format", {}).get("type")
    if kind == "json_schema":
        text = json.dumps({"items": _items(texts[-1])})
    elif kind == "json_object":
        text = json.dumps({"memory": [{"id": "0", "text": t} for t in _sentences(texts[-1])]})
    elif "memories" in texts[0] and body["messages"][0]["role"] == "system" and "JSON" in texts[0]:
        facts = [{"topic": "user", "memory": t} for t in _sentences(texts[-1])]
        text = json.dumps({"memories": facts})
    else:
        text = _reply(texts[:-1])
    message = {"role": "assistant", "content": text}
    return {
        "id": "stand-in",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    }


def _text(message: dict) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else " ".join(p.get("text", "") for p in content)


def _reply(context: list[str]) -> str:
    """Repeat what memory put into the prompt."""
    marks = ("<ricordo-memory>", "## Memories", "MEMORY.md")
    given = [text for text in context if any(mark in text for mark in marks)]
    lines = [line for text in given[-1:] for line in text.splitlines()[2:]]
    known = [line.strip("- ") for line in lines if line.strip() and not line.startswith("<")]
    return "I remember:\n  " + "\n  ".join(known) if known else "I know nothing about that yet."


def _sentences(text: str) -> list[str]:
    """The last things said that look worth remembering."""
    said = text.split("New Messages")[-1]
    return re.findall(r"I (?:like|prefer|work on) [\w ]+", said)[-2:]


def _items(material: str) -> list[dict]:
    """What Ricordo's prompt asks for: preferences and facts, each with a literal quote."""
    said = "\n".join(line for line in material.splitlines() if re.match(r"U\d+>", line))
    items = [
        _item("preference", quote, f"Likes {quote.split(' ', 2)[2]}")
        for quote in re.findall(r"I (?:like|prefer) [\w ]+", said)
    ]
    for quote in re.findall(r"I work on [\w ]+", said):
        project = quote.removeprefix("I work on ")
        edge = {"source": "user", "relation": "works on", "target": project}
        types = {"source_type": "person", "target_type": "project"}
        items.append(_item("fact", quote, f"Works on {project}", {**edge, **types}))
    return items or [_item("none", "", "")]


def _item(kind: str, quote: str, text: str, *relations: dict) -> dict:
    return {
        "kind": kind,
        "turn": 1,
        "quote": quote,
        "text": text,
        "relations": list(relations),
        "confidence": "high",
        "replaces": [],
    }


def _embeddings(body: dict) -> dict:
    given = body["input"]
    texts = [given] if isinstance(given, str) else given
    data = [
        {"object": "embedding", "index": n, "embedding": _vector(text)}
        for n, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 0, "total_tokens": 0}
    return {"object": "list", "model": body["model"], "data": data, "usage": usage}


def _vector(text: str) -> list[float]:
    vector = [0.01] * 64
    for word in re.findall(r"\w+", text.lower()):
        vector[sum(word.encode()) % 64] += 1.0
    return vector
