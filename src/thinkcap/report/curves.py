"""Accuracy against budget, with intervals: the picture the product exists for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# Okabe and Ito's colours: told apart by colour-blind readers and in print, with a marker each besides.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def accuracy_curves(cells: Sequence[Mapping[str, Any]], stem: Path) -> dict[str, Path]:
    """Writes STEM.svg and STEM.png."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    policies = list(dict.fromkeys(cell["policy"] for cell in cells))
    for index, policy in enumerate(policies):
        mine = sorted(
            (c for c in cells if c["policy"] == policy and c["accuracy"] is not None),
            key=lambda c: int(c["budget"]),
        )
        budgets = [c["budget"] for c in mine]
        colour, marker = COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)]
        axes.plot(
            budgets, [100 * c["accuracy"] for c in mine], color=colour, marker=marker, markersize=4, label=policy
        )
        axes.fill_between(
            budgets, [100 * c["ci"][0] for c in mine], [100 * c["ci"][1] for c in mine], color=colour, alpha=0.15
        )
    axes.set_xscale("log", base=2)
    ticks = sorted({c["budget"] for c in cells})
    shown = [b for b in ticks if b & (b - 1) == 0] or ticks
    axes.set_xticks(shown, [str(b) for b in shown])
    axes.minorticks_off()
    axes.set_ylim(-2, 102)
    axes.set_xlabel("token cap (thinking and answer together)")
    axes.set_ylabel("accuracy, % (95 % Wilson)")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    paths = {kind: stem.with_suffix(f".{kind}") for kind in ("svg", "png")}
    for path in paths.values():
        figure.savefig(path, dpi=150)
    return paths
