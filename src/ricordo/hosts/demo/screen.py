"""Shows scenes to a person, in colour where the terminal has it."""

import unicodedata
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ricordo.hosts.demo.scene import Plain, Scene

_UNSEEN = frozenset({"Cc", "Cf", "Cs"})


class Screen:
    """A terminal, or a file.

    Args:
        file: where to write.
        color: False leaves colours out even where there could be some.
    """

    def __init__(self, file: TextIO, *, color: bool = True) -> None:
        self._console = Console(file=file, no_color=not color or None, highlight=False)
        self._shown = 0

    def begin(self, *, models: Sequence[str]) -> None:
        """Say what is about to be seen, and what is real about it."""
        self._console.print(
            Text.assemble(
                ("Ricordo", "bold"),
                ": a real agent, a real memory in one file, and a model that only repeats itself.\n"
                "The endpoint on this machine, ",
                (", ".join(models), "cyan"),
                ",\ngives what that model said when the story was recorded. All else happens now.",
            )
        )

    def show(self, scene: Scene) -> None:
        """Print one scene."""
        self._shown += 1
        self._console.print()
        self._console.print(Text(f"{self._shown}. {scene.title}", "bold underline"))
        self._console.print(Text(_moment(scene.at), "dim"))
        for line in _lines(scene):
            self._console.print(line)

    def end(self, *, seconds: float, database: str | None) -> None:
        """Say how long it took and what comes next."""
        self._console.print()
        self._console.print(Text(f"Played in {seconds:.1f} s.", "bold"))
        if database is not None:
            self._console.print(Text(f"The memory is in {database}"))
        self._console.print(Text("Next: ricordo chat --user you --agent helper"))


Line = Text | Padding


def _lines(scene: Scene) -> Iterator[Line]:
    if scene.said is not None:
        who = (scene.who.capitalize(), "bold green")
        yield Text.assemble(who, f" to {scene.agent}: ", _safe(scene.said))
    yield from _recalled(scene)
    if scene.answer is not None:
        yield Text.assemble((f"{scene.agent}", "bold blue"), ": ", (_safe(scene.answer), "italic"))
    yield from _learned(scene)
    yield from _documented(scene)
    yield from _receipt(scene.receipt)
    if scene.note is not None:
        yield Text(_safe(scene.note), "dim")


def _recalled(scene: Scene) -> Iterator[Line]:
    if scene.recalled is None:
        return
    what = "injected" if scene.agent is not None else "found"
    if not scene.recalled:
        yield Text(f"{what}: nothing", "yellow")
        return
    yield Text(f"{what}, as reference data, in {scene.took_ms:g} ms:", "cyan")
    for one in scene.recalled:
        yield _indented(2, _headline(one))
        yield _indented(4, Text(f"from  {_from(one)}", "dim"))
        yield _indented(4, Text(f"why   {_why(one)}", "dim"))
    for walk in scene.paths:
        yield _indented(2, Text.assemble((f"{'walk':<11}", "cyan"), _safe(walk["text"])))


def _learned(scene: Scene) -> Iterator[Line]:
    if scene.learned is None:
        return
    if not scene.learned:
        yield Text("remembered after the answer: nothing", "yellow")
        return
    yield Text("remembered after the answer:", "magenta")
    for one in scene.learned:
        yield _indented(2, _headline(one))
        quote = one.get("origin", {}).get("quote", "")
        yield _indented(4, Text(f"from  “{_safe(quote)}”", "dim"))
        yield from _edges(one)


def _documented(scene: Scene) -> Iterator[Line]:
    if scene.documented:
        yield Text.assemble((scene.who.capitalize(), "bold green"), " documents:")
    for one in scene.documented:
        yield _indented(2, _headline(one))
        yield from _edges(one)


def _edges(one: Plain) -> Iterator[Line]:
    for arrow in one["relations"]:
        yield _indented(4, Text(f"edge  {_safe(arrow)}", "magenta"))
    yield _indented(4, Text(f"for   {_safe(one['seen_by'])}", "dim"))


def _receipt(given: Plain | None) -> Iterator[Line]:
    if given is None:
        return
    removed = ", ".join(f"{place} {number}" for place, number in given["removed"].items())
    left, places = sum(given["remaining"].values()), len(given["remaining"])
    yield Text("receipt:", "magenta")
    yield _indented(2, Text(f"subject  {given['subject'][:24]}… (a keyed hash, not her id)"))
    yield _indented(2, Text(f"erased   {given['erased_at']}"))
    yield _indented(2, Text(f"removed  {removed}"))
    yield _indented(
        2,
        Text(f"scan     {left} rows left in {places} places", "green" if given["clean"] else "red"),
    )
    log = "emptied" if given["log_cleared"] else "emptied when no other process reads it any more"
    yield _indented(2, Text(f"log      {log}"))


def _headline(one: Plain) -> Text:
    style = "bold yellow" if one["kind"] == "preference" else "bold cyan"
    return Text.assemble((f"{one['kind']:<11}", style), _safe(one["text"]))


def _from(one: Plain) -> str:
    origin = one.get("origin", {})
    parts = [one["scope"]]
    if "agent" in origin:
        parts.append(f"told to {origin['agent']} in the conversation {origin['thread_id']}")
    elif "author" in origin:
        parts.append(f"documented by {origin['author']}")
    if "at" in origin:
        parts.append(_moment(origin["at"]))
    return _safe(", ".join(parts))


def _why(one: Plain) -> str:
    signals = ", ".join(f"{name} {value:g}" for name, value in one["why"].items())
    return f"score {one['score']:g} ({signals})"


def _moment(at: str) -> str:
    moment = datetime.fromisoformat(at)
    return f"{moment:%A} {moment.day} {moment:%B, %H:%M}"


def _indented(columns: int, text: Text) -> Padding:
    return Padding(text, (0, 0, 0, columns), expand=False)


def _safe(text: str) -> str:
    """Without what steers a terminal: a model's words are only words."""
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in _UNSEEN else "\ufffd" for c in text
    )
