"""Writes the pages of docs/reference/ that follow from the code that they describe.

Run it after a change of settings or commands; a test compares.

    python -m tools.reference
"""

import inspect
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import typer
from tools import asyncapi, library_pages

from ricordo.hosts.cli.app import COMMANDS, GROUPS, build_app
from ricordo.hosts.cli.command import Command
from ricordo.hosts.cli.exits import EXIT_CODES, INTERRUPTED
from ricordo.hosts.cli.given import Given
from ricordo.settings import Settings
from ricordo.settings.template import example

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"

_SETTINGS = """# Settings

One typed object. Each value comes from, later wins:

1. its default;
2. a TOML file: the one named by `--config`, else by `$RICORDO_CONFIG`, else `./ricordo.toml`, else
   `ricordo.toml` in the user's configuration directory (`~/.config/ricordo/` on Linux). The first
   that exists is the only one that is read. An unknown key in it is an error;
3. the environment: `RICORDO_` and the setting's name in capitals, for example
   `RICORDO_MODEL=qwen2.5:7b`. An empty variable counts as unset;
4. arguments: options of a command, or `load_settings({"tenant": "acme"})` in a program.

`ricordo init --write-settings` writes a file with all of them, commented out. `ricordo doctor`
shows each value with its source, secrets masked, and tells of mistyped variables.

A program that opens a memory with `open_memory("memory.db")` and no settings gets the defaults:
neither file nor environment is read behind its back. With `settings=load_settings().settings` they
are read.

"""

_CLI = """# The command line

Every command shows an example with `--help` and takes `--verbose` and `--json`,
and all that read settings `--config FILE`. A text or question of `-` is read from standard input.
Defaults come from the [settings](settings.md).

## On whose behalf

`--tenant T --user U` say whose memory it is, `--agent A` through which agent. `remember`, `recall`
and `chat` act through the agent in the settings where none is named; commands that look and correct
show the person everything unless an agent is named.

`--namespace N` turns to the organization's memory of that namespace; `--org` to the one in the
settings, or else the tenant's common one.

Whoever holds the file holds the data, so the command line acts as admin of every namespace of the
tenant. Where the settings list `grants`, it may do exactly what they say, and looks at the file as
a whole (`reindex`, `stats --everything`, `deadletters list --everyone`) are denied. Verified
identities are the business of a service, not of this tool.

`ricordo review --user alice --json` is `ricordo review list` of alice: what is told to a group
holds for its commands, and alone a group lists. `ricordo --version` prints the version, and
`python -m ricordo` is the same program. In a user's graph `me`, `I` and `the user` are the user. A
variable that begins with `RICORDO_` and is no setting is told of, with the nearest name.

## Output

Results go to standard output, remarks to standard error. Tables and colours appear on a terminal
only; elsewhere a table is lines parted by tabs. Control characters and text-direction marks in
what was remembered are shown as escapes.

With `--json` every command prints one JSON value in one line (`export` one per record). Names are
stable:

- a memory: `id`, `text`, `kind` (`preference`, `fact`), `scope` (`type`, `tenant`, and `user` or
  `namespace`), `agent`, `status` (`proposed`, `active`, `superseded`, `rejected`), `source`
  (`inferred`, `said`, `documented`, `imported`), `origin`, `recorded_at`, `updated_at`,
  `valid_from`, `valid_until`, `expires_at`, `confidence`, `importance`, `sensitivity`, `pinned`,
  `recalls`, `last_recalled_at`, `version`, `pending`, `reasons`, `replaces`, `prompt`, `model`,
  `demoted_at`, `merged_into`;
- `origin` is a list, one for each turn or statement: `thread_id`, `display_id`, `run_id`, `agent`,
  `author`, `at`, `message_ids`, `quote`;
- `remember`, `document`, `review approve`: the memory with `created`, `relations` and `refusals`;
- `recall`: `items`, each a memory with `score`, `signals` and `path`; `cursor`, `paths`,
  `degraded` with `faults` (`late`, or the error's name), `visible`, `left_out`, `took_ms`, `stages`
  (milliseconds; some run side by side), `nearly`; with `--explain` also `weights`;
- `nearly`: memories that were found and not given, each with `score`, `signals`, `cut` (`limit`,
  `tokens`, `duplicate`, `expired`, `superseded`, `not valid`, `not approved`) and `of`, the id of
  the one that says the same;
- `explore`: `items`, each a walk with `start`, `end` and `steps`; `cursor`, `capped`;
- a step: `source`, `relation`, `target`, `forward`, `scope`, `evidence`;
- `chat`: for each line that was typed one line: `answer`, `recalled` (`id`, `text`, `score`),
  `degraded`; `/memories`, `/why` and `/forget` answer as `list`, `recall` and `forget` do;
- `list`, `review list`: `items` and `cursor`, to be given to `--after`; null at the end;
- `review refusals`: `items`, each with `id`, `rule`, `reason`, `claim`, `text`, `at`, `scope`,
  `origin`; `cursor`;
- `deadletters list`: `items`, each with `id`, `scope`, `reason`, `parked_at`, `turn`, `memory_id`;
  `cursor`;
- `entities merges`: `items`, each with `id`, `source`, `target`, `at`; `cursor`;
- `show`: the memory with `history` and `relations`;
- `forget`: `forgotten`, and for an organization `impact`;
- `erase`: `subject`, `erased_at`, `clean`, `removed`, `remaining`, `log_cleared`, `pending`;
- `stats`: `scope`, `counts` (rows by place), `memories` (a list of `of`, `kind`, `status`,
  `count`), `partitions` (`count`, `largest`), `backlog` (`waiting`, `leased`, `parked`, and since
  when: `oldest`, `oldest_leased`, `oldest_parked`), `outbox` (`events`, `behind` by consumer); of
  one scope `bytes` are its own (`texts`, `index`), of the whole file all (`file`, `log`, `free`,
  `index`), with `views` (`view`, `sort`, `build`, `engine`, `behind`, `fault`, `configured`) and
  `readers` (as of `events readers`); `latencies` of this process by act (`count`, `failed`,
  `ms`: `p50`, `p95`, `max`, `buckets` by upper bound in milliseconds); with `--probe` also `probe`
  (`recalls`, `degraded`, `visible`, and `ms` by stage: `p50`, `p95`, `max`);
- `verify`: `sound`, `differences` (`view`, `scope`, `missing`, `extra`, `stale`, `mended`);
  `rebuild`: `view`, `scopes`;
- `doctor`: `sound`, `settings` (`name`, `value`, `source`), `checks` (`check`, `ok`, `detail`,
  `problem`);
- `events init`: `dry_run`, `changes` (`sort`, `name`, `act`: `create`, `update`, `keep`; `fields`);
  `events relay`: `from`, `to` (positions), `behind`; `events tail`: one line per event: `position`,
  `id`, `event`, `at`, `scope`, and the ids that it is about;
- `events readers`: `items`, each with `reader`, `state` (`at work`, `up to date`, `away`,
  `retired`), `position`, `behind`, `waiting_since`, `seen`, `retired_at`, `missed`; `cursor`;
  `events retire`: the same of the one;
- `worker`: counts by name; `reindex`: `indexed`, `left`; `import`: `turns`, `memories`, `known`,
  `skipped`, `ended`; `init`: `database`, `created`.

An error is one line on standard error; with `--json` it is
`{"error": {"type": "NotFound", "message": "…"}}`.

## Exit codes

| code | meaning |
|---|---|
| 0 | done |
"""

_MEANING = {
    "RicordoError": "something else went wrong, `doctor` found a problem, or you said no",
    "Invalid": "the input is at fault, or the command line; `import` skipped lines",
    "NotFound": "nothing of that id here, or no file",
    "Denied": "the right is lacking",
    "Conflict": "the state has moved on; or the index is of another model (`ricordo reindex`)",
    "Unavailable": "something needed is not there just now; try again",
    "Corrupt": "the file is damaged, not ours, or of another schema",
}


def settings_page() -> str:
    """docs/reference/settings.md."""
    rows = ["| setting | default | meaning |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        default = "" if field.get_default() is None else example(name)
        if field.default_factory is not None:
            default = "see meaning"
        rows.append(f"| `{name}` | {_code(default)} | {_cell(field.description or '')} |")
    return _SETTINGS + "\n".join(rows) + "\n"


def cli_page() -> str:
    """docs/reference/cli.md."""
    codes = [
        f"| {code} | {_MEANING[error.__name__]} (`{error.__name__}`) |"
        for error, code in EXIT_CODES.items()
    ]
    lines = [*codes, f"| {INTERRUPTED} | interrupted by Ctrl-C |"]
    for panel, commands in COMMANDS.items():
        lines += ["", f"## {panel}"]
        for command in commands:
            lines += _command(command, name=command.name)
    for group, (about, commands) in GROUPS.items():
        lines += ["", f"## {group}", "", about]
        for command in commands:
            lines += _command(command, name=f"{group} {command.name}")
    return _CLI + "\n".join(lines) + "\n"


def _command(command: Command, *, name: str) -> list[str]:
    parameters = _parameters(name)
    arguments = " ".join(
        p.metavar or p.name.upper() for p in parameters if p.param_type_name == "argument"
    )
    options = [p for p in parameters if p.param_type_name == "option"]
    return [
        "",
        f"### `ricordo {name}{' ' + arguments if arguments else ''}`",
        "",
        inspect.getdoc(command.body) or "",
        "",
        *(f"- {_option(option)}" for option in options if option.name != "help"),
        "",
        "```console",
        f"$ {command.example}",
        "```",
    ]


def _option(option: Any) -> str:
    names = " / ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    default = option.default
    shown = "" if default in (None, False) else f" (default: {getattr(default, 'value', default)})"
    return f"{names}: {option.help}{shown}"


def _parameters(name: str) -> list[Any]:
    return _found(name).params


def _found(name: str) -> Any:
    found: Any = typer.main.get_command(build_app(Given(opener=_never)))
    for word in name.split():
        found = found.commands[word]
    return found


def _never(_settings: Settings) -> AbstractAsyncContextManager[Any]:
    raise AssertionError("documentation opens no memory")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _code(text: str) -> str:
    return f"`{text}`" if text and text != "see meaning" else text


PAGES = {
    "settings.md": settings_page,
    "cli.md": cli_page,
    "asyncapi.yaml": asyncapi.page,
    **library_pages.PAGES,
}


def main() -> None:
    """Write them all."""
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
