"""The same agent on three memories: Ricordo, the framework's own files, and mem0.

python examples/swap_backends.py --backend ricordo
python examples/swap_backends.py --backend files
python examples/swap_backends.py --backend mem0        # pip install 'ricordo[mem0]'
"""

import asyncio
import os
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from agent_framework import Agent
from endpoint import chat_client

from ricordo import Principal, Ricordo, open_memory
from ricordo.hosts.maf import (
    make_mem0_context_provider,
    make_memory_context_provider,
    make_ricordo_context_provider,
    new_session,
)


async def main() -> None:
    """One conversation, and a question in the next."""
    alice = Principal(tenant="acme", user="alice")
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        backends = chat_client("Swap the memory", backend=["ricordo", "files", "mem0"])
        client, arguments = await stack.enter_async_context(backends)
        memory: Ricordo | None = None
        if arguments.backend == "ricordo":
            memory = await stack.enter_async_context(open_memory(folder / "memory.db"))
            providers = make_ricordo_context_provider(memory)
        elif arguments.backend == "files":
            providers = make_memory_context_provider(folder / "files")
        else:
            os.environ["MEM0_DIR"] = str(folder)  # where mem0 keeps its own settings
            providers = make_mem0_context_provider(config=mem0_config(folder, arguments, client))

        agent = Agent(client=client, name="coder", context_providers=providers)
        await agent.run("I work on Project Falcon", session=new_session(principal=alice))
        if memory is not None:
            await memory.intake.drain()  # the other two have made the user wait for it already
        question = "What do you know about Project Falcon?"
        answer = await agent.run(question, session=new_session(principal=alice))
        print(f"{arguments.backend}: {answer.text}")


def mem0_config(folder: Path, arguments: Any, client: Any) -> dict[str, Any]:
    """mem0's open-source memory on a local vector store, with the same endpoint."""
    model = {
        "model": arguments.model,
        "api_key": arguments.api_key,
        "openai_base_url": str(client.client.base_url),
    }
    store = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": 64}
    return {
        "llm": {"provider": "openai", "config": model},
        "embedder": {"provider": "openai", "config": {**model, "embedding_dims": 64}},
        "vector_store": {"provider": "qdrant", "config": store},
        "history_db_path": str(folder / "history.db"),
    }


if __name__ == "__main__":
    asyncio.run(main())
