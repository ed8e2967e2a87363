"""Does a claim hold over seeds, and is the loss an artefact of the cap?"""

from __future__ import annotations

from statistics import fmean, stdev

from thinkcap.diagnose.findings import summary
from thinkcap.diagnose.pairs import matched_by
from thinkcap.report.tables.modes import ShownBudgets, ci
from thinkcap.report.tables.select import ModelTask, same_questions
from thinkcap.report.tables.table import BLANK, TableRow, columns, not_run

SEEDS = columns(
    "seed, n: count, iris: percent, iris 95 %: interval, town: percent, town 95 %: interval, "
    "difference: points, iris tokens: number, town tokens: number"
)


def by_seed(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    """Each seed, then mean and spread; the spread only over seeds of the same size."""
    rows: list[TableRow] = []
    iris, town = ([a for a in group.single if a.policy == name] for name in ("iris", "town"))
    for name in dict.fromkeys(a.name for a in sorted(iris, key=lambda a: a.budget or 0)):
        mine = sorted((a for a in iris if a.name == name), key=lambda a: a.seed or 0)
        pairs = [(a.seed, a, b) for a in mine for b in town if a.seed == b.seed and matched_by(a, b) is not None]
        for seed, one, two in pairs:
            a, b = one.accuracy, two.accuracy
            spent = [float(x.tokens.mean()) if x.tokens is not None else None for x in (one, two)]
            gain = (a.value or 0) - (b.value or 0)
            cells = (f"{seed} ({name})", one.n, a.value, ci(a), b.value, ci(b), gain, *spent)
            rows.append(TableRow(cells, {"seed": seed}, (one, two)))
        if len(pairs) > 1 and len({one.n for _, one, _ in pairs}) == 1:
            shares = [[float(x.right.mean()) for x in (one, two)] for _, one, two in pairs]
            a_, b_ = ([s[i] for s in shares] for i in (0, 1))
            spread = f"mean (sd {100 * stdev(a_):.1f}, {100 * stdev(b_):.1f})"
            means = (fmean(a_), BLANK, fmean(b_), BLANK, fmean(a_) - fmean(b_))
            cells = (spread, pairs[0][1].n, *means, BLANK, BLANK)
            rows.append(TableRow(cells, {"seed": "mean"}, ()))
    return rows or [not_run(SEEDS, "iris and town of one seed")]


FAIR = columns(
    "config, cap: count, n: count, acc: percent, tokens: number, cut: percent, against nothink: points, "
    "p (Holm): p"
)


def fair(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    """Is the loss an artefact of the cap? Against nothink at b: twice the cap, a forced answer, two passes."""
    direct = group.series("nothink")
    options = [b for b in direct if 2 * b in group.series("think")]
    base = chosen[0] if chosen else (options[len(options) // 2] if options else None)
    if base is None or base not in direct:
        return [not_run(FAIR, f"nothink@{base}" if base else "both modes at b and 2 b")]
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
            rows.append(not_run(FAIR, f"{name}@{b}", key=key))
            continue
        both = None if (name, b) == ("nothink", base) else same_questions(arm, direct[base])
        made = group.comparisons.between(arm.name, direct[base].name)
        found = summary(arm)
        cut = 1 - found.parts.ended_share if found.parts else None
        # Under two caps the pair is no member of the family, so it has a difference and no p.
        gap = BLANK if both is None else float(both[0].right.mean() - both[1].right.mean())
        compared = (gap, BLANK if made is None else made.p_holm)
        cells = (arm.name, b, arm.n, found.accuracy.value, found.mean_tokens, cut)
        rows.append(TableRow((*cells, *compared), key, (arm,) if both is None else (arm, direct[base])))
    return rows
