"""Shows scenes to a person, in colour where the terminal has it."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TextIO
import unicodedata

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
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

    def begin(self, *, models: Sequence[str], database: str) -> None:
        """Say what is about to be seen, and what is real about it."""
        self._console.print(
            Text.assemble(
                ("Ricordo", "bold"),
                ": a real agent, a real memory in one file, and a model that only repeats: ",
                (", ".join(models), "cyan"),
                ".\nThe endpoint on this machine gives what that model said when the story was "
                "recorded. Everything else happens now.\n",
                (f"Memory: {database}", "dim"),
            )
        )

    def show(self, scene: Scene, *, number: int) -> None:
        """Print one scene."""
        at = datetime.fromisoformat(scene.at)
        self._console.print()
        self._console.print(Rule(Text(f" {number} · {scene.title} ", "bold"), align="left"))
        self._console.print(Text(f"{at:%A %-d %B, %H:%M}", "dim"))
        for indent, text in _lines(scene):
            self._console.print(Padding(text, (0, 0, 0, indent)))

    def end(self, *, seconds: float) -> None:
        """Say how long it took and what comes next."""
        self._console.print()
        self._console.print(
            Text(f"Played in {seconds:.1f} s. Next: ricordo chat --user you --agent helper", "bold")
        )


Line = tuple[int, Text]
"""How far to indent, and what to print."""


def _lines(scene: Scene) -> Iterator[Line]:
    if scene.said is not None:
        yield (
            0,
            Text.assemble(
                (_name(scene.who), "bold green"), f" to {scene.agent}: ", _safe(scene.said)
            ),
        )
    yield from _recalled(scene)
    if scene.answer is not None:
        yield (
            0,
            Text.assemble(
                (scene.agent or "agent", "bold blue"), ": ", (_safe(scene.answer), "italic")
            ),
        )
    yield from _learned(scene)
    for one in scene.documented:
        yield 0, Text.assemble((_name(scene.who), "bold green"), " documents: ", _safe(one["text"]))
        yield from _facts(one)
    for one in scene.refused:
        yield 0, Text(f"refused: {one['reason']}", "yellow")
    yield from _receipt(scene.receipt)
    if scene.note is not None:
        yield 0, Text(_safe(scene.note), "dim")


def _recalled(scene: Scene) -> Iterator[Line]:
    if scene.recalled is None:
        return
    if not scene.recalled:
        yield 0, Text("injected: nothing", "yellow")
        return
    took = f" (found in {scene.took_ms:g} ms)" if scene.took_ms is not None else ""
    yield 0, Text(f"injected, as reference data{took}:", "cyan")
    for one in scene.recalled:
        yield 2, _headline(one)
        yield 4, Text(f"from  {_from(one)}", "dim")
        yield 4, Text(f"why   {_why(one)}", "dim")
    for walk in scene.paths:
        yield 2, Text.assemble(("walk  ", "cyan"), _safe(walk["text"]))


def _learned(scene: Scene) -> Iterator[Line]:
    if scene.learned is None:
        return
    if not scene.learned:
        yield 0, Text("remembered: nothing new", "yellow")
        return
    yield 0, Text("remembered after the answer:", "magenta")
    for one in scene.learned:
        yield 2, _headline(one)
        quote = one.get("origin", {}).get("quote")
        if quote:
            yield 4, Text(f"she said “{_safe(quote)}”", "dim")
        yield from _facts(one)


def _facts(one: Plain) -> Iterator[Line]:
    for arrow in one["relations"]:
        yield 4, Text(_safe(arrow), "magenta")
    yield 4, Text(f"seen by {_safe(one['seen_by'])}", "dim")


def _receipt(given: Plain | None) -> Iterator[Line]:
    if given is None:
        return
    yield 0, Text("receipt", "bold")
    yield 2, Text(f"subject   {given['subject']} (a keyed hash; her id is not kept)")
    yield 2, Text(f"erased    {given['erased_at']}")
    removed = ", ".join(f"{number} {place}" for place, number in given["removed"].items())
    yield 2, Text(f"removed   {removed or 'nothing'}")
    places = len(given["remaining"])
    found = sum(given["remaining"].values())
    style = "green" if given["clean"] else "red"
    yield 2, Text(f"scan      {found} rows left in {places} places", style)
    yield 2, Text(f"log       {'emptied' if given['log_cleared'] else 'in use by another process'}")


def _headline(one: Plain) -> Text:
    style = "bold yellow" if one["kind"] == "preference" else "bold cyan"
    return Text.assemble((f"{one['kind']:<11}", style), _safe(one["text"]))


def _from(one: Plain) -> str:
    origin = one.get("origin", {})
    day = datetime.fromisoformat(origin["at"]).strftime("%-d %B") if "at" in origin else "?"
    place = f" in {origin['thread_id']}" if "thread_id" in origin else ""
    by = origin.get("agent") or origin.get("author") or "somebody"
    return _safe(
        f"{one['scope']}, told to {by}{place}, {day}"
        if "agent" in origin
        else f"{one['scope']}, by {by}, {day}"
    )


def _why(one: Plain) -> str:
    signals = ", ".join(f"{name} {value:g}" for name, value in one["why"].items())
    return f"score {one['score']:g} ({signals})"


def _name(who: str) -> str:
    return who.capitalize()


def _safe(text: str) -> str:
    """Without what steers a terminal: a model's words are only words."""
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in _UNSEEN else "�" for c in text
    )
