"""A group of commands: what is told to the group holds for its commands, and alone it lists."""

import inspect
from collections.abc import Sequence
from typing import Any

import typer

from ricordo.hosts.cli.command import Command, signed
from ricordo.hosts.cli.exits import DONE, USAGE
from ricordo.hosts.cli.given import Given
from ricordo.hosts.cli.options import shared_parameters

_LISTS = ("list", "merges")
"""Names of the commands that a group runs where none is named."""


def group_of(commands: Sequence[Command], *, about: str, given: Given) -> typer.Typer:
    """Commands under one word; with options for all of them, which each may be told otherwise.

    Args:
        about: the help.
    """
    lists = next((one for one in commands if one.name in _LISTS), None)
    takes = (lists or commands[0]).takes

    def begun(ctx: typer.Context, **shared: Any) -> int:
        ctx.obj = shared
        if ctx.invoked_subcommand is not None:
            return DONE
        if lists is not None:
            return lists.run(given, shared)
        typer.echo(ctx.get_help())
        return USAGE

    alone = "" if lists is None else f" Without a command: `{lists.name}`."
    group = typer.Typer(help=about + alone, invoke_without_command=True)
    context = inspect.Parameter(
        "ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    group.callback()(signed(begun, [context, *shared_parameters(takes)]))
    for one in commands:
        one.add_to(group, given=given)
    return group
