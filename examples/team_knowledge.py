"""What a curator documents, everybody granted finds; and a walk joins it to a user's own facts.

python examples/team_knowledge.py
"""

import asyncio
import tempfile
from pathlib import Path

from agent_framework import Agent
from endpoint import chat_client

from ricordo import EntityClaim, Principal, RelationClaim, grants_of, open_memory
from ricordo.hosts.maf import make_ricordo_context_provider, new_session


def relation(source: str, name: str, target: str) -> RelationClaim:
    """A relation between two named things."""
    return RelationClaim(
        source=EntityClaim(name=source), relation=name, target=EntityClaim(name=target)
    )


async def main() -> None:
    """A curator, a user who may read, and one who may not."""
    carol = Principal(tenant="acme", user="carol", grants=grants_of(curator=["platform"]))
    alice = Principal(tenant="acme", user="alice", grants=grants_of(reader=["platform"]))
    bob = Principal(tenant="acme", user="bob")
    with tempfile.TemporaryDirectory() as folder:
        async with (
            chat_client("Knowledge of a team") as (client, _),
            open_memory(Path(folder) / "memory.db") as memory,
        ):
            platform = memory.organization(carol)
            await platform.document(
                "Project Falcon uses microservices",
                relations=[relation("Project Falcon", "uses", "microservices")],
            )
            await platform.document(
                "Microservices require a service mesh",
                relations=[relation("microservices", "requires", "service mesh")],
            )
            await memory.user(alice).remember(
                "Works on Project Falcon",
                relations=[relation("user", "works on", "Project Falcon")],
            )

            agent = Agent(
                client=client,
                name="architect",
                context_providers=make_ricordo_context_provider(memory),
            )
            for user in (alice, bob):
                answer = await agent.run(
                    "What does my project depend on?", session=new_session(principal=user)
                )
                print(f"{user.user}: {answer.text}\n")


if __name__ == "__main__":
    asyncio.run(main())
