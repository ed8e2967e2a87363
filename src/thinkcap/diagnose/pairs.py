"""Which runs may be compared, by what, and with which result: the only place where two runs meet.

Two arms of one model on one task are compared where they had the same total cap, or where their first try and
their thinking had the same budgets. All comparisons of a diagnosis are one family for Holm's adjustment.

    found = compare(configurations(records.arms))
    found.between("iris(first=16,think=96)@144", "town(first=16,second=96)@112")
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from thinkcap.core.errors import DataError
from thinkcap.diagnose.passes import reading, thinks
from thinkcap.diagnose.runs import Configuration, by_model_and_task
from thinkcap.logs import Arm
from thinkcap.statistics.arrays import Ints
from thinkcap.statistics.paired import PairedDifference, difference, holm, least_detectable

MANY = 6
"""Where more ways than this were run at one cap, each is compared with the plain modes and its own kind only."""

_SMALL = 100
"""Below this many questions, the smallest difference that a test would detect is worth saying."""


@dataclass(frozen=True)
class Comparison:
    """Two arms on the same questions. The difference is the first's accuracy minus the second's."""

    model: str
    task: str
    first: str
    second: str
    matched_by: str
    """`cap`: the same total; `stages`: the same first try and the same thinking."""
    result: PairedDifference
    p_holm: float
    least_detectable: float | None
    """At fewer than 100 questions: the smallest difference the test would see with power 0.8."""

    @property
    def n(self) -> int:
        return self.result.test.n

    @property
    def difference(self) -> float:
        return self.result.test.difference

    @property
    def clear(self) -> bool:
        return self.p_holm < 0.05

    def turned(self) -> Comparison:
        """The same comparison with the two arms exchanged."""
        test = replace(
            self.result.test, only_first=self.result.test.only_second, only_second=self.result.test.only_first
        )
        result = replace(self.result, test=test, low=-self.result.high, high=-self.result.low)
        return replace(self, first=self.second, second=self.first, result=result)

    def to_dict(self) -> dict[str, Any]:
        """As `comparisons` of docs/diagnosis.md has it."""
        test = self.result.test
        names = {k: getattr(self, k) for k in ("model", "task", "first", "second", "matched_by")}
        counts = {"n": test.n, "only_first": test.only_first, "only_second": test.only_second}
        return {**names, **counts, "difference": test.difference, "p": test.p, "p_holm": self.p_holm}


@dataclass(frozen=True)
class Refused:
    """Two arms that would have been compared, and why they were not."""

    model: str
    task: str
    first: str
    second: str
    reason: str


@dataclass(frozen=True)
class Comparisons:
    """One family."""

    made: tuple[Comparison, ...] = ()
    refused: tuple[Refused, ...] = ()

    def of(self, model: str, task: str) -> Comparisons:
        """Those of one model on one task; their p stays that of the whole family."""
        here = (model, task)
        return Comparisons(
            tuple(c for c in self.made if (c.model, c.task) == here),
            tuple(r for r in self.refused if (r.model, r.task) == here),
        )

    def between(self, first: str, second: str) -> Comparison | None:
        """The comparison of two arms by name, turned so that the first named is the first."""
        for found in self.made:
            if (found.first, found.second) == (first, second):
                return found
            if (found.second, found.first) == (first, second):
                return found.turned()
        return None

    def to_list(self) -> list[dict[str, Any]]:
        return [c.to_dict() for c in self.made]


def compare(found: Sequence[Configuration]) -> Comparisons:
    """Every comparison these configurations allow, adjusted as one family."""
    groups = by_model_and_task(c.arm for c in found).values()
    pairs = [pair for arms in groups for pair in comparable(arms)]
    made: list[Comparison] = []
    refused: list[Refused] = []
    for (one, two, by), outcome in zip(pairs, tested([(a, b) for a, b, _ in pairs]), strict=True):
        names = (one.model, one.task, one.name, two.name)
        if isinstance(outcome, DataError):
            refused.append(Refused(*names, str(outcome)))
            continue
        result, p_holm = outcome
        small = least_detectable(result.questions) if result.questions < _SMALL else None
        made.append(Comparison(*names, by, result, p_holm, small))
    return Comparisons(tuple(made), tuple(refused))


def tested(pairs: Sequence[tuple[Arm, Arm]]) -> list[tuple[PairedDifference, float] | DataError]:
    """Each pair's difference with its p after Holm over all of them, or why the two cannot be compared."""
    done: list[PairedDifference | DataError] = []
    for one, two in pairs:
        try:
            first, second, how = matched(one, two)
            done.append(difference(first.right, second.right, how, first.repeats))
        except DataError as err:
            done.append(err)
    adjusted = holm({i: d.test.p for i, d in enumerate(done) if not isinstance(d, DataError)})
    return [d if isinstance(d, DataError) else (d, adjusted[i]) for i, d in enumerate(done)]


def comparable(arms: Sequence[Arm]) -> Iterator[tuple[Arm, Arm, str]]:
    """(first, second, matched by) of all that may be compared among the arms of one model on one task."""
    ordered = sorted(arms, key=_elaborate)
    by_cap: dict[int | None, list[Arm]] = {}
    by_stages: dict[tuple[int | None, int | None], list[Arm]] = {}
    for arm in ordered:
        by_cap.setdefault(arm.budget, []).append(arm)
    for same in by_cap.values():
        strict = reading(same)
        loose = [a for a in same if thinks(a) and a.policy != strict]
        ways = [a for a in same if not thinks(a) or a.policy == strict]
        for one, two in combinations(ways, 2):
            if len(ways) <= MANY or one.mode or two.mode or _same_first(one, two):
                yield one, two, "cap"
        # A looser reading of the same chains is no way of its own: it meets the answer without thinking only.
        direct = [a for a in ways if a.method == "nothink"]
        yield from ((one, two, "cap") for one in loose for two in direct)
        for arm in ways:
            by_stages.setdefault(_stages(arm), []).append(arm)
    for (_, thinking), same in by_stages.items():
        for one, two in combinations(sorted(same, key=_elaborate), 2):
            if thinking is not None and one.budget != two.budget:
                yield one, two, "stages"


def matched_by(one: Arm, two: Arm) -> str | None:
    """`cap` where both may spend the same in all, `stages` where first try and thinking had the same budgets."""
    if one.budget == two.budget:
        return "cap"
    return "stages" if _stages(one) == _stages(two) and _stages(one)[1] is not None else None


def _same_first(one: Arm, two: Arm) -> bool:
    return one.stages.first is not None and one.stages.first == two.stages.first


def _stages(arm: Arm) -> tuple[int | None, int | None]:
    """Budgets of the first try and of the thinking; one call in thinking mode thinks with all it has."""
    return arm.stages.first, arm.budget if thinks(arm) else arm.stages.think


def _elaborate(arm: Arm) -> tuple[Any, ...]:
    """The method made of most passes first, the plain modes last, so that a difference is what a method adds."""
    plain = 2 if arm.policy == "nothink" else 1 if thinks(arm) else 0
    return (
        plain,
        -(arm.stages.rounds or 1),
        -bool(arm.stages.answer),
        -bool(arm.stages.first),
        arm.policy,
        arm.budget or 0,
        arm.name,
    )


def matched(first: Arm, second: Arm) -> tuple[Arm, Arm, str]:
    """Both arms on their common judged questions, row by row, and on what evidence these are the same.

    Refuses what cannot be shown to be the same questions. Seeds are paired with seeds; an arm of one seed meets
    that seed of the other.
    """
    first, second = _one_seed(first.judged(), second), _one_seed(second.judged(), first)
    if first.file == second.file and first.order is None and first.content is None:
        # One file, one run: its own ids are the evidence.
        first, second = replace(first, order=first.file), replace(second, order=second.file)
    one, two = _keys(first, second)
    if np.array_equal(one, two) and _same_content(first, second):
        return first, second, "id and content" if first.content is not None else "id within one run"
    for arm, keys in ((first, one), (second, two)):
        if arm.status != "actual":
            raise DataError(f"{arm.label} is {arm.status}, not actual: records that nobody ran cannot be paired")
        if len(np.unique(keys)) < len(keys):
            raise DataError(f"{arm.label} answers some question twice; a paired test needs one answer each")
    common, i, j = np.intersect1d(one, two, assume_unique=True, return_indices=True)
    if len(common) == 0:
        raise DataError(f"{first.label} and {second.label} share no question id; nothing to pair")
    keep = np.argsort(i, kind="stable")
    a, b = first.take(i[keep]), second.take(j[keep])
    return a, b, _evidence(a, b)


def _evidence(first: Arm, second: Arm) -> str:
    """What shows that rows with the same ids are the same questions; refuses where nothing does."""
    names = f"{first.label} and {second.label}"
    if first.content is not None and second.content is not None:
        same = int((first.content == second.content).sum())
        if same < first.n:
            raise DataError(
                f"{names} have the same id on {first.n} questions but the same gold or text on {same}: these are "
                f"different questions, so no paired test"
            )
        return "id and content"
    if first.order is not None and first.order == second.order:
        return f"id in the declared order {first.order}"
    raise DataError(
        f"{names} share ids, but no gold or text was stored to prove the questions equal, and their declared "
        f"orders differ ({first.order} and {second.order})"
    )


def aligned(arms: Sequence[Arm]) -> list[Arm]:
    """All arms on the questions common to them, row by row. Refuses what `matched` refuses."""
    if not arms:
        return []
    base = arms[0].judged()
    for other in arms[1:]:
        base, _, _ = matched(base, other)
    return [base, *(matched(base, a)[1] for a in arms[1:])]


def _one_seed(arm: Arm, other: Arm) -> Arm:
    """Of pooled seeds the other arm's, or the least, where the other has only one: an answer counts once."""
    seeds = arm.extra.get("seed")
    if seeds is None or len(seeds) == 0 or "seed" in other.extra:
        return arm
    chosen = other.seed if other.seed is not None and bool((seeds == other.seed).any()) else seeds.min()
    return arm.take(np.asarray(seeds == chosen))


def _keys(first: Arm, second: Arm) -> tuple[Ints, Ints]:
    """What tells rows apart: the question, and the seed where both arms have several."""
    if "seed" not in first.extra or "seed" not in second.extra:
        return first.question, second.question
    known = np.union1d(first.extra["seed"], second.extra["seed"])
    one, two = (a.question * len(known) + np.searchsorted(known, a.extra["seed"]) for a in (first, second))
    return one, two


def _same_content(first: Arm, second: Arm) -> bool:
    """The quick way for arms that stand row by row; anything doubtful goes the long way."""
    if first.status != "actual" or second.status != "actual":
        return False
    if first.content is None or second.content is None:
        return first.order is not None and first.order == second.order
    return bool(np.array_equal(first.content, second.content))


def aligned_or_none(arms: Iterable[Arm]) -> list[Arm] | None:
    """`aligned`, or None where it refuses."""
    try:
        return aligned(list(arms))
    except DataError:
        return None
