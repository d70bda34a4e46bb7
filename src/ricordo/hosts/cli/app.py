"""The command line as a whole: which commands there are, and how they end."""

import sys
import traceback
from collections.abc import Sequence
from importlib import metadata
from typing import Annotated

import typer

from ricordo.errors import RicordoError
from ricordo.hosts.cli.answering import answer
from ricordo.hosts.cli.browsing import list_memories, show
from ricordo.hosts.cli.chatting import chat
from ricordo.hosts.cli.correcting import edit, erase, forget
from ricordo.hosts.cli.events import EVENTS
from ricordo.hosts.cli.exits import DONE, FAILED, INTERRUPTED, USAGE, exit_code
from ricordo.hosts.cli.finding import explore, recall
from ricordo.hosts.cli.given import Given
from ricordo.hosts.cli.groups import group_of
from ricordo.hosts.cli.inspecting import doctor, stats
from ricordo.hosts.cli.keeping import consolidate
from ricordo.hosts.cli.moving import migrate
from ricordo.hosts.cli.naming import ENTITIES
from ricordo.hosts.cli.outside import rebuild, verify
from ricordo.hosts.cli.parked import DEADLETTERS
from ricordo.hosts.cli.platform import PROTOCOL
from ricordo.hosts.cli.reviewing import REVIEW
from ricordo.hosts.cli.saying import document, remember
from ricordo.hosts.cli.screen import as_json, nobody_reads, safe
from ricordo.hosts.cli.starting import demo, init
from ricordo.hosts.cli.transfer import export, import_
from ricordo.hosts.cli.working import reindex, worker

_SUMMARY = """Memory for teams of AI agents: private to each user, shared across an organization.

Settings come from a file, then the environment, then options; `ricordo doctor` shows them.
"""

COMMANDS = {
    "Begin": (init, demo, chat),
    "Remember and recall": (remember, document, recall, explore),
    "Look and correct": (list_memories, show, edit, forget, erase),
    "Operate": (
        worker,
        answer,
        consolidate,
        reindex,
        verify,
        rebuild,
        import_,
        export,
        migrate,
        stats,
        doctor,
    ),
}
GROUPS = {
    "entities": ("Give an entity another name; make two of them one, and take it back.", ENTITIES),
    "review": ("Decide on what waits for a person, and see what was refused.", REVIEW),
    "events": ("What happened, told to others: over NATS, or here on the screen.", EVENTS),
    "protocol": ("Serve a platform of agents in its own protocol, over NATS.", PROTOCOL),
    "deadletters": ("What no model could make memory of: list, show, replay, forget.", DEADLETTERS),
}

Version = Annotated[
    bool, typer.Option("--version", help="Print the version and end.", is_eager=True)
]


def build_app(given: Given, *, only: str | None = None) -> typer.Typer:
    """The command line over what the wiring can open.

    Args:
        only: leave out the other commands where this is the name of one; to start faster.
    """
    app = typer.Typer(
        name="ricordo",
        help=_SUMMARY,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(_overview)
    wanted = {only} if only in _names() else _names()
    for panel, commands in COMMANDS.items():
        for one in commands:
            if one.name in wanted:
                one.add_to(app, given=given, panel=panel)
    for name, (about, commands) in GROUPS.items():
        if name in wanted:
            group = group_of(commands, about=about, given=given)
            app.add_typer(group, name=name, rich_help_panel="Look and correct")
    return app


def _overview(ctx: typer.Context, version: Version = False) -> None:
    if version:
        typer.echo(f"ricordo {metadata.version('ricordo')}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit(USAGE)


def _names() -> set[str]:
    return {one.name for commands in COMMANDS.values() for one in commands} | set(GROUPS)


def main(argv: Sequence[str] | None = None, *, given: Given) -> int:
    """Run one command.

    Returns:
        The exit code: 0, the error class's own (see `exits`), or 130 after Ctrl-C.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        _forgive(stream)
    only = words[0] if words else None
    app = build_app(given, only=only)
    try:
        code = _run(app, words)
        sys.stdout.flush()
    except BrokenPipeError:
        nobody_reads()
        return DONE
    return code


def _run(app: typer.Typer, words: list[str]) -> int:
    try:
        ended = app(words, prog_name="ricordo", standalone_mode=False)
        return ended if isinstance(ended, int) else DONE
    except RicordoError as error:
        return _failed(error, str(error), words, code=exit_code(error))
    except ImportError as error:
        return _failed(error, str(error), words, code=FAILED)  # it names the extra to install
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("\n")
        return INTERRUPTED
    except BrokenPipeError:
        raise  # `main` knows what it means
    except Exception as error:  # noqa: BLE001
        # The edge of the program: a person gets one line, and the traceback if they ask for it.
        told = getattr(error, "format_message", None)
        if told is not None:  # the parser's, for a wrong command line
            return _failed(error, told() or "see `ricordo --help`", words, code=USAGE)
        message = f"unexpected {type(error).__name__}: {error}; --verbose shows where"
        return _failed(error, message, words, code=FAILED)


def _failed(error: Exception, message: str, words: list[str], *, code: int) -> int:
    options = words[: words.index("--")] if "--" in words else words
    if "--verbose" in options:
        traceback.print_exception(error)
    if "--json" in options:
        name = type(error).__name__ if isinstance(error, RicordoError) or code != USAGE else "Usage"
        line = as_json({"error": {"type": name, "message": message}})
    else:
        line = safe(f"ricordo: {message}")
    sys.stderr.write(line + "\n")
    return code


def _forgive(stream: object) -> None:
    """Let a terminal that lacks a letter show an escape instead of ending the program."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
