"""What lies in deploy/, read as its programs read it."""

from pathlib import Path
from typing import Any

import typer
import yaml

from ricordo.hosts.cli.app import build_app
from ricordo.hosts.cli.given import Given

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
WRAPPER = DEPLOY / "ricordo-with-secrets"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: each for name, each in SERVICES.items() if "build" in each}


def _never(_settings: Any) -> Any:
    raise AssertionError("nothing is opened here")


def understood(words: list[str]) -> None:
    """Raise where the command line of ours does not know these words."""
    found: Any = typer.main.get_command(build_app(Given(opener=_never)))
    rest = list(words)
    while hasattr(found, "commands"):
        found, rest = found.commands[rest[0]], rest[1:]
    found.make_context(" ".join(words), rest).close()


def shell_of(service: str, **places: Path | str) -> str:
    """The script that a service's container begins with, with other places in it."""
    shell, flag, script = SERVICES[service]["command"]
    assert (shell, flag) == ("sh", "-c")
    return moved(script.replace("$$", "$"), **places)


def moved(text: str, **places: Path | str) -> str:
    """A text with the places of a container replaced by others: ``_run_secrets`` is
    ``/run/secrets``."""
    for name, place in places.items():
        text = text.replace(name.replace("_", "/"), str(place))
    return text
