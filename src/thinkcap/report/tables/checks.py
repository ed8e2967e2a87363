"""Shapes that check a claim: does it hold over seeds, is it an artefact of the cap, what goes wrong."""

from __future__ import annotations

from statistics import fmean, stdev

from thinkcap.diagnose.findings import summary
from thinkcap.logs.arms import Arm
from thinkcap.report.tables.methods import not_run
from thinkcap.report.tables.modes import ci
from thinkcap.report.tables.select import Group, Want, escalated, same_questions
from thinkcap.report.tables.table import BLANK, Column, Row
from thinkcap.statistics.paired import mcnemar
from thinkcap.statistics.precision import proportion
from thinkcap.statistics.taxonomy import failures

SEEDS = (
    Column("seed"),
    Column("n", "count"),
    Column("iris", "percent"),
    Column("iris 95 %", "interval"),
    Column("town", "percent"),
    Column("town 95 %", "interval"),
    Column("difference", "points"),
    Column("iris tokens", "number"),
    Column("town tokens", "number"),
)


def by_seed(group: Group, want: Want) -> list[Row]:
    """Each seed, then mean and spread; the spread only over seeds of the same size."""
    rows: list[Row] = []
    for budget in sorted({a.budget or 0 for a in group.single if a.policy == "iris"}):
        iris, town = (
            {a.seed: a for a in group.single if a.policy == name and (a.budget or 0) == budget}
            for name in ("iris", "town")
        )
        pairs = [(seed, iris[seed], town[seed]) for seed in iris if seed in town]
        for seed, one, two in pairs:
            a, b = (proportion(int(x.right.sum()), x.n) for x in (one, two))
            spent = [float(x.tokens.mean()) if x.tokens is not None else None for x in (one, two)]
            gain = (a.value or 0) - (b.value or 0)
            cells = (f"{seed} (cap {budget})", one.n, a.value, ci(a), b.value, ci(b), gain, *spent)
            rows.append(Row(cells, {"seed": seed}, (one, two)))
        if len(pairs) > 1 and len({one.n for _, one, _ in pairs}) == 1:
            shares = [[float(x.right.mean()) for x in (one, two)] for _, one, two in pairs]
            a_, b_ = ([s[i] for s in shares] for i in (0, 1))
            spread = f"mean (sd {100 * stdev(a_):.1f}, {100 * stdev(b_):.1f})"
            cells = (
                spread,
                pairs[0][1].n,
                fmean(a_),
                BLANK,
                fmean(b_),
                BLANK,
                fmean(a_) - fmean(b_),
                BLANK,
                BLANK,
            )
            rows.append(Row(cells, {"seed": "mean"}, ()))
    return rows or [not_run("iris and town of one seed", SEEDS)]


FAIR = (
    Column("config"),
    Column("cap", "count"),
    Column("n", "count"),
    Column("acc", "percent"),
    Column("tokens", "number"),
    Column("cut", "percent"),
    Column("against nothink", "points"),
    Column("p", "p"),
)


def fair(group: Group, want: Want) -> list[Row]:
    """Is the loss an artefact of the cap? Against nothink at b: twice the cap, a forced answer, two passes."""
    direct = group.series("nothink")
    options = [b for b in direct if 2 * b in group.series("think")]
    base = want.budgets[0] if want.budgets else (options[len(options) // 2] if options else None)
    if base is None or base not in direct:
        return [not_run(f"nothink@{base}" if base else "both modes at b and 2 b", FAIR)]
    rows = []
    wanted = [
        ("nothink", base),
        ("think", base),
        ("generous", 2 * base),
        ("two_pass", 2 * base),
        ("think", 2 * base),
    ]
    for name, b in wanted:
        plain = name in ("nothink", "think")
        arm = group.series(name).get(b) if plain else next((a for a in group.method(name) if a.budget == b), None)
        key = {"config": f"{name}@{b}"}
        if arm is None:
            rows.append(not_run(f"{name}@{b}", FAIR, key))
            continue
        both = None if (name, b) == ("nothink", base) else same_questions(arm, direct[base])
        test = None if both is None else mcnemar(both[0].right, both[1].right)
        found = summary(arm)
        cut = 1 - found.parts.ended_share if found.parts else None
        compared = (test.difference, test.p) if test else (BLANK, BLANK)
        cells = (arm.name, b, arm.n, found.accuracy.value, found.mean_tokens, cut)
        rows.append(Row((*cells, *compared), key, (arm,)))
    return rows


FAILED = (Column("failure"), Column("method"), Column("count", "count"), Column("share of wrong", "percent"))


def failed(group: Group, want: Want) -> list[Row]:
    """Wrong answers of the refining cascade by cause; they add up."""
    rows = []
    for arm in group.method("mrsd") or group.method("iris"):
        sent = escalated(arm)
        first = _first_try(group, arm)
        if sent is None or first is None:
            continue
        both = same_questions(arm, first)
        if both is None or both[0].n != arm.n:
            continue
        found = failures(both[0].right, sent, both[1].right)
        parts = (
            ("F1 first try accepted, wrong", found.false_accept),
            ("F2 escalated, still wrong", found.still_wrong),
            ("F3 first try was right, lost", found.regression),
        )
        for name, count in parts:
            share = count / found.wrong if found.wrong else None
            rows.append(Row((name, arm.name, count, share), {"mode": name[:2]}, (arm,)))
    return rows or [not_run("mrsd with nothink at its first budget", FAILED)]


def _first_try(group: Group, arm: Arm) -> Arm | None:
    if arm.budget is None:
        return next((a for a in group.arms if a.method == "nothink" and a.file == arm.file), None)
    first = arm.stages.first or max(1, round(arm.budget * 0.25))
    return group.series("nothink").get(first)
