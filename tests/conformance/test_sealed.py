"""A backend cannot bend the suite that it has to pass."""

import pytest

from ricordo.testing.graph import GraphIndexSuite
from ricordo.testing.index import VectorIndexSuite
from ricordo.testing.ledger import LedgerSuite

SUITES = [GraphIndexSuite, LedgerSuite, VectorIndexSuite]


def _tests(suite: type) -> list[str]:
    return [name for name in dir(suite) if name.startswith("test")]


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_cannot_be_bent(suite: type) -> None:
    """Neither by replacing a test, nor by hiding it behind another base class."""
    name = _tests(suite)[0]
    with pytest.raises(TypeError, match=f"may not define {name}: the suite is sealed"):
        type("Bent", (suite,), {name: None})
    mixin = type("Mixin", (), {name: lambda self: None})
    with pytest.raises(TypeError, match="sealed"):
        type("Hidden", (mixin, suite), {})
    joined = type("Joined", (suite,), {"fixture": lambda self: None})
    assert _tests(joined) == _tests(suite)
