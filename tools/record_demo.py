"""Records the demonstration anew: plays its story against a real model and keeps what it says.

    python -m tools.record_demo --base-url http://127.0.0.1:11434/v1 --model qwen2.5-coder:1.5b

Any OpenAI-compatible endpoint will do. The completions are kept as they come, unedited; look at
the printed story before you keep the file. docs/how-to/record-the-demo.md has the details.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import ricordo.hosts.demo
from ricordo.errors import RicordoError
from ricordo.hosts.demo import Recording, endpoint, play
from ricordo.hosts.demo.recordings import Reply, recording, save
from ricordo.hosts.demo.screen import Screen
from ricordo.wiring.demo import staged

DEFAULT = Path(ricordo.hosts.demo.__file__).with_name("recordings.json")


class Recorder:
    """Passes requests on to a model, and keeps each answer once.

    Args:
        base_url: the model's endpoint.
        model: its name there.
        key: its API key, where it wants one.
        shown: what the model is called in the recordings.
    """

    def __init__(self, base_url: str, *, model: str, key: str, shown: str, timeout: float) -> None:
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._model = model
        self._key = key
        self.shown = shown
        self._timeout = timeout
        self._lock = threading.Lock()
        self.kept: dict[str, Recording] = {}

    def __call__(self, request: dict[str, Any]) -> Reply:
        """Ask the model; one request at a time, as a local model answers."""
        with self._lock:
            body = json.dumps({**request, "model": self._model, "stream": False}).encode()
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
            asking = urllib.request.Request(self._url, data=body, headers=headers)
            try:
                with urllib.request.urlopen(asking, timeout=self._timeout) as answer:
                    completion = json.load(answer)
            except urllib.error.HTTPError as error:
                return Reply({"error": {"message": error.reason}}, status=error.code)
            except OSError as error:
                return Reply({"error": {"message": str(error)}}, status=503)
            completion["model"] = self.shown
            today = datetime.now(UTC).date().isoformat()
            kept = recording(request, completion, day=today)
            self.kept[kept.digest] = kept
            print(f"  recorded {kept.digest[:8]}, {kept.completion_tokens} tokens", file=sys.stderr)
            return Reply(completion)


async def record(recorder: Recorder, *, out: Path) -> None:
    """Play the story once, print it, and write the recordings."""
    screen = Screen(sys.stdout)
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "memory.db"
        async with (
            endpoint(recorder, says="recording") as url,
            staged(url, model=recorder.shown, database=database) as stage,
        ):
            async for scene in play(stage):
                screen.show(scene)
    save(list(recorder.kept.values()), path=out)
    print(f"\n{len(recorder.kept)} completions written to {out}", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base-url", required=True, help="OpenAI-compatible endpoint, up to /v1")
    parser.add_argument("--model", required=True, help="the model's name there")
    parser.add_argument("--shown-as", help="what to call it in the recordings (default: --model)")
    parser.add_argument("--api-key", default="none")
    parser.add_argument("--out", type=Path, default=DEFAULT)
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds per completion")
    args = parser.parse_args()
    recorder = Recorder(
        args.base_url,
        model=args.model,
        key=args.api_key,
        shown=args.shown_as or args.model,
        timeout=args.timeout,
    )
    try:
        asyncio.run(record(recorder, out=args.out))
    except RicordoError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
