"""Names for cascades (iris, town): by stage, against each other, and with their tokens charged as generated."""

from __future__ import annotations

import numpy as np

from thinkcap.diagnose.pairs import matched
from thinkcap.logs import Arm
from thinkcap.paper.statistics.values import Statistics, counted, interval, percent, rounded, test
from thinkcap.statistics.arrays import Bools, Ints
from thinkcap.statistics.paired import mcnemar


def _stage(arm: Arm) -> Ints:
    """1, 2, 3: the first try, the thought, the pass after it."""
    names = arm.extra["stage"]
    return np.select([names == "probe", names == "think"], [1, 2], 3)


def _right(arm: Arm, rows: Bools) -> int:
    return int((arm.right & rows).sum())


def iris_table(arm: Arm) -> Statistics:
    stage = _stage(arm)
    sizes = [int((stage == s).sum()) for s in (1, 2, 3)]
    right = [_right(arm, stage == s) for s in (1, 2, 3)]
    total = int(arm.right.sum())
    table: Statistics = {
        "iris.correct_n": [total, arm.n],
        "iris.wilson95": interval(total, arm.n),
        "iris.stage_counts_1_2_3": sizes,
        "iris.stage_correct_1_2_3": right,
        "iris.stage3_wilson95": interval(right[2], sizes[2]),
        "stage1_ppv": [right[0], sizes[0]],
        "first200_correct": int(arm.right[:200].sum()),
    }
    table |= {f"first{k}_correct": int(arm.right[:k].sum()) for k in (50, 100) if arm.n > k}
    escalated = sizes[1] + sizes[2]
    if escalated:
        table["natstop_escalated"] = [sizes[1], escalated, rounded(sizes[1] / escalated)]
        table["rho_escalated"] = rounded(sizes[2] / escalated)
    if arm.tokens is not None:
        table["iris.mean_tokens"] = rounded(float(arm.tokens.mean()))
        b1, b2 = arm.stages.first, arm.stages.think
        if b1 and b2:
            table["stage2_that_used_full_cap"] = int(((stage == 2) & (arm.tokens == b1 + b2)).sum())
    if "s2_stop" in arm.extra:
        reasons = counted(arm.extra["s2_stop"])
        table |= {"iris.s2_stop_reason": reasons, "s2_stop_reason": reasons}
    if "pred_source" in arm.extra:
        source = arm.extra["pred_source"]
        table["pred_source_counts"] = counted(source)
        third = source[stage == 3]
        table["stage3_correct_by_source"] = {
            str(s): [int((arm.right[stage == 3] & (third == s)).sum()), int((third == s).sum())]
            for s in sorted(set(third))
        }
    return table


def town_table(arm: Arm) -> Statistics:
    table: Statistics = {"town.correct_n": [int(arm.right.sum()), arm.n]}
    if arm.tokens is None:
        return table
    table["town.mean_tokens"] = rounded(float(arm.tokens.mean()))
    b1, b2 = arm.stages.first, arm.stages.think
    if b1 and b2:
        sent = _stage(arm) != 1
        short = sent & (arm.tokens < b1 + b2)
        table[f"escalated_total_lt_{b1}_plus_b"] = [
            int(short.sum()),
            int(sent.sum()),
            _right(arm, short),
            _right(arm, sent & ~short),
        ]
    return table


def pair_table(iris: Arm, town: Arm) -> Statistics:
    one, two, _ = matched(iris, town)
    stage, sent = _stage(one), _stage(two) != 1
    third = stage == 3
    table: Statistics = {
        "mcnemar_iris_vs_town": test(mcnemar(one.right, two.right)),
        "escalated_n_iris_town_correct": [int(sent.sum()), _right(one, sent), _right(two, sent)],
        "stage3_pair_iris_only_town_only": [
            int(third.sum()),
            *test(mcnemar(one.right[third], two.right[third])),
        ],
    }
    for s in (1, 2):
        rows = stage == s
        table[f"stage{s}_n_iris_town_correct"] = [int(rows.sum()), _right(one, rows), _right(two, rows)]
    if third.any():
        a_e, a_t = float(one.right[third].mean()), float(two.right[third].mean())
        gain = percent((a_e - a_t) * int(third.sum()) / one.n)
        table["stage3_alpha_e_alpha_t_recoverable_pp"] = [rounded(a_e), rounded(a_t), gain]
    if "s2_stop" in one.extra and one.tokens is not None and two.tokens is not None:
        cut = np.asarray(one.extra["s2_stop"] == "iris_entropy", dtype=np.bool_)
        table["entropy_stopped_n_iris_town_correct"] = [int(cut.sum()), _right(one, cut), _right(two, cut)]
        # Such a trace was generated in full and cut afterwards: it cost what the other arm generated.
        charged = np.where(cut, np.maximum(one.tokens, two.tokens), one.tokens)
        table["iris.mean_tokens_if_generated_tokens_are_charged"] = rounded(float(charged.mean()))
    return table


def against_nothink(iris: Arm, nothink: Arm) -> Statistics:
    """The probe's own file beside the cascade: same routing, same questions, another parser?"""
    one, two, _ = matched(iris, nothink)
    first = _stage(one) == 1
    b = nothink.budget
    table: Statistics = {
        f"mcnemar_iris_vs_nothink{b}": test(mcnemar(one.right, two.right)),
        "escalated_nothink_correct": [_right(two, ~first), int((~first).sum())],
        f"stage1_items_correct_iris_vs_nothink{b}file": [
            int(first.sum()),
            _right(one, first),
            _right(two, first),
        ],
    }
    if two.flag is not None:
        table[f"stage1_equals_nothink{b}_flag"] = [int((first == two.flag).sum()), one.n]
    return table


def two_runs(first: Arm, second: Arm) -> Statistics:
    """Two iris arms that differ in the answer budget or in the reasoning budget.

    The paper names the two answer budgets in either order, so both names are there.
    """
    one, two, _ = matched(first, second)
    table: Statistics = {}
    for what, head in (("answer", "ba"), ("think", "iris")):
        a, b = getattr(first.stages, what), getattr(second.stages, what)
        if a is None or b is None or a == b:
            continue
        high, low = (one, two) if a > b else (two, one)
        name = f"mcnemar_{head}{max(a, b)}_vs_{head}{min(a, b)}"
        table[name] = test(mcnemar(high.right, low.right))
        if what == "answer":
            for think in (first.stages.think, second.stages.think):
                table[f"{name}_iris{think}"] = table[name]
            for k in (k for k in (50, 100, 200) if one.n >= k):
                right = {a: int(one.right[:k].sum()), b: int(two.right[:k].sum())}
                for x, y in ((a, b), (b, a)):
                    table[f"first{k}_correct_ba{x}_ba{y}"] = [right[x], right[y]]
    return table
