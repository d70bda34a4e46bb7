"""An agent that knows its user again in the next session.

python examples/agent_with_memory.py
python examples/agent_with_memory.py --base-url http://localhost:11434/v1 --model qwen2.5:7b
"""

import asyncio
import tempfile
from pathlib import Path

from agent_framework import Agent
from endpoint import chat_client

from ricordo import Principal, open_memory
from ricordo.hosts.maf import make_ricordo_context_provider, new_session


async def main() -> None:
    """Two sessions, one user."""
    alice = Principal(tenant="acme", user="alice")  # from a verified token, in a service
    with tempfile.TemporaryDirectory() as folder:
        async with (
            chat_client("An agent with memory") as (client, _),
            open_memory(Path(folder) / "memory.db") as memory,
        ):
            agent = Agent(
                client=client,
                name="coder",
                instructions="You help with code.",
                context_providers=make_ricordo_context_provider(memory),
            )

            monday = new_session("monday", principal=alice)
            answer = await agent.run(
                "Hello! I like concise examples. I work on Project Falcon.", session=monday
            )
            print(f"monday:  {answer.text}")

            await memory.intake.drain()  # learn now; otherwise within half a minute

            tuesday = new_session("tuesday", principal=alice)
            answer = await agent.run("Show me an example for my project", session=tuesday)
            print(f"tuesday: {answer.text}")


if __name__ == "__main__":
    asyncio.run(main())
