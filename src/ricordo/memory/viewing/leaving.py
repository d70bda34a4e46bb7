"""Giving up a view, or a build in an engine that is not set any more: it is waited for no more."""

from dataclasses import dataclass

from ricordo.errors import Conflict, NotFound
from ricordo.memory.services import Services
from ricordo.memory.viewing.places import place_of
from ricordo.ports import Ledger, ViewBuild


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """What a build that was given up leaves in its engine, to be deleted there by hand.

    Args:
        place: which engine; empty for a build of before that was noted.
        names: of vectors the collection; of a graph the labels of nodes and the type of relations.
    """

    view: str
    build: int
    sort: str
    place: str
    names: tuple[str, ...]


async def to_give_up(services: Services, name: str) -> list[LeftBehind]:
    """What giving up a view would leave behind: of one that is configured only the builds that lie
    in other engines than the settings name.

    Raises:
        NotFound: no build of such a view is known.
        Conflict: the settings name the view, and every build of it lies there.
    """
    return [await _left(services.ledger, build) for build in await _builds(services, name)]


async def give_up(services: Services, name: str) -> list[LeftBehind]:
    """Forget a view's builds, their marks and their places in the outbox; what they leave behind.

    Nothing is removed from an engine: receipts name it no more, so that is the operator's to do.

    Raises:
        NotFound, Conflict: as `to_give_up`. Conflict: somebody feeds one of them just now.
    """
    builds = await _builds(services, name)
    at = services.clock()
    fed = {
        reader.name
        for reader in await services.ledger.readers()
        if reader.held_until is not None and reader.held_until > at
    }
    for build in builds:
        if build.consumer in fed:
            raise Conflict(
                f"build {build.build} of view {name} is fed by another process just now; take the "
                "view out of that one's settings first"
            )
    left = [await _left(services.ledger, build) for build in builds]
    for build in builds:
        await services.ledger.dismiss(build)
    return left


async def _builds(services: Services, name: str) -> list[ViewBuild]:
    known = [build for build in await services.ledger.builds() if build.view == name]
    if not known:
        raise NotFound(f"there is no build of a view {name[:40]!a}")
    configured = {outside.name: outside for outside in services.views}
    if name not in configured:
        return known
    away = [build for build in known if not configured[name].holds(build)]
    if not away:
        raise Conflict(
            f"the settings name the view {name}, so it would come back; take vector_view or "
            "graph_view_url out of them first"
        )
    return away


async def _left(ledger: Ledger, build: ViewBuild) -> LeftBehind:
    suffix = f"{await mark_of(ledger)}_{build.build}"
    names = (f"ricordo_{suffix}",)
    if build.sort == "graph":
        names = (f"RicordoEntity_{suffix}", f"RicordoName_{suffix}", f"RICORDO_{suffix}")
    return LeftBehind(
        view=build.view, build=build.build, sort=build.sort, place=place_of(build), names=names
    )


async def mark_of(ledger: Ledger) -> str:
    """What tells a ledger's collections and labels from another's in one engine."""
    [sealed] = await ledger.seal(["views"])
    return sealed[:10]
