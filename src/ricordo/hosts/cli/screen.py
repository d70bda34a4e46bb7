"""What a person or a script reads: plain lines, tables on a terminal, or JSON."""

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from functools import cached_property
from typing import TYPE_CHECKING, TextIO

from ricordo.errors import Invalid
from ricordo.hosts.cli.lines import typed_lines

if TYPE_CHECKING:
    from rich.console import Console

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def safe(text: str) -> str:
    """`text` with everything that steers a terminal shown as an escape: a memory only speaks."""
    return _UNSAFE.sub(_escaped, text)


def as_json(value: object) -> str:
    """JSON in one line; what steers a terminal is escaped, other letters are left readable."""
    return safe(json.dumps(value, ensure_ascii=False, allow_nan=False))


def nobody_reads() -> None:
    """Whoever read our output has enough: let what is left go nowhere, without a complaint."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


class Screen:
    """Where a command's output goes: results to standard output, remarks to standard error.

    Args:
        json_lines: print JSON only.
    """

    def __init__(self, *, json_lines: bool) -> None:
        self.json_lines = json_lines

    @cached_property
    def console(self) -> "Console":
        """Standard output; rich leaves colours and tables out where it is no terminal."""
        return _console(sys.stdout)

    @cached_property
    def errors(self) -> "Console":
        """Standard error."""
        return _console(sys.stderr)

    @property
    def is_terminal(self) -> bool:
        """Whether a person looks at the results."""
        return sys.stdout.isatty()

    def data(self, value: object) -> None:
        """Print one JSON value as a line."""
        sys.stdout.write(as_json(value) + "\n")
        sys.stdout.flush()

    def line(self, text: str = "", *, style: str = "") -> None:
        """Print one line of text; a style shows on a terminal only."""
        if style and self.is_terminal:
            self.console.print(safe(text), style=style, markup=False, soft_wrap=True)
        else:
            sys.stdout.write(safe(text) + "\n")

    def remark(self, text: str) -> None:
        """Print a line to standard error."""
        sys.stderr.write(safe(text) + "\n")
        sys.stderr.flush()

    def result(self, value: Mapping[str, object], *, text: str) -> None:
        """Print what a command did: as JSON, or in words."""
        if self.json_lines:
            self.data(value)
        else:
            self.line(text)

    def table(self, titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Rows as a table on a terminal, else as lines parted by tabs without titles."""
        flat = [[safe(" ".join(cell.split())) for cell in row] for row in rows]
        if not self.is_terminal:
            sys.stdout.writelines("\t".join(row) + "\n" for row in flat)
            return
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(*titles, box=box.SIMPLE, pad_edge=False, header_style="bold")
        table.columns[0].no_wrap = True
        for row in flat:
            table.add_row(*(Text(cell) for cell in row))
        self.console.print(table)

    async def confirm(self, question: str, *, yes: bool) -> bool:
        """Ask before something that cannot be undone.

        Raises:
            Invalid: nobody is there to answer, and `yes` was not given.
        """
        if yes:
            return True
        if not sys.stdin.isatty():
            raise Invalid(f"{question} Nobody can answer here; add --yes if you mean it")
        sys.stderr.write(f"{safe(question)} [y/N] ")
        sys.stderr.flush()
        async with aclosing(typed_lines()) as lines:
            async for line in lines:
                return line.strip().lower() in {"y", "yes"}
        return False


def _console(stream: TextIO) -> "Console":
    from rich.console import Console

    return Console(file=stream, highlight=False)
