"""Which adapter ran on which server: told by fixtures, collected into docs/engines.md."""

import pytest


def runs_on(request: pytest.FixtureRequest, *, port: str, adapter: str, server: str) -> None:
    """Note for the matrix what this test runs on; `tools.engines` reads it."""
    request.node.user_properties += [("port", port), ("adapter", adapter), ("server", server)]
