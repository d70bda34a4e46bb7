"""mem0's open-source memory on a local store, with a fake model: no network, no key."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.fake_model import DIMENSION, FakeModel, Reply, Request


def mem0_config(model: FakeModel, path: Path) -> dict[str, Any]:
    """A configuration for `AsyncMemory.from_config`."""
    endpoint = {"api_key": "none", "openai_base_url": model.base_url}
    return {
        "llm": {"provider": "openai", "config": {"model": "fake", **endpoint}},
        "embedder": {
            "provider": "openai",
            "config": {"model": "fake", "embedding_dims": DIMENSION, **endpoint},
        },
        "vector_store": {
            "provider": "qdrant",
            "config": {
                "path": str(path / "qdrant"),
                "on_disk": True,
                "embedding_model_dims": DIMENSION,
            },
        },
        "history_db_path": str(path / "history.db"),
    }


@asynccontextmanager
async def local_mem0(model: FakeModel, path: Path) -> AsyncIterator[Any]:
    """An open memory in `path`."""
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["MEM0_DIR"] = str(path)
    from mem0 import AsyncMemory

    memory = AsyncMemory.from_config(mem0_config(model, path))
    try:
        yield memory
    finally:
        close_mem0(memory)


def close_mem0(memory: Any) -> None:
    """Close a memory, and what its own `close` leaves open."""
    memory.close()
    memory.vector_store.client.close()
    memory.llm.client.close()
    memory.embedding_model.client.close()


def remembers(request: Request) -> Reply:
    """Answer mem0's extraction with the user's last sentence, and anything else with "Fine."."""
    if request.body.get("response_format", {}).get("type") != "json_object":
        return Reply(text="Fine.")
    asked = request.last_user_text.split("## New Messages", 1)[-1]
    said = [line.split("user: ", 1)[1] for line in asked.splitlines() if "user: " in line]
    items = [{"id": str(n), "text": text.strip()} for n, text in enumerate(said[-1:])]
    return Reply(text=json.dumps({"memory": items}))
