"""Why thinking loses, and what splitting the budget wins back."""

from __future__ import annotations

from typing import Any

from thinkcap.report.figures.style import BLACK, BLUE, GREEN, ORANGE, VERMILLION, budgets_axis, legend, look, new
from thinkcap.report.figures.subject import NotDrawn, Subject
from thinkcap.report.tables.select import same_questions
from thinkcap.statistics.gates import gate


def causes(subject: Subject) -> Any:
    """Truncation loss and reasoning gap stacked by budget; their sum is the tax."""
    rows = [r for r in subject.found.budgets if r.tax is not None and r.tax.truncation_loss is not None]
    if not rows:
        raise NotDrawn("both modes at one budget, on the same questions, with known ends")
    figure, axes = new(subject.title, "token cap", "nothink minus think, points")
    places = range(len(rows))
    above, below = [0.0] * len(rows), [0.0] * len(rows)
    parts = (
        ("truncation", VERMILLION, "", [100 * (r.tax.truncation_loss or 0) for r in rows if r.tax]),
        ("reasoning", BLUE, "//", [100 * (r.tax.reasoning_gap or 0) for r in rows if r.tax]),
    )
    for name, colour, hatch, values in parts:
        bottom = [above[i] if v >= 0 else below[i] for i, v in enumerate(values)]
        style = {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0.5, "label": name}
        axes.bar(places, values, 0.7, bottom=bottom, **style)
        for i, v in enumerate(values):
            above[i], below[i] = above[i] + max(v, 0), below[i] + min(v, 0)
    gap = [100 * r.difference.test.difference for r in rows]
    errors = [[100 * (r.difference.test.difference - r.difference.low) for r in rows]]
    errors.append([100 * (r.difference.high - r.difference.test.difference) for r in rows])
    axes.errorbar(places, gap, yerr=errors, fmt="D", color=BLACK, markersize=4, linewidth=1.2, label="tax (95 %)")
    axes.axhline(0, color="0.3", linewidth=0.8)
    axes.set_xticks(list(places), [str(r.budget) for r in rows])
    legend(axes)
    return figure


def recovered(subject: Subject) -> Any:
    """Cut chains answered in a pass of their own, against the cut chain itself."""
    found = subject.found.splitting.extractions
    if not found:
        raise NotDrawn("a cascade with an answer pass (iris) and one without (town) under the same cap")
    title = f"{subject.title}: what splitting recovers (points)"
    figure, axes = new(title, y="right among cut chains, %")
    places = range(len(found))
    left, right = ([p + shift for p in places] for shift in (-0.2, 0.2))
    axes.bar(left, [100 * e.alpha_t for e in found], 0.38, color=VERMILLION, label="cut chain itself")
    style = {"color": GREEN, "hatch": "//", "edgecolor": "white", "label": "separate answer pass"}
    axes.bar(right, [100 * e.alpha_e for e in found], 0.38, **style)
    for p, e in zip(places, found, strict=True):
        text = f"{100 * e.recoverable:+.1f}\nn={e.cut}"
        top = (p, 100 * max(e.alpha_e, e.alpha_t))
        axes.annotate(text, top, xytext=(0, 3), textcoords="offset points", ha="center", fontsize=7)
    labels = [e.split.replace("@", "\n@") for e in found]
    axes.set_xticks(list(places), labels, fontsize=8)
    axes.set_ylim(0, 118)
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    return figure


def agreement(subject: Subject) -> Any:
    """Where voters agree, and how often each method is right there."""
    drawn = []
    for vote in subject.group.those(lambda known: known.votes and not known.then):
        other = next((a for a in subject.group.those(lambda f: f.cascade) if a.budget == vote.budget), None)
        if other is None or "agree" not in vote.extra:
            continue
        both = same_questions(vote, other)
        if both is not None:
            drawn.append((vote, other, gate(both[0].extra["agree"], both[0].right, both[1].right, threshold=3)))
    if not drawn:
        raise NotDrawn("vote and iris (or iris_plus) under the same cap")
    figure, axes = new(f"{subject.title}: accuracy by number of agreeing votes", y="right, %")
    labels: list[tuple[float, str]] = []
    place = 0.0
    for vote, other, found in drawn:
        for name, part in ((f"{found.threshold} or more", found.confident), ("fewer", found.low)):
            for i, (right, label) in enumerate(
                ((part.first_right, vote.policy), (part.second_right, other.policy))
            ):
                style = {"color": (ORANGE, GREEN)[i], "hatch": ("", "//")[i], "edgecolor": "white"}
                style |= {} if labels else {"label": label}
                axes.bar(place + 0.36 * i, 100 * right / part.n if part.n else 0.0, 0.34, **style)
            labels.append((place + 0.18, f"{name}\nn={part.n}\n@{vote.budget}"))
            place += 1.0
    axes.set_xticks([p for p, _ in labels], [text for _, text in labels], fontsize=7)
    axes.set_ylim(0, 105)
    legend(axes)
    return figure


def tax_by_model(subjects: list[Subject]) -> Any:
    """The tax against the cap, a line per model and task."""
    drawn = [s for s in subjects if s.found.budgets]
    if not drawn:
        raise NotDrawn("both modes at one budget, on the same questions")
    figure, axes = new(y="nothink minus think, points (95 %)", width=7.6 if len(drawn) > 5 else 6.4)
    for i, subject in enumerate(drawn):
        rows = subject.found.budgets
        x = [r.budget for r in rows]
        axes.plot(x, [100 * r.difference.test.difference for r in rows], label=subject.title, **look(i))
        low, high = ([100 * getattr(r.difference, end) for r in rows] for end in ("low", "high"))
        axes.fill_between(x, low, high, color=look(i)["color"], alpha=0.12)
    axes.axhline(0, color="0.3", linewidth=0.8)
    budgets_axis(axes, [r.budget for s in drawn for r in s.found.budgets])
    legend(axes, len(drawn))
    return figure
