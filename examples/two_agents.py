"""Preferences stay with the agent that learned them; facts are known to all of a user's agents.

python examples/two_agents.py
"""

import asyncio
import tempfile
from pathlib import Path

from agent_framework import Agent
from endpoint import chat_client

from ricordo import Principal, open_memory
from ricordo.hosts.maf import make_ricordo_context_provider, new_session

QUESTION = "What do you know about concise examples and Project Falcon?"


async def main() -> None:
    """Two agents and two users, on the same memory."""
    alice = Principal(tenant="acme", user="alice")
    bob = Principal(tenant="acme", user="bob")
    with tempfile.TemporaryDirectory() as folder:
        async with (
            chat_client("Two agents") as (client, _),
            open_memory(Path(folder) / "memory.db") as memory,
        ):
            providers = make_ricordo_context_provider(memory)
            coder = Agent(client=client, name="coder", context_providers=list(providers))
            planner = Agent(client=client, name="planner", context_providers=list(providers))

            await coder.run(
                "I like concise examples. I work on Project Falcon.",
                session=new_session(principal=alice),
            )
            await memory.intake.drain()

            for agent, user in ((coder, alice), (planner, alice), (coder, bob)):
                answer = await agent.run(QUESTION, session=new_session(principal=user))
                print(f"{agent.name} for {user.user}: {answer.text}\n")


if __name__ == "__main__":
    asyncio.run(main())
