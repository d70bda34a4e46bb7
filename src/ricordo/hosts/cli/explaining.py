"""Shows a recollection, and why it is what it is."""

from ricordo.hosts.cli.here import Here
from ricordo.memory.ranking import weights
from ricordo.model import Cut, Missed, OrganizationScope, Path, Recalled, Recollection

NEARLY = 5
"""Memories that nearly made it, shown with an explanation."""

_CUTS = {
    Cut.LIMIT: "others scored higher; a larger --limit would show it",
    Cut.TOKENS: "it does not fit the token budget; see --tokens",
    Cut.DUPLICATE: "it says the same as {of}",
    Cut.EXPIRED: "it has expired, and is not pinned",
    Cut.SUPERSEDED: "something newer took its place",
    Cut.NOT_VALID: "it was not true at the time in question",
    Cut.NOT_APPROVED: "nobody has approved it",
}
_SHOWN = 160


def show_recollection(here: Here, found: Recollection, *, explain: bool) -> None:
    """Print what was found, best first; with `explain`, why, and what nearly made it."""
    for item in found.items:
        here.screen.line(f"{item.score:.3f}  {item.memory.text}")
        if explain:
            for line in _reasons(item):
                here.screen.line(f"       {line}", style="dim")
    if explain:
        for line in _account(found):
            here.screen.line(line, style="dim")
    if not found.items:
        here.screen.remark("nothing found")
    if found.degraded:
        missing = ", ".join(
            f"{arm} ({found.faults[arm]})" if arm in found.faults else arm for arm in found.degraded
        )
        here.screen.remark(f"incomplete, missing: {missing}; a longer --deadline may help")


def _reasons(item: Recalled) -> list[str]:
    memory = item.memory
    agent = f", learned by {memory.agent}" if memory.agent else ""
    lines = [
        f"{memory.id}  {memory.kind.value} of {memory.scope}{agent}",
        f"because {_signals(item.signals) or 'of nothing but that there is room'}",
    ]
    for origin in memory.origins:
        where = "/".join(p for p in (origin.thread_id, origin.run_id) if p) or "said outright"
        who = origin.agent or origin.author or "?"
        lines.append(f"from {where} by {who} at {origin.at:%Y-%m-%d %H:%M}")
    if item.path:
        lines.append(f"by way of {path_text(item.path)}")
    return lines


def _signals(signals: dict[str, float]) -> str:
    """Each signal's part of the score; of those with one weight also how strong it was."""
    known = weights()
    parts: list[str] = []
    for name, value in sorted(signals.items(), key=lambda pair: -abs(pair[1])):
        weight = known.get(name)
        how = "" if not weight else f" ({value / weight:.2f} × {weight:g})"
        parts.append(f"{name} {value:+.3f}{how}")
    return ", ".join(parts)


def _account(found: Recollection) -> list[str]:
    """The walks, what nearly made it, and where the time went."""
    lines = [f"walk   {path_text(path)}" for path in found.paths]
    for missed in found.nearly:
        lines += _missed(missed)
    lines.append(
        f"{len(found.items)} of {found.visible} visible memories, {found.left_out} left out, "
        f"{found.took_ms:.1f} ms"
    )
    if found.stages:
        lines.append("ms     " + ", ".join(f"{n} {ms:.1f}" for n, ms in found.stages.items()))
    return lines


def _missed(missed: Missed) -> list[str]:
    text = missed.memory.text
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
    why = _CUTS[missed.cut].format(of=missed.of)
    return [
        f"nearly {missed.score:.3f}  {shown}",
        f"       {missed.memory.id}  not given: {why}",
        f"       {_signals(missed.signals)}",
    ]


def path_text(path: Path) -> str:
    """A walk in one line; steps in the organization's graph are marked."""
    text = path.start
    for step in path.steps:
        shared = "°" if isinstance(step.scope, OrganizationScope) else ""
        if step.forward:
            text += f" –{step.type}{shared}→ {step.target}"
        else:
            text += f" ←{step.type}{shared}– {step.source}"
    return text
