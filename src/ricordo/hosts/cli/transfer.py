"""`import` and `export`: conversations in, everything out."""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from ricordo.errors import Conflict, Invalid, SpaceMismatch
from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.exits import DONE, USAGE
from ricordo.hosts.cli.formats.names import Format
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.importing import Importer
from ricordo.hosts.cli.options import ALWAYS, PERSON
from ricordo.hosts.cli.progress import progress
from ricordo.hosts.cli.reading import read_time
from ricordo.hosts.cli.screen import as_json

if TYPE_CHECKING:
    from ricordo.hosts.cli.formats.items import Item

_AT_ONCE = 16
_COUNTED = ("turns", "memories", "known", "skipped")


class As(StrEnum):
    """What becomes of a conversation."""

    TURNS = "turns"
    MEMORIES = "memories"


@command(
    takes=PERSON,
    example="ricordo import chats.jsonl --user alice --agent helper",
    name="import",
)
async def import_(
    here: Here,
    file: Annotated[
        str, typer.Argument(help="The file; - reads standard input.", show_default=False)
    ],
    format: Annotated[Format, typer.Option(help="What the file is.")] = Format.AUTO,  # noqa: A002
    as_: Annotated[
        As,
        typer.Option(
            "--as",
            help="Queue turns for a model to read, or store the person's words as memories, word "
            "for word, without a model.",
        ),
    ] = As.TURNS,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="DATE", help="When it was said, where the file is silent."),
    ] = None,
    sample: Annotated[
        str | None, typer.Option(metavar="ID", help="LoCoMo: only this conversation.")
    ] = None,
    speaker: Annotated[
        str | None, typer.Option(metavar="NAME", help="LoCoMo: who of the two is the user.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first bad line.")] = False,
) -> int:
    """Import conversations, or what `export` wrote, for one user.

    Can be interrupted and run again: what is there already is passed over. A bad line is reported
    with its number and skipped, and the exit code is 2 then.
    """
    from ricordo.hosts.cli.formats.items import Context
    from ricordo.hosts.cli.formats.opening import open_file

    now = datetime.now(UTC)
    context = Context(
        name="stdin" if file == "-" else Path(file).stem,
        agent=here.agent,
        at=read_time(at, option="--at") or now,
    )
    opened = await asyncio.to_thread(
        open_file, file, format=format, context=context, sample=sample, speaker=speaker
    )
    counts: Counter[str] = Counter()
    async with here.memory(create=True) as memory:
        importer = Importer(here, memory, context=context, as_memories=as_ is As.MEMORIES)
        try:
            with progress("importing", total=opened.total) as advance:
                at_once = 1 if strict or as_ is As.MEMORIES else _AT_ONCE
                for items in _together(opened.items, size=at_once):
                    tasks = [_one(here, importer.take, item, strict=strict) for item in items]
                    for took in await asyncio.gather(*tasks):
                        counts.update(took)
                    advance(len(items))
            for item in importer.later():
                counts.update(await _one(here, importer.take_later, item, strict=strict))
            await importer.finish()
        except asyncio.CancelledError:
            _summary(here, counts, ended="interrupted; run it again to go on")
            raise
    _summary(here, counts, ended="done")
    return USAGE if counts["skipped"] else DONE


def _together(items: Iterable["Item"], *, size: int) -> Iterator[list["Item"]]:
    """Items in groups: turns of a group are queued in their order and share a commit.

    A memory is a group of its own: it takes time to be embedded, and would lose its place.
    """
    group: list[Item] = []
    for item in items:
        if item.record is not None and group:
            yield group
            group = []
        group.append(item)
        if len(group) == size or item.record is not None:
            yield group
            group = []
    if group:
        yield group


async def _one(
    here: Here,
    take: Callable[["Item"], Awaitable[Counter[str]]],
    item: "Item",
    *,
    strict: bool,
) -> Counter[str]:
    try:
        if item.fault is not None:
            raise Invalid(item.fault)
        return await take(item)
    except SpaceMismatch:
        raise  # so it would be for every line
    except (Invalid, Conflict) as error:
        if strict:
            branch = Conflict if isinstance(error, Conflict) else Invalid
            raise branch(f"line {item.number}: {error}") from error
        here.screen.remark(f"line {item.number} skipped: {error}")
        return Counter({"skipped": 1})


def _summary(here: Here, counts: Counter[str], *, ended: str) -> None:
    words = ", ".join(f"{counts[name]} {name}" for name in _COUNTED)
    here.screen.result(
        {**{name: counts[name] for name in _COUNTED}, "ended": ended}, text=f"{ended}: {words}"
    )


@command(
    takes=("db", "tenant", "user", *ALWAYS),
    example="ricordo export --user alice --output alice.jsonl",
)
async def export(
    here: Here,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to; - is the screen.")
    ] = "-",
) -> None:
    """Write everything kept about a user as JSON lines, which `import` can read back.

    Memories with origins, history and relations; entities with their aliases and merges; what was
    refused; turns that wait.
    """
    count = 0
    async with here.memory() as memory:
        with _writer(output) as file:
            async for record in here.user_memory(memory, agent=None).export():
                file.write(as_json(record) + "\n")
                count += 1
    here.screen.remark(f"{count} records")


@contextmanager
def _writer(path: str) -> Generator[TextIO, None, None]:
    """A new file that only its owner may read, complete or absent; or standard output."""
    if path == "-":
        yield sys.stdout
        return
    target = Path(path).expanduser()
    partial = target.with_name(f"{target.name}.partial")
    try:
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            yield file
        partial.replace(target)
    except OSError as error:
        raise Invalid(f"{path} cannot be written: {error.strerror}") from error
