"""`answer`: requests of other programs over NATS."""

from ricordo.errors import Invalid
from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.options import FILE
from ricordo.hosts.cli.signals import until_told


@command(takes=FILE, example="ricordo answer --config ricordo.toml")
async def answer(here: Here) -> None:
    """Answer other programs over NATS: observe, recall, document, forget.

    Who asks is known by a signed token; see the settings that begin with `token_`. Runs until
    SIGTERM or Ctrl-C, several at once if you like: they share the requests.
    """
    if here.given.answerer is None:
        raise Invalid("this program was put together without a way to answer")
    settings = here.settings
    async with here.memory() as memory, here.given.answerer(memory, settings) as service:
        await until_told(
            service.run(),
            begin=lambda: here.screen.remark("answering; Ctrl-C ends it"),
            wind_down=lambda: service.wind_down(within=settings.drain_seconds),
        )
