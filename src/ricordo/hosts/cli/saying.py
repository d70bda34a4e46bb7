"""`remember` and `document`: what is said outright, stored word for word."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.options import ALWAYS, PERSON
from ricordo.hosts.cli.reading import read_relations, read_text, read_time
from ricordo.model import Kind, Origin

if TYPE_CHECKING:
    from ricordo.memory.storing import Stored

Text = Annotated[str, typer.Argument(help="The text; - reads standard input.", show_default=False)]
Relations = Annotated[
    list[str] | None,
    typer.Option(
        "--relation",
        metavar="'A|REL|B'",
        help="What the text relates; repeatable. An end may carry its type: 'Name:Type'.",
    ),
]
Importance = Annotated[float, typer.Option(min=0, max=1, help="How much it matters.")]
Pin = Annotated[bool, typer.Option("--pin", help="Keep it at hand: ranks higher, stays.")]
Expires = Annotated[
    str | None, typer.Option("--expires", metavar="DATE", help="Not recalled from then on.")
]
Thread = Annotated[
    str | None, typer.Option("--thread", metavar="ID", help="Conversation it comes from.")
]


@command(
    takes=PERSON,
    example="ricordo remember --user alice --agent coder --kind preference "
    '"Prefers concise examples"',
)
async def remember(
    here: Here,
    text: Text,
    kind: Annotated[
        Kind, typer.Option(help="A preference is this agent's alone; a fact is every agent's.")
    ] = Kind.FACT,
    relation: Relations = None,
    importance: Importance = 0.5,
    pin: Pin = False,
    expires: Expires = None,
    thread: Thread = None,
) -> None:
    """Store something about a user word for word, without a model."""
    said = read_text(text)
    relations = read_relations(relation or ())
    until = read_time(expires, option="--expires")
    async with here.memory(create=True) as memory:
        stored = await here.user_memory(memory, agent=here.agent).remember(
            said,
            kind=kind,
            relations=relations,
            origin=_origin(thread, agent=here.agent),
            importance=importance,
            pinned=pin,
            expires_at=until,
        )
    show_stored(here, stored)


@command(
    takes=("db", "tenant", "user", "namespace", *ALWAYS),
    example='ricordo document --namespace platform "Project Falcon uses microservices" '
    '--relation "Project Falcon|uses|microservices"',
)
async def document(
    here: Here,
    text: Text,
    relation: Relations = None,
    importance: Importance = 0.5,
    pin: Pin = False,
    expires: Expires = None,
) -> None:
    """Document a fact for the organization, word for word, in one namespace."""
    said = read_text(text)
    relations = read_relations(relation or ())
    until = read_time(expires, option="--expires")
    async with here.memory(create=True) as memory:
        stored = await here.organization_memory(memory).document(
            said, relations=relations, importance=importance, pinned=pin, expires_at=until
        )
    show_stored(here, stored)


def show_stored(here: Here, stored: "Stored", *, done: str | None = None) -> None:
    """Print what was stored, and what was refused of it."""
    from ricordo.hosts.cli.views import stored_view

    done = done or ("Stored" if stored.created else "Known already")
    here.screen.result(stored_view(stored), text=f"{done}: {stored.memory.id}")
    if here.screen.json_lines:
        return
    for relation in stored.relations:
        here.screen.line(f"  {relation.source_name} –{relation.type}→ {relation.target_name}")
    for refusal in stored.refusals:
        rule = refusal.rule.value if refusal.rule else "policy"
        here.screen.remark(f"  refused by rule {rule}: {refusal.reason}")


def _origin(thread: str | None, *, agent: str) -> Origin | None:
    if thread is None:
        return None
    return Origin(at=datetime.now().astimezone(), agent=agent, thread_id=thread)
