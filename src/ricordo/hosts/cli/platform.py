"""`protocol`: a platform of agents is served in its own protocol."""

from dataclasses import asdict

from ricordo.errors import Invalid
from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.options import FILE
from ricordo.hosts.cli.signals import until_told


@command(takes=FILE, example="ricordo protocol run", name="run")
async def run_protocol(here: Here) -> None:
    """Serve the platform in the settings: store what its agents hand over, and answer recalls.

    What is stored waits for `ricordo worker` to make memory of it. Runs until SIGTERM or Ctrl-C,
    several at once if you like; what it had begun is finished.
    """
    here.as_operator()
    if here.given.server is None:
        raise Invalid("this build knows no protocol")
    async with here.memory() as memory, here.given.server(memory, here.settings) as serving:
        remark = here.screen.remark
        await until_told(serving.run(), begin=lambda: remark("serving; Ctrl-C ends it"))
        counts: dict[str, int] = asdict(serving.counts)
    words = ", ".join(f"{name} {count}" for name, count in counts.items())
    here.screen.result(counts, text=words)


PROTOCOL = (run_protocol,)
