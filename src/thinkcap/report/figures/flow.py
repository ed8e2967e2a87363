"""Who needs how much, and where a cascade's answers come from."""

from __future__ import annotations

from typing import Any

from thinkcap.logs import Arm
from thinkcap.policies.registry import declared
from thinkcap.report.figures.style import BLACK, BLUE, GREEN, ORANGE, SKY, VERMILLION, legend, new
from thinkcap.report.figures.subject import NotDrawn, Subject
from thinkcap.report.tables.select import stages


def tiers(subject: Subject) -> Any:
    """Questions by the least cap at which thinking is right."""
    found = subject.found.frontier
    if found is None:
        raise NotDrawn("thinking at two or more budgets, on the same questions")
    named = [(str(b), k) for b, k in found.by_budget.items() if b] + [("none", found.by_budget[0])]
    figure, axes = new(subject.title, "smallest cap at which thinking is right", "questions, %")
    colours = [SKY] * (len(named) - 1) + [VERMILLION]
    hatches = [""] * (len(named) - 1) + ["//"]
    shares = [100 * k / found.n for _, k in named]
    bars = axes.bar(range(len(named)), shares, 0.72, color=colours, edgecolor="white")
    for bar, hatch, (_, k) in zip(bars, hatches, named, strict=True):
        bar.set_hatch(hatch)
        top = (bar.get_x() + bar.get_width() / 2, bar.get_height())
        axes.annotate(str(k), top, ha="center", va="bottom", fontsize=8)
    total = [100 * c for c in found.cumulative]
    axes.plot(range(len(total)), total, color=BLACK, marker="o", markersize=3, linewidth=1, label="cumulative")
    axes.set_xticks(range(len(named)), [name for name, _ in named])
    axes.set_ylim(0, 105)
    legend(axes)
    return figure


def cascade(subject: Subject) -> Any:
    """A cascade's stages as a flow, widths and rates as measured."""
    arm = _cascade_arm(subject)
    stage = stages(arm)
    assert stage is not None
    spent = f", {arm.tokens.mean():.0f} tokens per question" if arm.tokens is not None else ""
    title = f"{subject.title}: {arm.name}, {100 * float(arm.right.mean()):.1f} % right{spent}"
    figure, axes = new(title, width=7.2, height=3.6)
    axes.axis("off")
    axes.grid(False)
    axes.set(xlim=(0, 10), ylim=(0, 10))
    names = ("first try accepted", "chain complete", "separate answer pass")
    colours = (BLUE, GREEN, ORANGE)
    axes.text(0.1, 5, f"{arm.n} questions", ha="left", va="center", fontsize=10, weight="bold")
    level = 9.4
    for number, (name, colour) in enumerate(zip(names, colours, strict=True), start=1):
        here = stage == number
        count, right = int(here.sum()), int(arm.right[here].sum())
        height = 8.0 * count / arm.n
        top, bottom = level, level - max(height, 0.06)
        source = 9.0 - 8.0 * float((stage < number).mean())
        _band(axes, 2.6, source, source - max(height, 0.06), 6.0, top, bottom, colour)
        rate = f"{100 * right / count:.1f} % right" if count else "none"
        text = f"{name}: {count} ({100 * count / arm.n:.1f} %), {rate}"
        axes.text(6.15, (top + bottom) / 2, text, ha="left", va="center", fontsize=8.5)
        level = bottom - 0.5
    return figure


def _cascade_arm(subject: Subject) -> Arm:
    """The iris (or town) with the most varied stages: one in which nothing is escalated shows nothing."""
    arms = [a for a in subject.group.those(lambda known: known.cascade or known.coupled) if stages(a) is not None]
    if not arms:
        raise NotDrawn("a cascade (iris or town) with its stages")

    def least(arm: Arm) -> float:
        stage = stages(arm)
        assert stage is not None
        return float(sum(min((stage == s).mean(), 0.2) for s in (1, 2, 3)))

    return max(arms, key=lambda a: (least(a), declared(a.policy).cascade))


def _band(
    axes: Any, x0: float, top0: float, bottom0: float, x1: float, top1: float, bottom1: float, colour: str
) -> None:
    """A ribbon between two levels."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    middle = (x0 + x1) / 2
    points = [
        (x0, top0), (middle, top0), (middle, top1), (x1, top1),
        (x1, bottom1), (middle, bottom1), (middle, bottom0), (x0, bottom0), (x0, top0),
    ]  # fmt: skip
    curve = [Path.CURVE4] * 3
    codes = [Path.MOVETO, *curve, Path.LINETO, *curve, Path.CLOSEPOLY]
    axes.add_patch(PathPatch(Path(points, codes), facecolor=colour, alpha=0.75, edgecolor="white", linewidth=0.8))
