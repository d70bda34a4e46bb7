"""Events of the two scopes are distinct classes that say the same of what can happen to both."""

from dataclasses import fields

import pytest

from ricordo.memory import announcing

TWINS = [twins for twins in vars(announcing).values() if isinstance(twins, announcing._Twins)]


@pytest.mark.parametrize("twins", TWINS, ids=lambda twins: twins.user.__name__)
def test_twins_have_the_same_fields(twins: announcing._Twins) -> None:
    """What makes either of them fills both."""
    told = [
        {field.name: field.type for field in fields(kind) if field.name != "scope"}
        for kind in (twins.user, twins.organization)
    ]
    assert told[0] == told[1]
    assert twins.user is not twins.organization
