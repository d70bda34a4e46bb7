"""What is published for programs that know nothing of Ricordo's code."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

PUBLISHED = Path(__file__).parents[2] / "docs" / "reference" / "asyncapi.yaml"


@cache
def published() -> dict[str, Any]:
    return yaml.load(
        PUBLISHED.read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    )


def validator(name: str) -> Draft202012Validator:
    """Checks messages against the published schema of that name."""
    return Draft202012Validator(
        {"$ref": f"#/components/schemas/{name}", "components": published()["components"]}
    )
