"""Options that many commands share; each means the same everywhere."""

import inspect
from collections.abc import Sequence
from typing import Annotated

import typer

PLACE = "Whose memory"

Db = Annotated[
    str | None,
    typer.Option(
        "--db", metavar="PATH", help="Memory file, or postgresql:// address.", rich_help_panel=PLACE
    ),
]
Tenant = Annotated[
    str | None,
    typer.Option("--tenant", metavar="T", help="Tenant.", rich_help_panel=PLACE),
]
User = Annotated[
    str | None,
    typer.Option("--user", metavar="U", help="User.", rich_help_panel=PLACE),
]
Agent = Annotated[
    str | None,
    typer.Option("--agent", metavar="A", help="Agent that acts or asks.", rich_help_panel=PLACE),
]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        metavar="N",
        help="Use the organization's memory of this namespace.",
        rich_help_panel=PLACE,
    ),
]
Org = Annotated[
    bool,
    typer.Option(
        "--org",
        help="Use the organization's memory: the namespace of the settings, or the common one.",
        rich_help_panel=PLACE,
    ),
]
Config = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE", help="Settings file.", rich_help_panel=PLACE),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON; errors too.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show the traceback of an error.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

SHARED: dict[str, tuple[object, object]] = {
    "db": (Db, None),
    "tenant": (Tenant, None),
    "user": (User, None),
    "agent": (Agent, None),
    "namespace": (Namespace, None),
    "org": (Org, False),
    "config": (Config, None),
    "json": (Json, False),
    "verbose": (Verbose, False),
}
"""By name: annotation and default. A command takes those that apply to it."""


def shared_parameters(names: Sequence[str]) -> list[inspect.Parameter]:
    """These options as parameters of a function, as typer reads them."""
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=SHARED[name][1],
            annotation=SHARED[name][0],
        )
        for name in names
    ]


ALWAYS = ("config", "json", "verbose")
FILE = ("db", *ALWAYS)
PERSON = ("db", "tenant", "user", "agent", *ALWAYS)
EVERYWHERE = ("db", "tenant", "user", "agent", "namespace", "org", *ALWAYS)
