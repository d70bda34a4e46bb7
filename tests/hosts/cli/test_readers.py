"""`ricordo events readers` and `retire`: who holds up that old events go, and how that ends."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ricordo.adapters.sqlite import SqliteLedger
from ricordo.events import UserMemoryStored
from ricordo.model import UserScope
from tests.hosts.cli.conftest import Cli

ALICE = UserScope(tenant="local", user="alice")
LONG_AGO = datetime.now(UTC) - timedelta(days=100)


@pytest.fixture
def left(tmp_path: Path, cli: Cli) -> None:
    """A memory that a subscriber left long ago, while another one goes on."""
    assert cli("init").code == 0

    async def leave() -> None:
        async with SqliteLedger.open(tmp_path / "memory.db", clock=lambda: LONG_AGO) as ledger:
            await ledger.acknowledge("mailer", 0)
            event = UserMemoryStored(
                id="e_1", at=LONG_AGO, scope=ALICE, memory_id="m_1", kind="fact"
            )
            await ledger.write(lambda tx: tx.emit(event), scope=ALICE)
        async with SqliteLedger.open(
            tmp_path / "memory.db", clock=lambda: datetime.now(UTC)
        ) as ledger:
            await ledger.acknowledge("billing", await ledger.latest())

    asyncio.run(leave())


@pytest.mark.usefixtures("left")
def test_who_reads_is_shown_with_how_far_behind_and_since_when(cli: Cli) -> None:
    billing, mailer = cli("events", "readers", "--json").json["items"]
    assert (billing["reader"], billing["state"], billing["behind"]) == ("billing", "at work", 0)
    assert (mailer["reader"], mailer["state"], mailer["behind"]) == ("mailer", "away", 1)
    day = f"{LONG_AGO:%Y-%m-%d}"
    assert mailer["waiting_since"].startswith(day)
    assert mailer["seen"].startswith(day)
    assert cli("stats", "--everything", "--json").json["readers"] == [billing, mailer]
    for words in (("events", "readers"), ("stats", "--everything")):
        assert [line.split("\t")[0] for line in cli(*words).out.splitlines() if day in line] == [
            "mailer"
        ]


@pytest.mark.usefixtures("left")
def test_the_doctor_finds_who_holds_up_that_old_events_go(cli: Cli) -> None:
    def problems() -> list[str]:
        checks = cli("doctor", "--json").json["checks"]
        return [c["problem"] for c in checks if c["check"].startswith("reader") and c["problem"]]

    [problem] = problems()
    assert "ricordo events retire mailer" in problem
    assert cli("events", "retire", "mailer", "--yes").code == 0
    assert problems() == []


@pytest.mark.usefixtures("left")
def test_a_reader_that_is_gone_is_retired_after_a_question(cli: Cli) -> None:
    asked = cli("events", "retire", "mailer", "--json")
    assert asked.error["type"] == "Invalid"
    assert "--yes" in asked.error["message"]
    retired = cli("events", "retire", "mailer", "--yes", "--json").json
    assert (retired["reader"], retired["state"], retired["missed"]) == ("mailer", "retired", 0)
    assert "Retired: mailer" in cli("events", "retire", "mailer", "--yes").out
    assert cli("stats", "--everything", "--json").json["outbox"]["behind"] == {"billing": 0}


@pytest.mark.usefixtures("left")
def test_a_reader_at_work_and_one_that_never_was_are_refused(cli: Cli) -> None:
    assert cli("events", "retire", "billing", "--yes", "--json").error["type"] == "Conflict"
    assert cli("events", "retire", "nobody", "--yes", "--json").error["type"] == "NotFound"


@pytest.mark.usefixtures("left")
def test_readers_are_for_the_operator(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_GRANTS", '{"": "reader"}')
    for words in (["readers"], ["retire", "mailer", "--yes"]):
        assert cli("events", *words, "--json").error["type"] == "Denied"


def test_a_memory_that_nobody_reads_says_so(cli: Cli) -> None:
    assert cli("init").code == 0
    assert cli("events", "readers", "--json").json == {"items": [], "cursor": None}
    assert "nobody reads" in cli("events", "readers").err
