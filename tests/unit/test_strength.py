"""How strongly a memory is held, and what is demoted."""

from datetime import timedelta

import pytest

from ricordo.memory.consolidation.strength import is_firm_again, is_weak, strength
from ricordo.model import EntityClaim, Memory, RelationClaim, Status
from ricordo.testing.ledger.making import START, memory

SURE = memory()
UNSURE = memory(confidence=0.6)


def after(days: float):
    return START + timedelta(days=days)


def test_strength_is_the_mean_of_recency_importance_and_confidence() -> None:
    assert strength(SURE, at=START) == pytest.approx((1 + 0.5 + 1) / 3)
    assert strength(SURE, at=after(90)) == pytest.approx((0.5 + 0.5 + 1) / 3)
    assert strength(UNSURE, at=after(180)) == pytest.approx((0.25 + 0.5 + 0.6) / 3)


def test_what_is_used_often_fades_slowly() -> None:
    used = memory(recalls=10, last_recalled_at=START)
    for days in (10, 100, 1_000):
        assert strength(used, at=after(days)) > strength(SURE, at=after(days))


@pytest.mark.parametrize(
    ("held", "days", "weak"),
    [
        (SURE, 200, False),
        (SURE, 300, True),
        (UNSURE, 60, False),
        (UNSURE, 100, True),
        (memory(confidence=0.0, importance=0.0), 29, False),
        (memory(confidence=0.0, importance=0.0), 31, True),
        (memory(importance=0.9), 10_000, False),
        (memory(pinned=True, confidence=0.0, importance=0.0), 10_000, False),
        (memory(last_recalled_at=after(280), recalls=1), 300, False),
        (memory(status=Status.PROPOSED), 10_000, False),
        (memory(demoted_at=after(250)), 300, False),
    ],
)
def test_what_is_demoted(held: Memory, days: float, weak: bool) -> None:
    """Stale, unused, not important, not sure; pinned never, and nothing of the last month."""
    assert is_weak(held, at=after(days)) is weak


def test_what_waits_for_a_person_is_left_alone() -> None:
    claim = RelationClaim(
        source=EntityClaim(name="a"), relation="uses", target=EntityClaim(name="b")
    )
    assert not is_weak(memory(pending=(claim,)), at=after(10_000))


def test_use_promotes_again() -> None:
    demoted = memory(demoted_at=after(300), last_recalled_at=after(400), recalls=1)
    assert is_firm_again(demoted, at=after(401))
    assert not is_firm_again(memory(demoted_at=after(300)), at=after(401))
    assert is_firm_again(memory(demoted_at=after(300), pinned=True), at=after(401))
    assert not is_firm_again(SURE, at=START)
