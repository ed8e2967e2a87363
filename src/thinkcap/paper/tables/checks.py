"""Does a claim hold over seeds, and is the loss an artefact of the cap?"""

from __future__ import annotations

from statistics import fmean, stdev

from thinkcap.diagnose.findings import summary
from thinkcap.diagnose.pairs import matched_by
from thinkcap.report.tables.methods import not_run
from thinkcap.report.tables.modes import Budgets, ci
from thinkcap.report.tables.select import Group, same_questions
from thinkcap.report.tables.table import BLANK, Column, Row
from thinkcap.statistics.paired import mcnemar
from thinkcap.statistics.precision import proportion

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


def by_seed(group: Group, chosen: Budgets = ()) -> list[Row]:
    """Each seed, then mean and spread; the spread only over seeds of the same size."""
    rows: list[Row] = []
    iris, town = ([a for a in group.single if a.policy == name] for name in ("iris", "town"))
    for name in dict.fromkeys(a.name for a in sorted(iris, key=lambda a: a.budget or 0)):
        mine = sorted((a for a in iris if a.name == name), key=lambda a: a.seed or 0)
        pairs = [(a.seed, a, b) for a in mine for b in town if a.seed == b.seed and matched_by(a, b) is not None]
        for seed, one, two in pairs:
            a, b = (proportion(int(x.right.sum()), x.n) for x in (one, two))
            spent = [float(x.tokens.mean()) if x.tokens is not None else None for x in (one, two)]
            gain = (a.value or 0) - (b.value or 0)
            cells = (f"{seed} ({name})", one.n, a.value, ci(a), b.value, ci(b), gain, *spent)
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


def fair(group: Group, chosen: Budgets = ()) -> list[Row]:
    """Is the loss an artefact of the cap? Against nothink at b: twice the cap, a forced answer, two passes."""
    direct = group.series("nothink")
    options = [b for b in direct if 2 * b in group.series("think")]
    base = chosen[0] if chosen else (options[len(options) // 2] if options else None)
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
        rows.append(Row((*cells, *compared), key, (arm,) if test is None else (arm, direct[base])))
    return rows
