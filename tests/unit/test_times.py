"""Times and pauses that no machine can reckon with are refused, or never come about."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from ricordo.columns.times import micros, moment
from ricordo.errors import Corrupt, Invalid, Unreadable
from ricordo.model import Kind, Memory, Origin, Turn, UserScope, check_time, pause_after
from ricordo.model.times import FIRST, LAST
from ricordo.wire import read_sign, time_read

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ABSURD = (
    datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
    datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-1))),
    FIRST - timedelta(microseconds=1),
    LAST + timedelta(microseconds=1),
)


@pytest.mark.parametrize("at", ABSURD)
def test_a_time_that_cannot_be_told_in_utc_is_refused(at: datetime) -> None:
    """Such a turn, once queued, could be read by no worker, and hid everybody else's."""
    with pytest.raises(Invalid, match="years 2 to 9998"):
        Turn(thread_id="t", run_id="r", agent="a", at=at, said=())
    with pytest.raises(Invalid, match="years 2 to 9998"):
        Origin(at=at)
    with pytest.raises(Unreadable, match="at lies outside"):
        time_read(at.isoformat(), what="at")


@pytest.mark.parametrize("field", ["recorded_at", "updated_at", "valid_from", "expires_at"])
@pytest.mark.parametrize("at", ABSURD)
def test_a_memory_has_no_such_time_either(at: datetime, field: str) -> None:
    scope = UserScope(tenant="acme", user="alice")
    times = {"recorded_at": NOW, "updated_at": NOW, field: at}
    with pytest.raises(Invalid, match=f"{field} lies outside"):
        Memory(id="m_1", scope=scope, kind=Kind.FACT, text="Likes tea", **times)


@pytest.mark.parametrize("at", [FIRST, NOW, LAST])
def test_what_is_accepted_is_read_back_from_a_column(at: datetime) -> None:
    for hours in (-23, 0, 23):
        there = check_time(at.astimezone(timezone(timedelta(hours=hours))), what="at")
        assert moment(micros(there)) == at
    with pytest.raises(Invalid, match="no time zone"):
        check_time(at.replace(tzinfo=None), what="at")


def test_a_column_that_holds_no_time_is_told_as_such() -> None:
    with pytest.raises(Corrupt, match="years 1 to 9999"):
        moment(2**62)


@pytest.mark.parametrize("due", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"])
def test_a_sign_that_is_due_at_no_time_is_refused(due: str) -> None:
    sign = f'{{"version": 1, "id": "{"0" * 32}", "due": "{due}", "seal": "x"}}'
    with pytest.raises(Unreadable, match="due lies outside"):
        read_sign(sign.encode())


def test_a_pause_grows_to_its_longest_however_many_tries_failed() -> None:
    """After 1,024 the power of two was a number too large, and what waited ended."""
    pauses = [pause_after(failures, first=0.1, worst=5.0) for failures in range(1, 1_100)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (0.2, 5.0)
    assert pause_after(10**9, first=0.25, worst=30.0) == 30.0
