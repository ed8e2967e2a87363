"""How long chains are, and the chance that one ends next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thinkcap.report.figures.style import BLUE, VERMILLION, legend, new
from thinkcap.report.figures.subject import NotDrawn, Subject
from thinkcap.statistics.hazard import FEW, HazardBin


def survival(subject: Subject) -> Any:
    """Kaplan-Meier of chain lengths with its band; crosses mark where chains were cut, not where they ended."""
    if subject.found.lengths is None or len(subject.found.lengths.curve.lengths) == 0:
        raise NotDrawn("no thinking arm says which chains ended, or none did")
    curve = subject.found.lengths.curve
    figure, axes = new(subject.title, "tokens", "chains longer than this, %")
    x = [0.0, *curve.lengths.tolist(), float(curve.last or 0)]
    last = float(curve.share[-1])
    left = [100.0, *(100 * (1 - curve.share)).tolist(), 100 * (1 - last)]
    low = [100.0, *(100 * (1 - curve.high)).tolist(), 100 * (1 - float(curve.high[-1]))]
    high = [100.0, *(100 * (1 - curve.low)).tolist(), 100 * (1 - float(curve.low[-1]))]
    axes.step(x, left, where="post", color=BLUE, linewidth=1.6, label="still running")
    axes.fill_between(x, low, high, step="post", color=BLUE, alpha=0.18, label="95 %")
    cut = _cut_at(subject)
    if cut:
        marks = [100 * (1 - curve.at(c)) for c in cut]
        label = f"cut ({curve.censored} of {curve.n})"
        axes.plot(cut, marks, linestyle="none", marker="+", color=VERMILLION, markersize=8, label=label)
    if curve.median is not None:
        axes.axvline(curve.median, color="0.5", linewidth=1, linestyle="--")
        where = {"xytext": (4, 0), "textcoords": "offset points", "fontsize": 8}
        axes.annotate(f"median {curve.median:.0f}", (curve.median, 97), **where)
    axes.set_ylim(-2, 102)
    legend(axes)
    return figure


def _cut_at(subject: Subject) -> list[int]:
    """Distinct lengths at which chains of the longest arm were cut."""
    assert subject.found.lengths is not None
    arm = subject.group.series("think").get(subject.found.lengths.budget)
    if arm is None or arm.ended is None or arm.tokens is None:
        return []
    return sorted({int(t) for t in arm.tokens[~arm.ended]})


def hazard(subject: Subject) -> Any:
    """The chance per 100 tokens that a chain which has come this far ends, with bands and the falling fit."""
    rate = subject.found.lengths.hazard if subject.found.lengths else None
    if rate is None:
        raise NotDrawn("no thinking arm says which chains ended, or none did")
    known = [(b, fit) for b, fit in zip(rate.bins, rate.isotonic, strict=True) if b.per_token is not None]
    figure, axes = new(subject.title, "tokens so far", "chance of ending at the next token, %")
    top = 100 * rate.ceiling
    _bars(axes, [b for b, _ in known if b.at_risk >= FEW], {"color": BLUE, "markersize": 4, "linewidth": 1.2})
    few = [b for b, _ in known if b.at_risk < FEW]
    if few:
        shown = {"color": BLUE, "alpha": 0.45, "markersize": 4, "linewidth": 1.0, "markerfacecolor": "white"}
        inside = [b for b in few if 100 * (b.per_token or 0) <= top]
        _bars(axes, inside, shown, label=f"fewer than {FEW} chains left")
        _beyond(axes, [b for b in few if b not in inside], top)
    if all(fit is not None for _, fit in known):
        middle = [(b.start + b.stop) / 2 for b, _ in known]
        fits = [100 * (fit or 0) for _, fit in known]
        style = {"color": VERMILLION, "linestyle": "--", "linewidth": 1.2, "label": "closest that falls"}
        axes.step(middle, fits, where="mid", **style)
    if axes.get_legend_handles_labels()[1]:
        legend(axes)
    axes.set_ylim(0, top)
    return figure


def _bars(axes: Any, bins: Sequence[HazardBin], style: Mapping[str, Any], label: str = "") -> None:
    if not bins:
        return
    value = [100 * (b.per_token or 0) for b in bins]
    below = [v - 100 * (b.low or 0) for v, b in zip(value, bins, strict=True)]
    above = [100 * (b.high or 0) - v for v, b in zip(value, bins, strict=True)]
    half = [(b.stop - b.start) / 2 for b in bins]
    middle = [(b.start + b.stop) / 2 for b in bins]
    axes.errorbar(middle, value, yerr=[below, above], xerr=half, fmt="o", label=label or None, **style)


def _beyond(axes: Any, bins: Sequence[HazardBin], top: float) -> None:
    """Bins of few chains above the scale: an arrow at the edge, with the value it stands for."""
    for b in bins:
        place = ((b.start + b.stop) / 2, 0.97 * top)
        axes.plot(*place, marker="^", color=BLUE, alpha=0.6, markerfacecolor="white", clip_on=False)
        said = f"{100 * (b.per_token or 0):.3g} ({b.at_risk} left)"
        axes.annotate(
            said, place, xytext=(-6, -3), textcoords="offset points", ha="right", fontsize=8, color="0.35"
        )
