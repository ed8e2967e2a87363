"""How figures look: colours that colour-blind readers and printers tell apart, a marker besides, quiet axes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thinkcap.core.extras import extra
from thinkcap.core.files import SHARED, replacing

# Okabe and Ito's colours.
BLUE, VERMILLION, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK, OLIVE = "#E69F00", "#56B4E9", "#000000", "#999933"
COLOURS = (BLUE, VERMILLION, GREEN, PINK, ORANGE, SKY, BLACK, OLIVE)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", ":", "-.")


def new(title: str = "", x: str = "", y: str = "", width: float = 6.4, height: float = 4.0) -> tuple[Any, Any]:
    """A figure with one pair of axes and what stands at them, drawn without any display."""
    with extra("figures", "drawing a figure"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set(xlabel=x, ylabel=y)
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def look(index: int) -> dict[str, Any]:
    """Colour, marker and dash of the n-th series; eight colours, then the next dash."""
    return {
        "markerfacecolor": "white" if index >= 8 else COLOURS[index % 8],
        "color": COLOURS[index % 8],
        "marker": MARKERS[index % 8],
        "linestyle": DASHES[(index // 8) % 4],
        "markersize": 4.5,
        "linewidth": 1.6,
    }


def budgets_axis(axes: Any, budgets: Sequence[int], label: str = "token cap, thought and answer together") -> None:
    """Doubling budgets are evenly spaced, so the scale is log 2."""
    ticks = sorted(set(budgets))
    axes.set_xscale("log", base=2)
    powers = [b for b in ticks if b & (b - 1) == 0]
    shown = powers if len(powers) >= 3 else ticks
    axes.set_xticks(shown, [str(b) for b in shown])
    axes.minorticks_off()
    axes.set_xlabel(label)


def legend(axes: Any, entries: int = 1) -> None:
    """Beside the plot once it would hide the lines."""
    if entries > 5:
        axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    elif entries:
        axes.legend(frameon=False, fontsize=9)


def save(figure: Any, stem: Path) -> list[Path]:
    """STEM.svg and STEM.png. No date inside: the same records give the same files."""
    import matplotlib

    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(stem.name + f".{kind}") for kind in ("svg", "png")]
    with matplotlib.rc_context({"svg.hashsalt": "thinkcap", "svg.fonttype": "path"}):
        with replacing(paths[0], SHARED) as file:
            figure.savefig(file, format="svg", metadata={"Date": None})
        with replacing(paths[1], SHARED) as file:
            figure.savefig(file, format="png", dpi=160, metadata={"Software": None})
    return paths
