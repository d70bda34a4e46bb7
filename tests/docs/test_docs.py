"""The documentation is true: links lead somewhere, programs run, commands are understood."""

import ast
import builtins
import importlib
import inspect
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import agent_framework
import pytest
import typer
from tools.library_pages import FACADES, FIELDS, methods

import ricordo
from ricordo import errors, events
from ricordo.hosts import maf
from ricordo.hosts.cli.app import build_app
from ricordo.hosts.cli.given import Given
from tests.support.fake_model import FakeModel

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
GUIDES = [
    ROOT / "README.md",
    ROOT / "docs" / "quickstart.md",
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
    REFERENCE / "library.md",
    REFERENCE / "events.md",
]
GIVEN = {
    "alice",
    "agent",
    "agents",
    "client",
    "history",
    "memory",
    "mine",
    "principal_from",
    "session",
    "stored",
    "token",
}
"""Names that a block of a page may take from the sentences before it."""
OURS: dict[str, Any] = {
    **{name: getattr(agent_framework, name) for name in ("Agent", "AgentSession")},
    **{name: getattr(maf, name) for name in maf.__all__},
    **{name: getattr(ricordo, name) for name in ricordo.__all__},
}
"""Public names that a later block of a page need not import again."""


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of one language."""
    found = re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    return [block for block in found if block.strip()]


def _named(pages: list[Path], language: str) -> list[Any]:
    return [
        pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
        for page in pages
        for number, block in enumerate(blocks(page, language), start=1)
    ]


PROGRAMS = [p for p in _named(GUIDES, "python") if "asyncio.run(" in p.values[0]]
SNIPPETS = [p for p in _named(GUIDES, "python") if "asyncio.run(" not in p.values[0]]


def _environment(home: Path, **more: str) -> dict[str, str]:
    kept = ("PATH", "SYSTEMROOT", "TMPDIR", "VIRTUAL_ENV")
    found = {name: os.environ[name] for name in kept if name in os.environ}
    beside = str(Path(sys.executable).parent)
    return found | {"PATH": f"{beside}:{found.get('PATH', '')}", "HOME": str(home), **more}


def run(*command: str, folder: Path, **more: str) -> str:
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        check=False,
        env=_environment(folder, **more),
    )
    assert ended.returncode == 0, f"{command}: {ended.stderr}"
    return ended.stdout


# ── Links ───────────────────────────────────────────────────────────────────────────────────


def _anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in _anchors(found), f"{page.name} links to {target}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    def linked(page: Path) -> set[Path]:
        found = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8"))
        return {(page.parent / t).resolve() for t in found if not re.match(r"[a-z]+:", t)}

    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        waiting += [p for target in linked(page) for p in _pages_of(target)]
    assert set(PAGES) <= seen, set(PAGES) - seen


def _pages_of(target: Path) -> Iterator[Path]:
    yield from sorted(target.glob("*.md")) if target.is_dir() else [target]


def test_every_promise_names_tests_that_are_there() -> None:
    """A promise whose tests were moved would be a promise that nobody keeps."""
    rows = re.findall(
        r"^\| (\d+) \|.*\| (.*) \|$",
        (ROOT / "docs" / "explanation" / "promises.md").read_text("utf-8"),
        re.MULTILINE,
    )
    assert [int(number) for number, _ in rows] == list(range(1, 15))
    for number, named in rows:
        paths = re.findall(r"`([^`]+)`", named)
        assert paths, number
        for path in paths:
            assert (ROOT / path).exists(), f"promise {number}: {path}"


# ── The README ──────────────────────────────────────────────────────────────────────────────


def test_forty_lines_of_the_readme_are_enough_to_know_and_to_try() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    top = "\n".join(readme.splitlines()[:40])
    assert top.startswith("# Ricordo\n\nMemory for teams of AI agents")
    assert top.count("\n|") == 4
    program = blocks(ROOT / "README.md", "python")[0]
    assert program in top
    assert "make demo" in readme
    assert "make test" in readme
    assert "Licence: Apache-2.0" in readme


# ── Programs ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_whole_program_runs_offline_as_it_is(program: str, tmp_path: Path) -> None:
    """Where the machine was too busy for the deadline of a recall, it is run once more."""
    script = tmp_path / "program.py"
    script.write_text(program, encoding="utf-8")
    printed = ""
    for _ in range(3):
        printed = printed or run(sys.executable, script.name, folder=tmp_path).strip("[]\n")
    assert "Falcon" in printed or "concise" in printed


def test_the_readme_s_agent_runs_with_an_endpoint(tmp_path: Path) -> None:
    [block] = [b for b in blocks(ROOT / "README.md", "python") if "RicordoProvider" in b]
    with FakeModel() as model:
        block = block.replace("http://localhost:11434/v1", model.base_url)
        body = "".join(f"    {line}\n" for line in block.splitlines())
        script = tmp_path / "program.py"
        script.write_text(f"import asyncio\nasync def main():\n{body}asyncio.run(main())\n")
        assert run(sys.executable, script.name, folder=tmp_path) == "Fine.\n"
        assert "I like short examples" in model.requests[0].last_user_text


def test_the_readme_s_commands_find_what_its_program_stored(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(blocks(ROOT / "README.md", "python")[0], encoding="utf-8")
    run(sys.executable, "program.py", folder=tmp_path)
    [shell] = [b for b in blocks(ROOT / "README.md", "sh") if "ricordo recall" in b]
    told, *lines = shell.splitlines()
    settings = dict(each.split("=") for each in told.removeprefix("export ").split())
    [recall] = [shlex.split(line) for line in lines if line.startswith("ricordo recall")]
    found = run(sys.executable, "-m", *recall, folder=tmp_path, **settings)
    assert "Prefers concise examples" in found


@pytest.mark.parametrize("block", SNIPPETS)
def test_a_piece_of_a_program_uses_what_there_is(block: str) -> None:
    """It compiles, its imports exist, its names are known, and calls name real parameters."""
    tree = compile(block, "block", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)
    assert isinstance(tree, ast.Module)
    known = _imported(tree)
    assigned = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and _stored(n)}
    for name in (n for n in ast.walk(tree) if isinstance(n, ast.Name)):
        there = {*known, *assigned, *GIVEN, *vars(builtins), *OURS}
        assert name.id in there, f"where does {name.id} come from?"
    for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call)):
        _check_call(call, {**OURS, **known})


def _stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _imported(tree: ast.Module) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(str(node.module))
            found |= {a.asname or a.name: getattr(module, a.name) for a in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.asname or a.name: importlib.import_module(a.name) for a in node.names}
    return found


def _check_call(call: ast.Call, known: dict[str, Any]) -> None:
    """Bind the arguments: of an imported name, or of a method that our classes have."""
    positional: list[Any] = list(call.args)
    match call.func:
        case ast.Name(id=name) if name in known:
            called = known[name]
        case ast.Attribute(value=ast.Name(id="agent")):
            return  # the framework's own; its contract has tests of its own
        case ast.Attribute(attr=name) if _methods(name):
            called = _methods(name)[0]
            positional = [None, *positional]
        case _:
            return
    if any(keyword.arg is None for keyword in call.keywords):
        return
    inspect.signature(called).bind(*positional, **{str(k.arg): k.value for k in call.keywords})


def _methods(name: str) -> list[Any]:
    """The method of that name, where only one of our classes has it."""
    found = [dict(methods(facade)).get(name) for facade in FACADES]
    callables = [method for method in found if callable(method)]
    return callables if len(callables) == 1 else []


# ── Commands ────────────────────────────────────────────────────────────────────────────────


def _never(_settings: Any) -> Any:
    raise AssertionError("documentation opens no memory")


def commands(block: str) -> list[list[str]]:
    """The `ricordo` commands of a shell block, split as a shell would."""
    found: list[list[str]] = []
    for line in block.replace("\\\n", " ").splitlines():
        words = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars=True)
        words.whitespace_split = True
        parts: list[list[str]] = [[]]
        for word in words:
            if set(word) <= set("|&;"):
                parts.append([])
            else:
                parts[-1].append(word)
        found += [part for part in parts if part[:1] == ["ricordo"]]
    return found


LINES = [
    pytest.param(words, id=f"{page.relative_to(ROOT)}: {' '.join(words)}"[:90])
    for page in PAGES
    for language in ("sh", "console")
    for block in blocks(page, language)
    for words in commands(block)
]


@pytest.mark.parametrize("words", LINES)
def test_every_documented_command_is_understood(words: list[str]) -> None:
    found: Any = typer.main.get_command(build_app(Given(opener=_never)))
    rest = words[1:]
    while hasattr(found, "commands"):
        assert rest, words
        assert rest[0] in found.commands, words
        found, rest = found.commands[rest[0]], rest[1:]
    found.make_context(" ".join(words), rest).close()


def test_the_quickstart_can_be_followed(tmp_path: Path) -> None:
    """Every line of its shell, in order, in an empty home."""
    [first, second, third, *_] = blocks(ROOT / "docs" / "quickstart.md", "sh")
    for words in commands(first):
        printed = run(*words, folder=tmp_path)
    assert "Project Falcon uses microservices" in printed
    assert "by way of user –works_on→ Project Falcon" in printed
    [[*words]] = commands(second)
    printed = run(*words, folder=tmp_path)
    assert "Works on Project Falcon" in printed
    assert "concise" not in printed
    listed, *others = commands(third)
    known = run(*listed, folder=tmp_path)
    memory_id = next(line.split()[0] for line in known.splitlines() if "concise" in line)
    printed = [run(*(w.replace("m_…", memory_id) for w in o), folder=tmp_path) for o in others]
    assert "Forgotten: 1" in "".join(printed)
    assert "nothing remains" in printed[-1]


def test_the_vocabulary_of_the_how_to_does_what_the_page_says(tmp_path: Path) -> None:
    page = ROOT / "docs" / "how-to" / "write-a-vocabulary.md"
    [own] = blocks(page, "toml")
    assert tomllib.loads(own)["mode"] == "strict"
    (tmp_path / "sea.toml").write_text(own, encoding="utf-8")
    more = {"RICORDO_VOCABULARY": "sea.toml", "RICORDO_DATABASE": str(tmp_path / "sea.db")}
    _, third, fourth = (commands(block) for block in blocks(page, "sh"))
    *_, explored = [run(*words, folder=tmp_path, **more) for words in third]
    assert "Brindisi" in explored
    assert "Genoa" not in explored
    [refusals] = [run(*words, folder=tmp_path, **more) for words in fourth]
    assert "c-vocabulary" in refusals


# ── The reference is complete ───────────────────────────────────────────────────────────────


def _page(name: str) -> str:
    return (REFERENCE / name).read_text("utf-8")


def test_every_event_is_described_with_every_field() -> None:
    declared = {
        cls
        for cls in vars(events).values()
        if inspect.isclass(cls) and issubclass(cls, events.Event)
    }
    assert set(events.ALL) == declared - {
        events.Event, events.UserEvent, events.OrganizationEvent
    }  # fmt: skip
    page = _page("events.md")
    for event in events.ALL:
        [section] = re.findall(
            rf"^### `{event.__name__}`\n(.*?)(?=^#|\Z)", page, re.DOTALL | re.MULTILINE
        )
        for field in fields(event):
            common = field.name in {f.name for f in fields(events.Event)}
            assert common or f"- `{field.name}`: {FIELDS[field.name]}" in section


def test_every_error_is_described_with_its_exit_code() -> None:
    page = _page("errors.md")
    for name, cls in vars(errors).items():
        if inspect.isclass(cls):
            assert re.search(rf"^\| `{name}` \|.*\| \d \|$", page, re.MULTILINE), name


def test_every_public_method_and_name_is_listed() -> None:
    """And what an opened memory has besides: its queue and its events."""
    page = _page("library.md")
    assert "`memory.intake.drain(" in page
    assert "`memory.events.subscribe(" in page
    for facade in FACADES:
        [section] = re.findall(
            rf"^## `{facade.__name__}`\n(.*?)(?=^## )", page, re.DOTALL | re.MULTILINE
        )
        names = [name for name in dir(facade) if not name.startswith("_")]
        assert names
        for name in names:
            [line] = re.findall(rf"^- `{name}(?:\(.*?\))?`: (.*)$", section, re.MULTILINE)
            assert len(line) > 10
    for name in ricordo.__all__:
        assert f"`{name}" in page, name
