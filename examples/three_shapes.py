"""One setting decides which agents share a conversation; their code stays as it is.

python examples/three_shapes.py --shape shared
python examples/three_shapes.py --shape distributed
python examples/three_shapes.py --shape hybrid
"""

import asyncio
from typing import Any

from agent_framework import Agent
from endpoint import chat_client

from ricordo import Principal, Settings, open_history
from ricordo.hosts.maf import new_session

CREW = {"crew": ["coder", "tester"]}


async def main() -> None:
    """Three agents in one session, and what each of them has of it."""
    shapes = ["shared", "distributed", "hybrid"]
    async with chat_client("Choose a shape", shape=shapes) as (client, arguments):
        groups = CREW if arguments.shape == "hybrid" else None
        settings = Settings(shape=arguments.shape, history_groups=groups)
        async with open_history(settings=settings) as history:
            await talk(history, client)


async def talk(history: Any, client: Any) -> None:
    """The same in every shape."""
    session = new_session("talk-7", principal=Principal(tenant="acme", user="alice"))
    for name in ("coder", "tester", "planner"):
        agent = Agent(client=client, name=name, context_providers=[history])
        await agent.run(f"I am talking to the {name}", session=session)
    for name in ("coder", "tester", "planner"):
        said = [m.text for m in await history.messages(session, agent=name) if m.role == "user"]
        print(f"{name}: {'; '.join(said)}")


if __name__ == "__main__":
    asyncio.run(main())
