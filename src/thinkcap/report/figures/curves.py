"""Accuracy against what it costs: the cap, the tokens, the money; and how much of the cap is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thinkcap.diagnose.findings import ArmSummary
from thinkcap.report.figures.style import budgets_axis, legend, look, new, percent_axis
from thinkcap.report.figures.subject import NotDrawn, Subject
from thinkcap.statistics.cost import utilisation


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
    """Accuracy against the cap, every method, with Wilson bands."""
    series = _by_policy(subject.found.arms)
    if not series:
        raise NotDrawn("no arm has a budget")
    figure, axes = new(7.6 if len(series) > 5 else 6.4)
    for i, (policy, arms) in enumerate(series.items()):
        x = [a.budget for a in arms]
        axes.plot(x, [100 * (a.accuracy.value or 0) for a in arms], label=policy, **look(i))
        if len(series) <= 5 or policy in ("think", "nothink"):
            # More bands than this hide each other; tables have every interval.
            low = [100 * (a.accuracy.low or 0) for a in arms]
            high = [100 * (a.accuracy.high or 0) for a in arms]
            axes.fill_between(x, low, high, color=look(i)["color"], alpha=0.15)
    budgets_axis(axes, [a.budget or 0 for arms in series.values() for a in arms])
    percent_axis(axes, "accuracy, % (95 % Wilson)")
    axes.set_title(subject.title, fontsize=10)
    legend(axes, len(series))
    return figure


def pareto(subject: Subject) -> Any:
    """Accuracy against mean tokens; the line joins what nothing cheaper beats."""
    series = _counted(subject)
    points = [(a.mean_tokens or 0.0, a.accuracy.value or 0.0, p) for p, arms in series.items() for a in arms]
    if not points:
        raise NotDrawn("no arm stores token counts")
    return _pareto(subject, series, points, "mean tokens per question", {})


def money(subject: Subject) -> Any:
    """The same in money, where the study was given a price."""
    prices = subject.cost
    every = _by_policy(subject.found.arms)
    series = {p: [a for a in arms if (p, a.budget) in prices] for p, arms in every.items()}
    points = [(prices[p, a.budget or 0], a.accuracy.value or 0.0, p) for p, arms in series.items() for a in arms]
    if not points:
        raise NotDrawn("the study was run without --price")
    return _pareto(subject, series, points, "mean cost per question", prices)


def _pareto(
    subject: Subject,
    series: dict[str, list[ArmSummary]],
    points: list[tuple[float, float, str]],
    label: str,
    prices: Any,
) -> Any:
    figure, axes = new(7.6 if len(series) > 5 else 6.4)
    for i, (policy, arms) in enumerate(series.items()):
        x = [prices[a.method, a.budget or 0] if prices else a.mean_tokens for a in arms]
        style = look(i) | {"linestyle": "none"}
        axes.plot(x, [100 * (a.accuracy.value or 0) for a in arms], label=policy, **style)
    front, best = [], -1.0
    for cost, right, _ in sorted(points):
        if right > best:
            front.append((cost, right))
            best = right
    axes.step([c for c, _ in front], [100 * r for _, r in front], where="post", color="0.5", linewidth=1, zorder=1)
    if prices:
        axes.set_xscale("log")
        axes.set_xlabel(label)
    else:
        top = max(c for c, _, _ in points)
        budgets_axis(axes, [2**k for k in range(3, 24) if 2**k <= 2 * top and 2**k >= min(points)[0] / 2], label)
    percent_axis(axes, "accuracy, %")
    axes.set_title(subject.title, fontsize=10)
    legend(axes, len(series))
    return figure


def used(subject: Subject) -> Any:
    """Tokens used of the cap."""
    series = _counted(subject)
    if not series:
        raise NotDrawn("no arm stores token counts")
    figure, axes = new(7.6 if len(series) > 5 else 6.4)
    for i, (policy, arms) in enumerate(series.items()):
        share = [100 * utilisation(a.mean_tokens or 0.0, a.budget or 1) for a in arms]
        axes.plot([a.budget for a in arms], share, label=policy, **look(i))
    budgets_axis(axes, [a.budget or 0 for arms in series.values() for a in arms])
    axes.set_ylim(0, None)
    axes.set_ylabel("mean tokens, % of the cap")
    axes.set_title(subject.title, fontsize=10)
    legend(axes, len(series))
    return figure
