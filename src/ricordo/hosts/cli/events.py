"""`events`: what happened, told to others."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.errors import Invalid
from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.options import ALWAYS, FILE
from ricordo.hosts.cli.reading_events import READERS
from ricordo.hosts.cli.signals import signalled, until_told
from ricordo.model import UserScope

if TYPE_CHECKING:
    from ricordo.events import Event
    from ricordo.memory.relaying import Relay

Consumer = Annotated[
    list[str] | None,
    typer.Option(
        "--consumer",
        metavar="NAME",
        help="A durable consumer of events under this name; may be given again.",
    ),
]


@command(takes=("tenant", *FILE), example="ricordo events init --dry-run", name="init")
async def init_events(
    here: Here,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; show what would be done.")
    ] = False,
    consumer: Consumer = None,
    everyone: Annotated[
        bool,
        typer.Option(
            "--everyone",
            help="The consumers get the events of all tenants rather than those of one.",
        ),
    ] = False,
) -> None:
    """Make the streams that events need at the NATS server, or bring them up to date.

    What is there and as the settings say is left alone, so it can be run again at any time.
    Consumers get the events of the tenant in question, and are named after it: `acme_NAME`, or
    `=_NAME` for those of all tenants.
    """
    here.as_operator()
    if here.given.preparer is None:
        raise Invalid("this build knows no NATS")
    tenant = None if everyone else here.settings.tenant
    names = [_consumer_name(name) for name in consumer or ()]
    async with here.memory() as memory:
        changes = await here.given.preparer(
            memory.ledger,
            here.settings,
            consumers=[(name, tenant) for name in names],
            dry_run=dry_run,
        )
    if here.screen.json_lines:
        here.screen.data(
            {
                "dry_run": dry_run,
                "changes": [
                    {"sort": c.sort, "name": c.name, "act": c.act, "fields": list(c.fields)}
                    for c in changes
                ],
            }
        )
        return
    here.screen.table(
        ("what", "name", "would be done" if dry_run else "done", "fields"),
        [(c.sort, c.name, c.act, ", ".join(c.fields)) for c in changes],
    )


@command(
    takes=("tenant", *ALWAYS),
    example="ricordo events permissions --tenant acme --consumer billing",
)
async def permissions(
    here: Here,
    consumer: Consumer = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Requests too, which `ricordo answer` answers.")
    ] = False,
    account: Annotated[
        str | None,
        typer.Option(
            "--account",
            metavar="NAME",
            help="The tenant has an account of its own, of this name in the configuration: show "
            "what Ricordo's account exports, and what that one imports.",
        ),
    ] = None,
) -> None:
    """Show what a tenant's subscribers need to be allowed at the NATS server.

    As a part of the server's configuration, for a user of its own: that user hears the events of
    the tenant and of no other one.
    """
    from ricordo.wire import permissions_of, shared, written

    names = [_consumer_name(name) for name in consumer or ()]
    prefix = here.settings.nats_prefix
    found = permissions_of(
        here.settings.tenant,
        prefix=prefix,
        stream=f"{prefix}_events",
        consumers=names,
        asking=ask,
    )
    if account is not None:
        text = shared(found, account=_account_name(account), own="RICORDO")
        here.screen.result({"configuration": text}, text=text)
        return
    view = {
        "publish": list(found.publish),
        "subscribe": list(found.subscribe),
        "inbox": found.inbox,
    }
    here.screen.result(view, text=f"{written(found)}\n# inbox prefix of its clients: {found.inbox}")


@command(takes=FILE, example="ricordo events relay")
async def relay(
    here: Here,
    once: Annotated[bool, typer.Option("--once", help="Relay what waits, then end.")] = False,
) -> None:
    """Carry events from the memory to the NATS server in the settings.

    `ricordo worker` does it too. Of all that run, one relays and the others stand by. Runs until
    SIGTERM or Ctrl-C.
    """
    async with here.memory() as memory:
        relaying = _relay(memory.relay)
        first = await memory.ledger.position("relay:nats") or 0
        if once:
            await relaying.drain()
            await relaying.resign()
        else:
            remark = here.screen.remark
            await until_told(relaying.run(), begin=lambda: remark("relaying; Ctrl-C ends it"))
        reached = await memory.ledger.position("relay:nats") or 0
        behind, _ = await relaying.lag()
    here.screen.result(
        {"from": first, "to": reached, "behind": behind},
        text=f"Relayed from {first} to {reached}; {behind} wait",
    )


def _relay(relay: "Relay | None") -> "Relay":
    if relay is None:
        raise Invalid("no NATS server is set; set nats_url")
    return relay


@command(takes=FILE, example="ricordo events tail --count 10")
async def tail(
    here: Here,
    count: Annotated[
        int | None, typer.Option("--count", metavar="N", min=1, help="End after as many.")
    ] = None,
    since: Annotated[
        int | None,
        typer.Option("--since", metavar="POSITION", min=0, help="Begin after this position."),
    ] = None,
) -> None:
    """Show events of the whole file as they happen: ids, never texts."""
    here.as_operator()
    async with here.memory() as memory, signalled() as told:
        after = await memory.ledger.latest() if since is None else since
        shown = 0
        while not told.is_set() and (count is None or shown < count):
            most = 256 if count is None else min(256, count - shown)
            events = await memory.ledger.announced(after=after, limit=most)
            for position, event in events:
                after = position
                shown += 1
                _show(here, position, event)
            if not events:
                await asyncio.sleep(0.1)


def _show(here: Here, position: int, event: "Event") -> None:
    from ricordo.memory.portable import scope_record, time_record

    name = type(event).__name__
    if here.screen.json_lines:
        view: dict[str, object] = {
            "position": position,
            "id": event.id,
            "event": name,
            "at": time_record(event.at),
            "scope": scope_record(event.scope),
            **{key: value for key, value in _ids(event).items() if value},
        }
        here.screen.data(view)
        return
    scope = event.scope
    whose = scope.user if isinstance(scope, UserScope) else scope.namespace or "(common)"
    ids = " ".join(
        f"{key}={','.join(value) if isinstance(value, list) else value}"
        for key, value in _ids(event).items()
        if value
    )
    here.screen.line(f"{event.at:%Y-%m-%d %H:%M:%S}  {name}  {scope.tenant}/{whose}  {ids}")


def _ids(event: "Event") -> dict[str, str | list[str]]:
    """What an event is about, by id."""
    names = (
        "memory_id",
        "refusal_id",
        "proposal_id",
        "entity_id",
        "thread_id",
        "run_id",
        "subject",
    )
    found: dict[str, str | list[str]] = {
        name: str(getattr(event, name)) for name in names if hasattr(event, name)
    }
    for name in ("memory_ids", "relation_ids"):
        found[name] = list(getattr(event, name, ()))
    return found


def _consumer_name(name: str) -> str:
    from ricordo.wire import consumer_of

    consumer_of(None, name)  # before anything is opened
    return name


def _account_name(name: str) -> str:
    if not name or not all(c.isascii() and (c.isalnum() or c in "_-") for c in name):
        raise Invalid(f"account {name[:40]!a} may have letters, digits, _ and - only")
    return name


EVENTS = (init_events, relay, tail, *READERS, permissions)
