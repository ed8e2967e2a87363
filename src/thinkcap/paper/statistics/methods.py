"""Names for the other kinds of records: refinement rounds, splits, the 2x2, votes, and stored texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from thinkcap.diagnose.pairs import aligned, matched
from thinkcap.logs import Arm
from thinkcap.paper.estimators import prefix_violations, top_class_size
from thinkcap.paper.statistics.values import Statistics, counted, percent, rounded, test
from thinkcap.statistics.cost import cost_bound
from thinkcap.statistics.gates import calibrate, gate, split_half
from thinkcap.statistics.modal import two_by_two
from thinkcap.statistics.paired import mcnemar
from thinkcap.statistics.survival import survival
from thinkcap.statistics.taxonomy import failures

_CALIBRATION = 100
"""Questions on which a gate's threshold is chosen; the rest test it."""


def mrsd_table(arms: Sequence[Arm]) -> Statistics:
    """Four methods on the same questions, and the rounds of the last."""
    nothink, town, iris, mrsd = (
        next(a for a in arms if a.policy == p) for p in ("nothink", "town", "iris", "mrsd")
    )
    table: Statistics = {f"{a.policy}.correct": [int(a.right.sum()), a.n] for a in (nothink, town, iris, mrsd)}
    sent = np.asarray(mrsd.extra["stage"] != "probe")
    agreed = np.asarray(mrsd.extra["converged"], dtype=np.bool_)
    rounds = np.asarray(mrsd.extra["rounds"], dtype=np.int64)
    table["mrsd.mean_tokens"] = rounded(float(mrsd.lengths.mean()))
    table["mrsd.round_counts"] = counted(rounds)
    table["escalated_n_correct_nothink_town_iris_mrsd"] = [
        int(sent.sum()),
        *(int((a.right & sent).sum()) for a in (nothink, town, iris, mrsd)),
    ]
    table["converged_all"] = [int(agreed.sum()), mrsd.n]
    table["converged_escalated"] = [int((agreed & sent).sum()), int(sent.sum())]
    for other in (nothink, town, iris):
        table[f"mcnemar_mrsd_vs_{other.policy}"] = test(mcnemar(mrsd.right, other.right))
    for name, rows in (("", slice(None)), ("_first100", slice(0, 100))):
        found = failures(mrsd.right[rows], sent[rows], nothink.right[rows])
        table[f"failure_F1_F2_F3{name}"] = [found.false_accept, found.still_wrong, found.regression]
    if sent.any() and not sent.all():
        first = np.asarray(mrsd.extra["tokens_first"], dtype=np.int64)
        own = mrsd.stages
        kept, spent, loops = 1 - float(sent.mean()), float(first[~sent].mean()), float(rounds[sent].mean())
        bound = cost_bound(
            kept, spent, loops, own.first or 0, own.think or 0, own.answer or 0, rounds=own.rounds or 1
        )
        table["cost_bound_p_t1_K_bound"] = [
            rounded(kept),
            rounded(spent),
            rounded(loops),
            rounded(bound.expected_at_most),
        ]
    if "trace" in mrsd.extra:
        traces, golds = mrsd.extra["trace"], mrsd.extra["gold"]
        table["raw_think_nonempty"] = sum(1 for t in traces if t)
        table["raw_think_has_close_tag"] = sum(1 for t in traces if "</think>" in t)
        table["raw_think_gold_string_present"] = sum(
            1 for t, g in zip(traces, golds, strict=True) if t and _bare(g) and _bare(g) in _bare(t)
        )
    return table


def _bare(text: str) -> str:
    return text.replace(" ", "")


def split_table(arms: Sequence[Arm]) -> Statistics:
    """Every division of a total, and the tests at the same total."""
    table: Statistics = {}
    by_key = {}
    for a in arms:
        total, (br, ba) = a.budget or 0, _divided(a)
        right = int(a.right.sum())
        table[f"split.{total}_{a.policy}_{br}_{ba}"] = [right, a.n, rounded(float(a.lengths.mean()))]
        by_key[a.policy, total, br, ba] = a
    for (policy, total, br, ba), a in by_key.items():
        if policy != "split":
            continue
        for name, other in (("think", ("think", total, total, 0)), ("nothink", ("nothink", total, 0, total))):
            if other in by_key:
                one, two, _ = matched(a, by_key[other])
                if name == "think":
                    table[f"mcnemar_split{br}_{ba}_vs_think{total}"] = test(mcnemar(one.right, two.right))
                else:
                    table[f"mcnemar_nothink{total}_vs_split{br}_{ba}"] = test(mcnemar(two.right, one.right))
    return table


def _divided(arm: Arm) -> tuple[int, int]:
    """Tokens to think and to answer; a plain mode spends all on the one or the other."""
    if arm.mode:
        return (arm.budget or 0, 0) if arm.mode == "think" else (0, arm.budget or 0)
    return arm.stages.think or 0, arm.stages.answer or 0


def factorial_table(arms: Sequence[Arm]) -> Statistics:
    cells = {f"{a.options['mode']}_{a.options['context']}": a for a in arms if a.policy == "answer_pass"}
    names = ("think_neutral", "think_extraction", "nothink_neutral", "nothink_extraction")
    rows = cells[names[0]].extra["stage"] == "answer"
    found = two_by_two(*(cells[c].right[rows] for c in names))
    return {
        "factorial.stage3_correct": [
            found.n,
            found.think_without,
            found.think_with,
            found.nothink_without,
            found.nothink_with,
        ],
        "factorial.interaction_pp": percent(found.interaction),
        "factorial.interaction_95_pp": [percent(found.low), percent(found.high)],
        "factorial.mcnemar_nothinkext_vs_thinkext": test(found.mode_test),
    }


def votes_table(votes: Arm, greedy: Arm, threshold: int = 3) -> Statistics:
    """A vote with a fallback: classes by exact text, as stored."""
    sc, other, _ = matched(votes, greedy)
    top = top_class_size([str(v).split("|") for v in sc.extra["votes"]])
    found = gate(top, sc.right, other.right, threshold=threshold)
    sure, low = found.confident, found.low
    honest: Statistics = {}
    if sc.n >= 4:
        halves = split_half(top, sc.right, other.right, threshold=threshold)
        honest[f"gate_ge{threshold}.split_half"] = [[h.right, h.n] for h in halves]
    if sc.n > _CALIBRATION:
        chosen = calibrate(top, sc.right, other.right, calibration=_CALIBRATION)
        honest["gate_calibrated"] = [chosen.setting, chosen.test.right, chosen.test.n]
    return honest | {
        "sc.correct_n": [int(sc.right.sum()), sc.n],
        "greedy.correct_n": [int(other.right.sum()), other.n],
        "sc.top_class_size": counted(top),
        f"gate_ge{threshold}_partition": [
            [sure.n, sure.first_right, sure.second_right],
            [low.n, low.first_right, low.second_right],
        ],
        f"gate_ge{threshold}.correct_n": [found.right, found.n],
        "mcnemar_gate_vs_sc": test(found.against_first),
        "mcnemar_gate_vs_greedy": test(found.against_second),
        "tokens_sc_greedy": [rounded(float(sc.lengths.mean())), rounded(float(other.lengths.mean()))],
    }


def fixed_table(arms: Sequence[Arm]) -> Statistics:
    """A CSV with several caps per question, with and without the projection pass."""
    table: Statistics = {}
    arms = sorted(arms, key=lambda a: a.budget or 0)
    for arm in arms:
        head, extra = f"b{arm.budget}", arm.extra["projection_tokens"]
        ended, good = arm.ends, arm.right
        stopped, right = int(ended.sum()), int((ended & good).sum())
        incl = rounded(float((arm.lengths + extra).mean()))
        table |= {
            f"{head}.correct_n": [int(good.sum()), arm.n],
            f"{head}.mean_tokens_incl_excl_projection": [incl, rounded(float(arm.lengths.mean()))],
            f"{head}.projection_used": [int(arm.extra["projected"].sum()), arm.n],
            f"{head}.stop_lt_b__alpha_c__alpha_t": [
                stopped,
                right,
                stopped,
                int((~ended & good).sum()),
                arm.n - stopped,
            ],
            f"{head}.text_has_close_think": sum(1 for t in arm.extra["text"] if "</think>" in t),
            f"{head}.text_has_balanced_boxed": sum(1 for t in arm.extra["text"] if _boxed(t)),
        }
    same = aligned(arms)
    for short, long in pairwise(same):
        lengths = prefix_violations(short.lengths, long.lengths, short.budget or 0)
        texts = sum(
            1
            for a, b in zip(short.extra["text"], long.extra["text"], strict=True)
            if not b.startswith(a.rstrip("\N{REPLACEMENT CHARACTER}"))
        )
        name = f"prefix_violations_{short.budget}_{long.budget}_length_text"
        table[name] = [lengths, texts, short.n]
    union = np.stack([a.right for a in same], axis=1)
    first = np.where(union.any(axis=1), np.argmax(union, axis=1), -1)
    tiers = {str(a.budget): int((first == i).sum()) for i, a in enumerate(same)}
    table["frontier_min_budget"] = {**tiers, "0": int((first == -1).sum())}
    last = arms[-1]
    table["km_median_chain"] = survival(last.lengths, last.ends).median
    return table


def _boxed(text: str) -> bool:
    for found in re.finditer(r"\\boxed\{", text):
        depth = 1
        for char in text[found.end() :]:
            depth += (char == "{") - (char == "}")
            if depth == 0:
                return True
    return False


def pool_table(arms: Sequence[Arm]) -> Statistics:
    """Several such files of one model and task, pooled."""
    table: Statistics = {}
    budgets = sorted({a.budget or 0 for a in arms})
    family = re.split(r"[_\-0-9]", arms[0].model or "run")[0].lower()
    task = arms[0].task.rstrip("0123456789")
    for b in budgets:
        same = [a for a in arms if a.budget == b]
        n = sum(a.n for a in same)
        tokens = np.concatenate([a.lengths + a.extra["projection_tokens"] for a in same])
        table[f"{family}_{task}_pool{n}.b{b}"] = [
            sum(int(a.right.sum()) for a in same),
            n,
            rounded(float(tokens.mean())),
            sum(int(a.extra["projected"].sum()) for a in same),
            sum(int(a.ended.sum()) for a in same if a.ended is not None),
        ]
    return table
