"""Which names apply to which arms: the one place that knows all kinds of records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from thinkcap.core.errors import DataError
from thinkcap.diagnose.pairs import matched
from thinkcap.diagnose.runs import by_model_and_task, leading
from thinkcap.logs import Arm, Records
from thinkcap.paper.authors_about import TEST_ROWS, Format, is_format, seed_order
from thinkcap.paper.statistics import cascade, methods, sweep, texts
from thinkcap.paper.statistics.values import Statistics, test
from thinkcap.statistics.paired import mcnemar


def statistics(records: Records) -> Statistics:
    """Every statistic these arms allow, under its name. Models and tasks that differ get a prefix of their own.

    Of several runs of one configuration the one with the most questions gives the value, whatever their order.
    """
    table: Statistics = {}
    # What is written last stands, so the run that leads comes last.
    ordered = sorted(records.arms, key=leading, reverse=True)
    groups = by_model_and_task(ordered)
    for (model, task), arms in groups.items():
        found = _one_model(arms)
        for prefix in _prefixes(model, task, alone=len(groups) == 1):
            table |= {prefix + name: value for name, value in found.items()}
    return table | _between(ordered)


def size_of(model: str) -> str:
    found = re.search(r"(\d{1,6}(?:\.\d{1,6})?)[Bb](?![a-z])", model)
    return f"{found[1]}B" if found else ""


def _prefixes(model: str, task: str, *, alone: bool) -> list[str]:
    size, subject = size_of(model), task.rstrip("0123456789") if task.startswith("math") else ""
    names = [""] if alone else []
    if size:
        names.append(f"{size}.")
        if task:
            names.append(f"{size}_{task}.")
    if subject:
        names.append(f"{subject}.")
    return names or ([f"{model}."] if model else [f"{task}."] if task else [""])


def _plain(arms: Sequence[Arm], mode: str) -> list[Arm]:
    """One arm per budget; several files at one budget are kept apart by the caller."""
    found = [a for a in arms if a.policy == mode and a.budget is not None and not is_format(a, Format.FIXED)]
    return sorted(found, key=lambda a: a.budget or 0)


def _one_model(arms: Sequence[Arm]) -> Statistics:
    table: Statistics = {}
    csv = [a for a in arms if is_format(a, Format.FIXED)]
    by_file: dict[str, list[Arm]] = {}
    for a in arms:
        by_file.setdefault(a.file, []).append(a)
    split = [a for a in arms if is_format(a, Format.SPLIT)]
    swept = [a for a in arms if not is_format(a, Format.SPLIT, Format.MRSD, Format.TEXTS)]
    table |= _sweep(_plain(swept, "nothink"), _plain(swept, "think"))
    if split:
        table |= methods.split_table(split)
    for same in by_file.values():
        if is_format(same[0], Format.MRSD):
            table |= methods.mrsd_table(same)
        elif is_format(same[0], Format.FACTORIAL):
            table |= methods.factorial_table(same)
        elif is_format(same[0], Format.VOTES):
            votes, greedy = (next(a for a in same if a.policy == p) for p in ("sc", "greedy"))
            table |= methods.votes_table(votes, greedy)
        else:
            table |= _cascades(same)
    if csv:
        files = {a.file for a in csv}
        table |= methods.fixed_table(csv) if len(files) == 1 else methods.pool_table(csv)
    stored = [a for a in arms if is_format(a, Format.TEXTS)]
    for a in stored:
        table |= texts.text_table(a)
    for a, b in combinations(sorted(stored, key=lambda a: a.budget or 0), 2):
        table |= texts.prefix_table(a, b)
    return table


def _cascades(same: Sequence[Arm]) -> Statistics:
    table: Statistics = {}
    staged = [a for a in same if is_format(a, Format.CASCADE, Format.COMPACT)]
    for a in staged:
        if a.policy == "iris":
            table |= cascade.iris_table(a)
        elif a.policy == "town":
            table |= cascade.town_table(a)
    return table


def _sweep(nothink: Sequence[Arm], think: Sequence[Arm]) -> Statistics:
    table: Statistics = {}
    for arm in (*nothink, *think):
        table |= sweep.arm_table(arm)
    if _doubled(nothink) or _doubled(think):
        # Two runs at one budget are compared as runs, not strung into one sweep.
        return table
    by_budget = {a.budget: a for a in nothink}
    refused = False
    for arm in think:
        if arm.budget in by_budget:
            try:
                table |= sweep.pair_table(by_budget[arm.budget], arm)
            except DataError:
                refused = True
    if refused:
        return table
    table |= sweep.series_table(nothink, think)
    if nothink and think:
        table |= sweep.routing_table(nothink, think)
    for arm in (*nothink, *think):
        found = re.fullmatch(r"(\w+) shuffled by seed (\d+)", arm.order or "")
        if found and found[1] in TEST_ROWS:
            first = seed_order(int(found[2]), TEST_ROWS[found[1]])[:5]
            table[f"seed{found[2]}_order_first5"] = first
    return table


def _doubled(arms: Sequence[Arm]) -> bool:
    return len({a.budget for a in arms}) < len(arms)


def _between(arms: Sequence[Arm]) -> Statistics:
    """Statistics of two arms of different files or kinds; pairs that are not the same questions give none."""
    table: Statistics = {}
    cascades = [a for a in arms if is_format(a, Format.CASCADE, Format.COMPACT)]
    iris, town = ([a for a in cascades if a.policy == policy] for policy in ("iris", "town"))
    nothink = [a for a in arms if a.policy == "nothink" and a.budget]
    direct = [a for a in nothink if not is_format(a, Format.SPLIT, Format.MRSD)]
    split = [a for a in nothink if is_format(a, Format.SPLIT)]
    stored = [a for a in arms if is_format(a, Format.TEXTS)]
    thought = [a for a in arms if a.policy == "think" and not is_format(a, Format.TEXTS, Format.FIXED)]
    for one in iris:
        for two in town:
            if one.stages.think == two.stages.think:
                table |= _or_none(cascade.pair_table, one, two)
        for two in direct:
            table |= _or_none(cascade.against_nothink, one, two)
    for one, two in combinations(iris, 2):
        table |= _or_none(cascade.two_runs, one, two)
    for one in split:
        for two in direct:
            if one.budget == two.budget:
                table |= _or_none(_cross_run, one, two)
    equal = {}
    for one in sorted(stored, key=lambda a: a.budget or 0):
        for two in thought:
            if one.budget == two.budget:
                try:
                    equal[one.budget] = texts.same_lengths(one, two)
                except DataError:
                    continue
    if equal:
        table["entropy.tokens_equal_main_run"] = list(equal.values())
    return table


def _or_none(make: object, one: Arm, two: Arm) -> Statistics:
    try:
        return make(one, two)  # type: ignore[operator, no-any-return]
    except DataError:
        return {}


def _cross_run(pilot: Arm, full: Arm) -> Statistics:
    """The same configuration run twice: flips one way mean a change, not noise."""
    one, two, _ = matched(pilot, full)
    table: Statistics = {f"nothink{pilot.budget}_pilot_only_full_only": test(mcnemar(one.right, two.right))}
    if "pred" in two.extra:
        lost = one.right & ~two.right & sweep.unbalanced(two)
        table[f"nothink{pilot.budget}_pilot_only_with_unbalanced_full_pred"] = int(lost.sum())
    return table
