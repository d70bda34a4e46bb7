"""Draws what the benchmarks wrote: docs/benchmarks/results/*.json become docs/benchmarks/*.png.

    python -m benchmarks.plots [--results DIR] [--out DIR]

Any number of files of one benchmark are taken together; of the same figure the latest counts. A
chart without figures is left out. Needs matplotlib (`pip install --group bench`).
"""

import argparse
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt

from benchmarks.drawing import OURS, bars, colour, legend, lying, panels, tight

DOCS = Path(__file__).parent.parent / "docs" / "benchmarks"

QUALITY = (
    ("LoCoMo", "LoCoMo, raw turns"),
    ("LoCoMo alone", "LoCoMo, stand-alone"),
    ("MADial", "MADial"),
    ("messenger held-out, same language", "our messenger, held out"),
    ("assistant held-out, same language", "our assistant, held out"),
)
LANGUAGES = (
    ("held-out, same language", "statements,\nsame language"),
    ("held-out, across languages", "statements,\nacross languages"),
    ("chats held-out, across languages", "chats,\nacross languages"),
)

Figures = Mapping[str, Mapping[str, float]]
"""By system, by metric."""


def figures(folder: Path, name: str) -> Figures:
    """All figures of one benchmark, the latest of each."""
    read = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    found: dict[str, dict[str, float]] = {}
    for record in sorted((each for each in read if each["name"] == name), key=_date):
        for row in record["results"]:
            found.setdefault(row["system"], {})[row["metric"]] = row["value"]
    return found


def _date(record: Mapping[str, Any]) -> str:
    return record["date"]


def of(found: Figures, label: str) -> dict[str, Mapping[str, float]]:
    """By system the figures that stand under "system: label"."""
    return {
        name.removesuffix(f": {label}"): values
        for name, values in found.items()
        if name.endswith(f": {label}")
    }


def quality(found: Figures) -> Any:
    """Recall at k of every system, one panel a data set."""
    shown = [(title, of(found, label)) for label, title in QUALITY if of(found, label)]
    if not shown:
        return None
    figure, axes = panels(len(shown), height=3.3, share=True)
    for axis, (title, systems) in zip(axes, shown, strict=True):
        for system, values in reversed(list(systems.items())):
            points = sorted((int(m.split("@")[1]), v) for m, v in values.items() if "@" in m)
            points = [(k, v) for k, v in points if k > 1]
            mine = system == OURS
            axis.plot(
                range(len(points)),
                [value for _, value in points],
                marker="o",
                markersize=5 if mine else 4,
                linewidth=2.6 if mine else 1.6,
                linestyle=(0, (2, 2)) if system == "mem0" else "-",
                color=colour(system),
                label=system,
                zorder=4 if mine else 3 if system == "mem0" else 2,
            )
            axis.set_xticks(range(len(points)), [f"@{k}" for k, _ in points])
        axis.set_title(title, fontsize=10)
        axis.set_ylim(30, 102)
    axes[0].set_ylabel("evidence found, %")
    return legend(figure, axes)


def languages(found: Figures) -> Any:
    """Recall at 1, 5 and 10 across languages."""
    shown = [(title, of(found, label)) for label, title in LANGUAGES if of(found, label)]
    if not shown:
        return None
    figure, axes = panels(len(shown), height=3.3, share=True)
    for axis, (title, systems) in zip(axes, shown, strict=True):
        metrics = ("recall@1", "recall@5", "recall@10")
        rows = {name: [values[m] for m in metrics] for name, values in systems.items()}
        bars(axis, rows, [f"@{m.split('@')[1]}" for m in metrics], form="{:.0f}")
        axis.set_title(title, fontsize=10)
        axis.set_ylim(0, 112)
    axes[0].set_ylabel("found, %")
    return legend(figure, axes)


def recall_speed(found: Figures) -> Any:
    """Latency of one recall by size beside its floor, and beside peers with given vectors."""
    sizes: list[tuple[str, float, float]] = []
    for size in _matches(found, r"ricordo: one scope of ([\d,]+), embedded"):
        floor = found.get(f"floor: one scope of {size}", {})
        least = floor.get("embedding_p50_ms", 0.0) + floor.get("scan_p50_ms", 0.0)
        sizes.append((size, least, found[f"ricordo: one scope of {size}, embedded"]["p50_ms"]))
    sizes.sort(key=lambda each: int(each[0].replace(",", "")))
    crowd = next(iter(_matches(found, r"mem0 on \w+: (.+)")), None)
    figure, axes = panels(2, height=3.4)
    rows = {"embedding + scan, the least possible": [s[1] for s in sizes]}
    rows[OURS] = [s[2] for s in sizes]
    bars(axes[0], rows, [s[0] for s in sizes], form="{:.0f}")
    axes[0].set_title("one question, embedding included", fontsize=10)
    axes[0].set_xlabel("memories of one person")
    axes[0].set_ylabel("p50, ms")
    axes[0].legend(frameon=False, fontsize=8, loc="upper left")
    axes[0].set_ylim(top=axes[0].get_ylim()[1] * 1.25)
    if crowd is not None:
        peers = {name: v for name, v in of(found, crowd).items() if "p50_ms" in v}
        lying(
            axes[1],
            {name: v["p50_ms"] for name, v in peers.items()},
            {
                name: f"{v['p50_ms']:,.0f} ms, {v.get('true_answers', 0):.1f} of 10 right"
                for name, v in peers.items()
            },
        )
        axes[1].set_xscale("log")
        axes[1].set_xlim(1, max(v["p50_ms"] for v in peers.values()) * 60)
        axes[1].set_title(f"vectors given, {crowd} people", fontsize=10)
        axes[1].set_xlabel("p50, ms (log)")
    return tight(figure) if sizes or crowd else None


def turn_cost(found: Figures) -> Any:
    """What memory adds to a turn."""
    figure, axes = panels(3, height=3.1)
    metrics = (
        ("added_wait_ms", "wait added to a turn, ms\n(model: 300 ms)", "{:,.0f}"),
        ("chat_prompt_tokens", "prompt tokens\nof the turn", "{:,.0f}"),
        ("extraction_prompt_tokens", "tokens spent on\nremembering, per turn", "{:,.0f}"),
    )
    systems = {
        name.removesuffix(", 300 ms model"): values
        for name, values in found.items()
        if name.endswith(", 300 ms model")
    }
    if not systems:
        return None
    for axis, (metric, title, form) in zip(axes, metrics, strict=True):
        values = {name: v[metric] for name, v in systems.items()}
        lying(axis, values, {name: form.format(value) for name, value in values.items()})
        axis.set_xlim(0, max(values.values()) * 1.3)
        axis.set_title(title, fontsize=10)
    for axis in axes[1:]:
        axis.set_yticklabels([])
    return tight(figure)


def writes(found: Figures) -> Any:
    """Acknowledged writes by the number of writers."""
    figure, [axis] = panels(1, height=3.4, width=7.5)
    kinds = set(_matches(found, r"ricordo: (.+), \d+ writers"))
    if not kinds:
        return None
    shades = ("#0b7a75", "#5aa9a3", "#a5cfcb")
    order = sorted(kinds, key=lambda kind: -_rates(found, kind)[-1][1])
    for shade, kind in zip(shades, order, strict=False):
        points = _rates(found, kind)
        axis.plot(range(len(points)), [v for _, v in points], "o-", color=shade, label=kind, lw=2.2)
        axis.set_xticks(range(len(points)), [str(writers) for writers, _ in points])
        axis.annotate(
            f"{points[-1][1]:,.0f}",
            (len(points) - 1, points[-1][1]),
            (6, -3),
            textcoords="offset points",
            fontsize=8,
        )
    floor = next((v for name, v in found.items() if name.startswith("floor: SQLite")), None)
    if floor is not None:
        axis.axhline(
            floor["per_second"],
            color=colour("floor"),
            linestyle="--",
            lw=1.4,
            label="plain SQLite, a commit a row",
        )
    axis.set_ylim(bottom=0)
    axis.set_xlim(right=axis.get_xlim()[1] + 0.2)
    axis.set_xlabel("writers at once")
    axis.set_ylabel("acknowledged per second")
    axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return tight(figure)


def walks(found: Figures) -> Any:
    """Walks beside a plain breadth-first search."""
    names = [name for name in _matches(found, r"ricordo: (.+)") if f"floor: {name}" in found]
    if not names:
        return None
    figure, [axis] = panels(1, height=3.4, width=7.5)
    rows = {
        "floor": [found[f"floor: {name}"]["p50_ms"] for name in names],
        OURS: [found[f"ricordo: {name}"]["p50_ms"] for name in names],
    }
    bars(axis, rows, [name.replace(", ", ",\n") for name in names], form="{:.1f}")
    axis.set_ylabel("p50, ms")
    axis.legend(["plain search", OURS], frameon=False, fontsize=8, loc="upper left")
    return tight(figure)


def many_users(found: Figures) -> Any:
    """Two hundred people on both ledgers, under each load."""
    kinds = _matches(found, r"ricordo in a file: (.+)")
    kinds = [kind for kind in kinds if f"ricordo on PostgreSQL: {kind}" in found]
    if not kinds:
        return None
    metrics = (
        ("cpu_ms_per_turn", "our processor time\nper turn, ms", "{:,.0f}"),
        ("turns_per_second", "turns per second", "{:,.0f}"),
        ("recall_p95_ms", "recall,\np95, ms (log)", "{:,.0f}"),
        ("observe_p95_ms", "observe,\np95, ms (log)", "{:,.0f}"),
    )
    figure, axes = panels(len(metrics), height=3.6, width=12.0)
    for axis, (metric, title, form) in zip(axes, metrics, strict=True):
        rows = {
            name: [found[f"ricordo {name}: {kind}"][metric] for kind in kinds]
            for name in ("in a file", "on PostgreSQL")
        }
        bars(axis, rows, [kind.replace(" ", "\n", 1) for kind in kinds], form=form)
        axis.set_title(title, fontsize=10)
        if metric.endswith("_ms"):
            axis.set_yscale("log" if "p95" in metric else "linear")
            axis.set_ylim(top=axis.get_ylim()[1] * 1.3)
    return legend(figure, axes)


def events(found: Figures) -> Any:
    """Events a second on their way out, and what a leader's death costs."""
    floor = found.get("floor: nats-py alone", {}).get("per_second")
    relay = found.get("ricordo: outbox to stream", {}).get("per_second")
    backlog = next((found[n] for n in found if n.startswith("ricordo: backlog of")), {})
    before = found.get("cluster: before that", {}).get("per_second")
    rates = {
        "nats-py alone": floor,
        "outbox to stream": relay,
        "backlog of 100,000": backlog.get("per_second"),
        "cluster of three": before,
    }
    rates = {name: rate for name, rate in rates.items() if rate}
    death = found.get("cluster: leader killed", {})
    if not rates or not death:
        return None
    figure, axes = panels(2, height=2.8)
    ours = colour(OURS)
    lying(axes[0], rates, {name: f"{rate:,.0f}/s" for name, rate in rates.items()}, other=ours)
    axes[0].set_xlim(0, max(rates.values()) * 1.3)
    axes[0].set_title("events a second", fontsize=10)
    pauses = {
        "longest pause": death["longest_pause_s"],
        "until all were delivered": death["drained_s"],
    }
    told = {name: f"{seconds:.1f} s" for name, seconds in pauses.items()}
    lying(axes[1], pauses, told, other=ours)
    axes[1].set_xlim(0, max(pauses.values()) * 1.4)
    axes[1].set_title("a leader killed among 10,000 events", fontsize=10)
    return tight(figure)


def working(found: Figures) -> Any:
    """From the call of `observe` to the memory, by where the worker is."""
    places = _matches(found, r"worker (.+)")
    if not places:
        return None
    figure, axes = panels(3, height=2.4, width=11.0, share=True)
    titles = {
        "observe_p50": "acknowledged, p50",
        "stored_p50": "stored, p50 (log)",
        "stored_p95": "stored, p95 (log)",
    }
    for axis, (metric, title) in zip(axes, titles.items(), strict=True):
        values = {place: found[f"worker {place}"][metric] for place in places}
        told = {place: f"{value:,.1f} ms" for place, value in values.items()}
        lying(axis, values, told, other=colour(OURS))
        axis.set_xscale("log" if metric.startswith("stored") else "linear")
        left, right = axis.get_xlim()
        axis.set_xlim(left / 2 if left > 0 else left, right * (1.3 if left <= 0 else 20))
        axis.set_title(title, fontsize=10)
    return tight(figure)


CHARTS: Mapping[str, tuple[str, Callable[[Figures], Any]]] = {
    "recall-quality": ("recall_quality", quality),
    "across-languages": ("recall_multilingual", languages),
    "recall-speed": ("recall_speed", recall_speed),
    "turn-cost": ("turn_cost", turn_cost),
    "writes": ("writes", writes),
    "walks": ("walk_speed", walks),
    "many-users": ("many_users", many_users),
    "events": ("events", events),
    "working": ("working", working),
}


def _matches(found: Figures, pattern: str) -> list[str]:
    """What the pattern's group holds in names of systems, each once."""
    hits = (re.fullmatch(pattern, name) for name in found)
    return list(dict.fromkeys(hit[1] for hit in hits if hit))


def _rates(found: Figures, kind: str) -> list[tuple[int, float]]:
    return sorted(
        (int(writers), found[f"ricordo: {kind}, {writers} writers"]["per_second"])
        for writers in _matches(found, rf"ricordo: {re.escape(kind)}, (\d+) writers")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=DOCS / "results")
    parser.add_argument("--out", type=Path, default=DOCS)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    for chart, (name, draw) in CHARTS.items():
        figure = draw(figures(asked.results, name))
        if figure is None:
            print(f"{chart}: no figures of {name}")
            continue
        # Without software and date in the file, an unchanged chart is an unchanged file.
        figure.savefig(asked.out / f"{chart}.png", dpi=150, metadata={"Software": None})
        plt.close("all")
        print(asked.out / f"{chart}.png")


if __name__ == "__main__":
    main()
