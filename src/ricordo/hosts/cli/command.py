"""A command: an async function, the shared options it takes, and an example for its help."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

import typer

from ricordo.hosts.cli.exits import DONE
from ricordo.hosts.cli.given import Given
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.options import SHARED, shared_parameters
from ricordo.hosts.cli.screen import nobody_reads

Body = Callable[..., Coroutine[Any, Any, int | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command of the command line.

    Args:
        body: receives a `Here` and the command's own parameters; returns an exit code, None is 0.
        takes: names of the shared options that apply.
        example: a line that a person could type.
    """

    body: Body
    name: str
    takes: tuple[str, ...]
    example: str

    def add_to(self, app: typer.Typer, *, given: Given, panel: str | None = None) -> None:
        """Register the command, under a heading of the overview."""
        register = app.command(
            self.name,
            help=inspect.getdoc(self.body),
            epilog=f"Example: {self.example}",
            rich_help_panel=panel,
        )
        register(self._callback(given))

    def run(self, given: Given, shared: Mapping[str, Any], **own: Any) -> int:
        """Run it with the shared options that it takes, and with its own; returns the exit code."""
        options = {name: value for name, value in shared.items() if name in self.takes}
        try:
            return asyncio.run(self.body(Here(given=given, options=options), **own)) or DONE
        except BrokenPipeError:
            nobody_reads()
            return DONE

    def _callback(self, given: Given) -> Callable[..., int]:
        """A plain function with the signature that typer reads: own parameters, then shared."""

        def run(ctx: typer.Context, **values: Any) -> int:
            shared = {name: values.pop(name) for name in self.takes}
            of_group: Mapping[str, Any] = ctx.obj or {}
            for name, value in of_group.items():
                if shared.get(name) == SHARED[name][1]:  # not told again
                    shared[name] = value
            return self.run(given, shared, **values)

        hints = get_type_hints(self.body, include_extras=True)
        own = list(inspect.signature(self.body).parameters.values())[1:]
        context = inspect.Parameter(
            "ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
        )
        parameters = [context, *(p.replace(annotation=hints[p.name]) for p in own)]
        return signed(run, [*parameters, *shared_parameters(self.takes)])


def signed(function: Callable[..., int], parameters: list[inspect.Parameter]) -> Callable[..., int]:
    """The function, with these parameters in the place of its own for whoever looks."""
    function.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    function.__annotations__ = {p.name: p.annotation for p in parameters}
    return function


def command(
    *, takes: tuple[str, ...], example: str, name: str | None = None
) -> Callable[[Body], Command]:
    """Make a command of an async function; its docstring is the help."""

    def wrap(body: Body) -> Command:
        called = name or body.__name__.strip("_").replace("_", "-")
        return Command(body=body, name=called, takes=takes, example=example)

    return wrap
