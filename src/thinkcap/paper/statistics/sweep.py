"""Names for plain arms (think@512, nothink@256 ...): one arm, both modes at one budget, and a whole sweep."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from thinkcap.core.errors import DataError
from thinkcap.diagnose.pairs import aligned, matched
from thinkcap.logs import COUNTED, Arm
from thinkcap.paper.estimators import by_length, median_of_finished, oracle, prefix_violations, random_share
from thinkcap.paper.statistics.values import Statistics, interval, percent, rounded, test
from thinkcap.statistics.arrays import Bools
from thinkcap.statistics.crossover import empirical, needed_share, needed_share_heuristic
from thinkcap.statistics.decompose import decompose, tax
from thinkcap.statistics.frontier import frontier
from thinkcap.statistics.paired import mcnemar
from thinkcap.statistics.precision import hoeffding_lower
from thinkcap.statistics.predict import held_out
from thinkcap.statistics.route import Both, cascade_grid, replay
from thinkcap.statistics.survival import Survival, survival


def arm_table(arm: Arm) -> Statistics:
    """`think@512.correct_n` and the rest of one arm."""
    k = int(arm.right.sum())
    table: Statistics = {
        "correct_n": [k, arm.n],
        "accuracy_pct": percent(k / arm.n),
        "wilson95": interval(k, arm.n),
    }
    if arm.tokens is not None:
        table["mean_tokens"] = rounded(float(arm.tokens.mean()))
    events = {"lt_b": arm.below(), "lt_095b": arm.below(0.95), "flag": arm.flag}
    if arm.criterion not in (COUNTED, "unknown") and arm.ended is not None:
        events["ended"] = arm.ended
    for name, event in events.items():
        if event is not None:
            parts = decompose(event, arm.right)
            table[f"stop_{name}"] = [parts.ended, arm.n]
            table[f"alpha_c_{name}"] = [parts.right_ended, parts.ended]
            table[f"alpha_t_{name}"] = [parts.right_cut, parts.cut]
    below = arm.below()
    if below is not None and arm.tokens is not None:
        table["median_of_uncensored_only"] = _whole(median_of_finished(arm.tokens, below))
        if arm.flag is not None:
            wrongly = below & ~arm.flag
            table["falsely_escalated"] = [int(wrongly.sum()), int((wrongly & arm.right).sum())]
            table["truly_truncated"] = [int((~below).sum()), int((~below & arm.right).sum())]
    table |= _stored(arm)
    return {f"{arm.name}.{key}": value for key, value in table.items()}


def _whole(value: float | None) -> int | float | None:
    return int(value) if value is not None and value == int(value) else value


def _stored(arm: Arm) -> Statistics:
    """From columns only some logs have."""
    table: Statistics = {}
    if "has_final" in arm.extra:
        marked = np.asarray(arm.extra["has_final"], dtype=np.bool_)
        table["has_final"] = [int(marked.sum()), int((marked & arm.right).sum())]
    if "level" in arm.extra:
        levels = arm.extra["level"]
        table["by_level"] = {
            str(v): [int(arm.right[levels == v].sum()), int((levels == v).sum())] for v in np.unique(levels)
        }
    if "pred" in arm.extra and "gold" in arm.extra:
        open_braces = unbalanced(arm)
        cut = [_bare(g).startswith(_bare(p)) for p, g in zip(arm.extra["pred"], arm.extra["gold"], strict=True)]
        wrong = open_braces & ~arm.right & np.asarray(cut, dtype=np.bool_)
        name = "unbalanced_preds__marked_wrong_but_prefix_of_gold"
        table[name] = [int(open_braces.sum()), int(wrong.sum())]
    return table


def _bare(text: object) -> str:
    """Spaces and the display size of fractions do not make another answer."""
    return str(text).replace(" ", "").replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")


def unbalanced(arm: Arm) -> Bools:
    """Answers with unequal braces: a parser cut them."""
    return np.asarray([str(p).count("{") != str(p).count("}") for p in arm.extra["pred"]], dtype=np.bool_)


def pair_table(nothink: Arm, think: Arm) -> Statistics:
    """`b512.tax_pp` and the rest of both modes at one budget, split by the arm's own criterion."""
    direct, thought, _ = matched(nothink, think)
    event = thought.ended
    if event is None:
        return {
            f"b{think.budget}.tax_pp": percent(float(direct.right.mean() - thought.right.mean())),
            f"b{think.budget}.mcnemar_nothink_vs_think": test(
                mcnemar(direct.right, thought.right, direct.repeats)
            ),
        }
    by = "lt_b" if thought.criterion == COUNTED else "ended"
    cost = tax(direct.right, event, thought.right)
    a_c, a_t = cost.think.alpha_c, cost.think.alpha_t
    table: Statistics = {
        f"F_ac_at_{by}": [rounded(cost.think.ended_share), rounded(a_c), rounded(a_t)],
        "tax_pp": percent(cost.tax),
    }
    if cost.truncation_loss is None:
        table["TL_RR_undefined"] = True
    else:
        table |= {"TL_pp": percent(cost.truncation_loss), "RR_pp": percent(cost.reasoning_gap)}
    table["same_subset_pp"] = [percent(cost.same_subset.ended), percent(cost.same_subset.cut)]
    if a_c is not None:
        table["F_star_exact"] = rounded(needed_share(cost.nothink_accuracy, a_c, a_t))
        table["F_star_heuristic"] = rounded(needed_share_heuristic(cost.nothink_accuracy, a_c))
    table["mcnemar_nothink_vs_think"] = test(mcnemar(direct.right, thought.right))
    named = {f"b{think.budget}.{key}": value for key, value in table.items()}
    if a_c is not None:
        named[f"hoeffding_lower_alpha_c@{think.budget}"] = rounded(hoeffding_lower(a_c, cost.think.ended))
    return named


def series_table(nothink: Sequence[Arm], think: Sequence[Arm]) -> Statistics:
    """Across budgets: chain lengths, prefixes, frontier, crossover, predictions. Arms sorted by budget."""
    table: Statistics = {}
    if think and think[-1].tokens is not None and think[-1].ended is not None:
        table |= _lengths(think)
    table |= _prefixes(think, "prefix_len_violations")
    table |= _prefixes(nothink, "nothink_prefix_len_violations")
    if len(think) > 1:
        table |= _frontier(think)
    return table | _crossing(nothink, think)


def _lengths(think: Sequence[Arm]) -> Statistics:
    longest = think[-1]
    curve = survival(longest.lengths, longest.ends)
    finished = median_of_finished(longest.lengths, longest.ends)
    table: Statistics = {
        "km_median": _whole(curve.median),
        "km_q25_q75": [_whole(curve.quantile(0.25)), _whole(curve.quantile(0.75))],
        "km_F_at_budgets": {str(a.budget): rounded(_ending(curve, a)) for a in think},
        "median_of_uncensored_only": _whole(finished),
    }
    return table


def _ending(curve: Survival, arm: Arm) -> float:
    """F at an arm's budget: P(L < b) where ends are told by counts, P(L <= b) where the end itself was seen."""
    budget = arm.budget or 0
    return curve.below(budget) if arm.criterion == COUNTED else curve.at(budget)


def _prefixes(arms: Sequence[Arm], name: str) -> Statistics:
    table: Statistics = {}
    counted = [a for a in arms if a.tokens is not None]
    for short in counted[:-1]:
        long = counted[-1]
        if short.budget != long.budget:
            a, b, _ = matched(short, long)
            wrong = prefix_violations(a.lengths, b.lengths, short.budget or 0)
            table[f"{name}_{short.budget}_{long.budget}"] = [wrong, a.n]
    return table


def _frontier(think: Sequence[Arm]) -> Statistics:
    arms = aligned(think)
    budgets = [a.budget or 0 for a in arms]
    found = frontier(budgets, np.stack([a.right for a in arms], axis=1))
    return {
        "frontier_min_budget": {str(b): k for b, k in found.by_budget.items()},
        "oracle_cost_nominal_charged_skipped": [rounded(found.cost_charged), rounded(found.cost_skipped)],
        "union_accuracy": [found.solved, found.n],
    }


def _crossing(nothink: Sequence[Arm], think: Sequence[Arm]) -> Statistics:
    by_budget = {a.budget: a for a in nothink}
    common = [(by_budget[t.budget], t) for t in think if t.budget in by_budget]
    table: Statistics = {}
    if len(common) > 1:
        taxes = [float(n.right.mean() - t.right.mean()) for n, t in common]
        budgets = [t.budget or 0 for _, t in common]
        table["tax_by_budget_pp"] = {str(b): percent(v, 4) for b, v in zip(budgets, taxes, strict=True)}
        table["empirical_crossover_interval"] = list(empirical(budgets, taxes).interval)
    if not think or think[-1].ended is None or think[-1].tokens is None:
        return table
    curve = survival(think[-1].lengths, think[-1].ends)
    # Six fits say all there is to say; a fine sweep would print hundreds of pairs.
    fits = think if len(think) <= 6 else think[:: len(think) // 6]
    for arm in fits:
        if arm.ended is None:
            continue
        parts = decompose(arm.ends, arm.right)
        if nothink and len(think) > 1 and parts.alpha_c is not None:
            share = needed_share_heuristic(float(nothink[-1].right.mean()), parts.alpha_c)
            at = None if share is None or share > 1 else curve.quantile(share)
            table[f"predicted_b_star_heuristic_from_{arm.budget}"] = _whole(at)
        for target in think:
            if (target.budget or 0) > (arm.budget or 0):
                guess = held_out(_ending(curve, target), parts.alpha_c, parts.alpha_t)
                seen = float(target.right.mean())
                table[f"heldout_pred_{target.budget}_from_{arm.budget}"] = [percent(guess), percent(seen)]
    return table


def routing_table(nothink: Sequence[Arm], think: Sequence[Arm]) -> Statistics:
    """Cascades replayed over stored outcomes of both modes: `town_grid.*` and `router.*`."""
    usable = [a for a in (*nothink, *think) if a.tokens is not None and a.budget is not None]
    if not nothink or not think or len(usable) != len(nothink) + len(think):
        return {}
    try:
        arms = aligned(usable)
    except DataError:
        return {}
    direct = {a.budget or 0: a for a in arms[: len(nothink)]}
    thought = {a.budget or 0: a for a in arms[len(nothink) :]}
    table: Statistics = {}
    for rule in ("flag", "lt_b"):
        table |= _grid(rule, direct, thought)
    for b1, b2 in product(direct, thought):
        if b2 > b1:
            for name, value in _routers(direct[b1], thought[b2]).items():
                table[f"router.{b1}_{b2}.{name}"] = value
                if (b1, b2) == (256, 512):
                    table[f"router.{name}"] = value
    return table


def _grid(rule: str, direct: dict[int, Arm], thought: dict[int, Arm]) -> Statistics:
    events = {b: (a.flag if rule == "flag" else a.below()) for b, a in direct.items()}
    if any(e is None for e in events.values()):
        return {}
    first = {b: (a.right, events[b], a.lengths) for b, a in direct.items()}
    second = {b: (a.right, a.lengths) for b, a in thought.items()}
    return {
        f"town_grid.{rule}.{b1}_{b2}": [
            found.right,
            rounded(found.mean_tokens, 4),
            found.routed,
            found.recovered,
            found.regretted,
        ]
        for (b1, b2), found in cascade_grid(first, second).items()  # type: ignore[arg-type]
    }


def _routers(direct: Arm, thought: Arm) -> Statistics:
    runs = Both(direct.right, thought.right, direct.lengths, thought.lengths)
    event = direct.flag if direct.flag is not None else direct.below()
    assert event is not None
    share = float((~event).sum()) / direct.n
    everything = replay(runs, np.ones(runs.n, dtype=np.bool_))
    chance = random_share(runs, share, draws=0)
    best = oracle(runs)
    short = by_length(runs, share, longest=False)
    return {
        "full_Rplus_Rminus": [everything.recovered, everything.regretted],
        "random_closed_form": [
            rounded(chance.recovered),
            rounded(chance.regretted),
            percent(chance.accuracy),
        ],
        "oracle": [best.routed, percent(best.accuracy), rounded(best.mean_tokens)],
        "inverse_length": [short.recovered, short.regretted],
    }
