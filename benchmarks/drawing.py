"""How charts look: one colour a system, quiet axes, every bar with its value."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

OURS = "ricordo"
COLOURS = {
    OURS: "#0b7a75",
    "meaning alone": "#7d8ca3",
    "words alone (BM25)": "#c9a227",
    "mem0": "#d1495b",
    "mem0 (qdrant)": "#d1495b",
    "mem0 on qdrant": "#d1495b",
    "mem0 on faiss": "#e58f9a",
    "framework file memory": "#6a4c93",
    "no memory": "#b8bec8",
    "floor": "#b8bec8",
    "nats-py alone": "#b8bec8",
    "in a file": "#0b7a75",
    "on PostgreSQL": "#33658a",
}
SPARE = "#555555"


def colour(system: str, *, other: str = SPARE) -> str:
    """Of a system; the other one, usually grey, for one that has none."""
    return COLOURS.get(system, other)


def panels(count: int, *, height: float, width: float = 0.0, share: bool = False) -> Any:
    """A figure of so many panels in a row, and the panels."""
    figure, axes = plt.subplots(
        1, count, figsize=(width or max(2.5 * count, 9.0), height), sharey=share, squeeze=False
    )
    for axis in axes[0]:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", color="#e6e8ec", linewidth=0.8)
        axis.set_axisbelow(True)
        axis.tick_params(labelsize=8)
    return figure, list(axes[0])


def bars(axis: Any, rows: Mapping[str, Sequence[float]], ticks: Sequence[str], form: str) -> None:
    """Groups of standing bars, one colour a system, each with its value."""
    width = 0.8 / len(rows)
    for place, (name, values) in enumerate(rows.items()):
        at = [group + (place - (len(rows) - 1) / 2) * width for group in range(len(values))]
        tint = colour(name) if name in COLOURS else colour("floor")
        drawn = axis.bar(at, values, width * 0.92, color=tint, label=name)
        axis.bar_label(drawn, [form.format(value) for value in values], fontsize=7, padding=1)
    axis.set_xticks(range(len(ticks)), ticks)


def lying(
    axis: Any, values: Mapping[str, float], labels: Mapping[str, str], *, other: str = SPARE
) -> None:
    """Lying bars, the first on top, each with a label; of another colour where a name has none."""
    names = list(values)[::-1]
    tints = [colour(name, other=other) for name in names]
    drawn = axis.barh(names, [values[n] for n in names], color=tints)
    axis.bar_label(drawn, [labels[n] for n in names], fontsize=8, padding=3)
    axis.grid(visible=False)


def legend(figure: Any, axes: Sequence[Any]) -> Any:
    """The figure with one legend below all panels, ours first."""
    found: dict[str, Any] = {}
    for axis in axes:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    names = sorted(found, key=lambda name: list(COLOURS).index(name))
    handles = [found[name] for name in names]
    figure.legend(handles, names, loc="lower center", ncol=len(names), frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    return figure


def tight(figure: Any) -> Any:
    """The figure without needless margins."""
    figure.tight_layout()
    return figure
