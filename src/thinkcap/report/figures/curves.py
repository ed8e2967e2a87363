"""Accuracy against what it costs: the cap, the tokens, the money; and how much of the cap is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thinkcap.diagnose.findings import ArmSummary
from thinkcap.report.figures.style import budgets_axis, legend, look, new
from thinkcap.report.figures.subject import NotDrawn, Subject


def _by_policy(arms: Sequence[ArmSummary]) -> dict[str, list[ArmSummary]]:
    """Arms with a budget, per policy; plain modes first, so that their looks never change."""
    found: dict[str, list[ArmSummary]] = {}
    order = {"nothink": 0, "think": 1}
    for arm in sorted(arms, key=lambda a: (order.get(a.policy, 2), a.method, a.budget or 0)):
        if arm.budget is not None and arm.accuracy.value is not None:
            found.setdefault(arm.method, []).append(arm)
    return found


def _counted(subject: Subject) -> dict[str, list[ArmSummary]]:
    """Series whose logs store token counts."""
    every = _by_policy(subject.found.arms)
    found = {p: [a for a in arms if a.mean_tokens is not None] for p, arms in every.items()}
    return {p: arms for p, arms in found.items() if arms}


def accuracy(subject: Subject) -> Any:
    """Accuracy against the cap, every method, with its interval."""
    series = _by_policy(subject.found.arms)
    if not series:
        raise NotDrawn("no arm has a budget")
    figure, axes = _against_cap(subject, series, lambda a: 100 * (a.accuracy.value or 0), "accuracy, % (95 %)")
    for i, (policy, arms) in enumerate(series.items()):
        if len(series) <= 5 or policy in ("think", "nothink"):
            # More bands than this hide each other; tables have every interval.
            low, high = ([100 * (getattr(a.accuracy, end) or 0) for a in arms] for end in ("low", "high"))
            axes.fill_between([a.budget for a in arms], low, high, color=look(i)["color"], alpha=0.15)
    axes.set_ylim(-2, 102)
    return figure


def used(subject: Subject) -> Any:
    """Tokens used of the cap."""
    series = _counted(subject)
    if not series:
        raise NotDrawn("no arm stores token counts")
    figure, axes = _against_cap(
        subject, series, lambda a: 100 * (a.mean_tokens or 0.0) / (a.budget or 1), "mean tokens, % of the cap"
    )
    axes.set_ylim(0, None)
    return figure


def _against_cap(
    subject: Subject, series: Mapping[str, Sequence[ArmSummary]], value: Callable[[ArmSummary], float], label: str
) -> tuple[Any, Any]:
    figure, axes = new(subject.title, y=label, width=_width(series))
    for i, (policy, arms) in enumerate(series.items()):
        axes.plot([a.budget for a in arms], [value(a) for a in arms], label=policy, **look(i))
    budgets_axis(axes, [a.budget or 0 for arms in series.values() for a in arms])
    legend(axes, len(series))
    return figure, axes


def _width(series: Mapping[str, Any]) -> float:
    """Room for a legend beside the plot."""
    return 7.6 if len(series) > 5 else 6.4


def pareto(subject: Subject) -> Any:
    """Accuracy against mean tokens; the line joins what nothing cheaper beats."""
    series = _counted(subject)
    if not series:
        raise NotDrawn("no arm stores token counts")
    figure, axes, costs = _pareto(subject, series, lambda a: a.mean_tokens or 0.0)
    ticks = [2**k for k in range(3, 24) if min(costs) / 2 <= 2**k <= 2 * max(costs)]
    budgets_axis(axes, ticks, "mean tokens per question")
    return figure


def money(subject: Subject) -> Any:
    """The same in money, where the study was given a price."""
    prices = subject.cost
    every = _by_policy(subject.found.arms)
    series = {p: [a for a in arms if (p, a.budget) in prices] for p, arms in every.items()}
    if not any(series.values()):
        raise NotDrawn("the study was run without --price")
    figure, axes, _ = _pareto(subject, series, lambda a: prices[a.method, a.budget or 0])
    axes.set_xscale("log")
    axes.set_xlabel("mean cost per question")
    return figure


def _pareto(
    subject: Subject, series: Mapping[str, Sequence[ArmSummary]], cost: Callable[[ArmSummary], float]
) -> tuple[Any, Any, list[float]]:
    figure, axes = new(subject.title, y="accuracy, %", width=_width(series))
    points: list[tuple[float, float]] = []
    for i, (policy, arms) in enumerate(series.items()):
        mine = [(cost(a), 100 * (a.accuracy.value or 0)) for a in arms]
        points += mine
        style = look(i) | {"linestyle": "none"}
        axes.plot([c for c, _ in mine], [right for _, right in mine], label=policy, **style)
    front: list[tuple[float, float]] = []
    for point in sorted(points):
        if not front or point[1] > front[-1][1]:
            front.append(point)
    axes.step([c for c, _ in front], [r for _, r in front], where="post", color="0.5", linewidth=1, zorder=1)
    axes.set_ylim(-2, 102)
    legend(axes, len(series))
    return figure, axes, [c for c, _ in points]
