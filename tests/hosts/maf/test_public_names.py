"""The public face of the host: sorted, complete, and each name says what it promises."""

import inspect
from types import ModuleType

from ricordo.hosts import maf


def test_all_names_everything_public_and_nothing_else() -> None:
    public = {
        name
        for name, value in vars(maf).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert sorted(public) == list(maf.__all__)


def test_every_public_name_has_a_docstring() -> None:
    assert all(inspect.getdoc(getattr(maf, name)) for name in maf.__all__)
