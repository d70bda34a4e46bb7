"""Where a build lies: told beside what it was made of, so that no other engine is taken for it."""

from ricordo.ports import ViewBuild

_IN = " @ "


def made_in(made_of: str, *, place: str) -> str:
    """What a build is enrolled with: what its entries are made of, and in which engine they lie."""
    return f"{made_of}{_IN}{place.replace(_IN, ' at ')}"


def place_of(build: ViewBuild) -> str:
    """The engine in which a build lies; empty for one enrolled before that was noted."""
    return build.made_of.rpartition(_IN)[2] if _IN in build.made_of else ""


def content_of(build: ViewBuild) -> str:
    """What a build's entries were made of."""
    return build.made_of.rpartition(_IN)[0] or build.made_of


def lies_in(build: ViewBuild, *, place: str) -> bool:
    """Whether a build lies in that engine; one of which nothing was noted is taken to."""
    return place_of(build) in {"", place.replace(_IN, " at ")}
