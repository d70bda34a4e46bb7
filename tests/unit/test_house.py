"""The house itself: its public names, its error tree, and what its core may import."""

import ast
import importlib
import pkgutil
import sys
from pathlib import Path

import pytest

import ricordo
from ricordo import errors, events, model, ports

SOURCE = Path(ricordo.__file__).parent
CORE = ("errors.py", "events.py", "access.py", "model", "ports", "columns", "wire", "memory")


def test_public_names_are_sorted_and_all_there() -> None:
    assert ricordo.__all__ == sorted(ricordo.__all__)
    assert dir(ricordo) == ricordo.__all__
    for name in ricordo.__all__:
        assert getattr(ricordo, name).__name__ == name


@pytest.mark.parametrize("package", [model, ports])
def test_a_package_exports_what_it_lists(package) -> None:
    assert package.__all__ == sorted(
        package.__all__, key=lambda n: (not n.isupper(), not n[0].isupper(), n)
    )
    for name in package.__all__:
        assert hasattr(package, name)


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Memry'"):
        ricordo.Memry  # noqa: B018


def test_the_core_imports_the_standard_library_and_itself_only() -> None:
    """Promise 13 in part: nothing of a vendor can act when the core is imported."""
    allowed = {*sys.stdlib_module_names, "ricordo"}
    files = [
        f
        for name in CORE
        for f in sorted(
            (SOURCE / name).rglob("*.py") if not name.endswith(".py") else [SOURCE / name]
        )
    ]
    assert len(files) > 20
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                assert name.split(".")[0] in allowed, f"{file.name} imports {name}"


def all_errors(root: type[Exception] = errors.RicordoError) -> list[type[Exception]]:
    return [root, *(found for child in root.__subclasses__() for found in all_errors(child))]


def test_every_error_is_drawn_in_the_tree() -> None:
    drawn = (errors.__doc__ or "").split("Messages name")[0]
    for error in all_errors():
        assert error.__name__ in drawn, (
            f"{error.__name__} is not in the tree at the top of errors.py"
        )


def test_every_event_class_is_listed() -> None:
    kinds = {
        kind
        for kind in vars(events).values()
        if isinstance(kind, type) and issubclass(kind, events.Event)
    }
    abstract = {events.Event, events.UserEvent, events.OrganizationEvent}
    assert set(events.ALL) == kinds - abstract
    assert [k.__name__ for k in events.ALL] == sorted(k.__name__ for k in events.ALL)


def test_user_and_organization_events_are_distinct_types() -> None:
    for kind in events.ALL:
        assert not (
            issubclass(kind, events.UserEvent) and issubclass(kind, events.OrganizationEvent)
        )


def test_no_event_can_carry_a_text() -> None:
    """Events carry ids and origins, never memory text."""
    for kind in events.ALL:
        assert not {"text", "quote", "texts", "name"} & set(kind.__dataclass_fields__)


def test_every_module_can_be_imported_and_says_what_it_is() -> None:
    for module in pkgutil.walk_packages([str(SOURCE)], prefix="ricordo."):
        loaded = importlib.import_module(module.name)
        if not Path(loaded.__file__ or "").read_text().strip():
            continue
        assert loaded.__doc__, f"{module.name} has no docstring"
