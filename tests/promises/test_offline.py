"""Promise 13: offline by construction. No call to anywhere, at import or in use."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import asyncio, socket, sys

def refuse(*arguments, **more):
    raise AssertionError(f"somebody wanted the network: {arguments!r}")

socket.socket.connect = refuse
socket.socket.connect_ex = refuse
socket.getaddrinfo = refuse
socket.create_connection = refuse

import ricordo, ricordo.hosts.maf, ricordo.hosts.cli, ricordo.wiring
from ricordo import Principal, grants_of, open_memory

async def main():
    alice = Principal(tenant="acme", user="alice", grants=grants_of(curator=["platform"]))
    async with open_memory(sys.argv[1]) as memory:
        mine = memory.user(alice, agent="coder")
        await mine.remember("Bevorzugt kurze Beispiele", kind="preference")
        await memory.organization(alice).document("Project Falcon uses microservices")
        found = await mine.recall("How long should examples be?", deadline=20)
        assert found.items and not found.degraded, found
        assert (await mine.erase()).clean

asyncio.run(main())
print("offline")
"""


def test_nothing_calls_anywhere(tmp_path: Path) -> None:
    """With the real embedding model that comes with the install."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, str(tmp_path / "memory.db")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "offline"
