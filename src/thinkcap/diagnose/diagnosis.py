"""Records in, a diagnosis out: comparisons as one family, findings per model and task, runs that were repeated.

>>> diagnose(read([Path("rows.parquet")])).comparisons.made[0].p_holm      # doctest: +SKIP
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from thinkcap.core.errors import DataError
from thinkcap.diagnose.findings import Findings, findings
from thinkcap.diagnose.labelled import Labelled, labelled
from thinkcap.diagnose.pairs import Comparisons, Refused, compare, matched, tested
from thinkcap.diagnose.passes import reads_chain
from thinkcap.diagnose.runs import Configuration, by_model_and_task, configurations
from thinkcap.diagnose.shadow import Shadowed, shadows
from thinkcap.diagnose.traffic import Traffic, traffic
from thinkcap.diagnose.transfer import Transfer, transfers
from thinkcap.logs import Arm, Records
from thinkcap.logs.labels import AnswerLabel
from thinkcap.statistics.clusters import design_effect_of_lengths
from thinkcap.statistics.paired import McNemar, holm
from thinkcap.statistics.survival import LengthComparison
from thinkcap.statistics.survival import compare as compare_lengths
from thinkcap.study.values import FREE, Price


@dataclass(frozen=True)
class RepeatedRun:
    """Two runs of one configuration, the one that counts first."""

    arm: str
    first: str
    second: str
    test: McNemar
    same_length: int | None
    """Questions with the same token count in both; None where counts are not stored."""
    p_holm: float
    """Adjusted over all repeated runs of the diagnosis."""
    first_provenance: Mapping[str, str]
    """Hardware, dtype, engine, prompts and grader of each, where the runs say so."""
    second_provenance: Mapping[str, str]

    @property
    def flipped(self) -> int:
        """Verdicts that differ."""
        return self.test.only_first + self.test.only_second

    @property
    def changed(self) -> tuple[str, ...]:
        """What is known of both and differs."""
        known = [k for k in self.first_provenance if k in self.second_provenance]
        return tuple(k for k in known if self.first_provenance[k] != self.second_provenance[k])

    @property
    def one_sided(self) -> bool:
        """Noise flips both ways alike; one-sided flips mean that something changed."""
        return self.p_holm < 0.05


@dataclass(frozen=True)
class Elsewhere:
    """A run made on other hardware, dtype or engine than most rows of its model and task."""

    file: str
    provenance: Mapping[str, str]
    usual: Mapping[str, str]


@dataclass(frozen=True)
class ChainLengths:
    """The chains of two models on one task: are the second's longer?"""

    task: str
    first: str
    second: str
    result: LengthComparison
    p_holm: float
    """Of the two-sided log-rank test, adjusted over all pairs of models."""


@dataclass(frozen=True)
class Diagnosis:
    rows: int
    notes: tuple[str, ...]
    """What the logs do not say and what was assumed, from those who read them."""
    findings: tuple[Findings, ...]
    comparisons: Comparisons
    refused: tuple[Refused, ...]
    """Pairs that would have been compared, and repeated runs that could not be, each with the reason."""
    repeats: tuple[RepeatedRun, ...]
    elsewhere: tuple[Elsewhere, ...]
    models: tuple[ChainLengths, ...]
    cross_scale: tuple[Transfer, ...]
    """What a split measured on one model or task should win another."""
    pooled_seeds: bool
    traffic: tuple[Traffic, ...] = ()
    """Answers that nobody judged, per model."""
    shadows: tuple[Shadowed, ...] = ()
    """What a policy did beside answers that were sent, per model."""
    labelled: tuple[Labelled, ...] = ()
    """Accuracy of answers that nobody judged, from labels of a part of them."""


def diagnose(
    records: Records, *, draws: int = 1000, seed: int = 0, price: Price = FREE, labels: Sequence[AnswerLabel] = ()
) -> Diagnosis:
    """All that these records allow. `draws=0` leaves out bootstrap intervals of the crossover; `price` and
    `labels` are for answers that nobody judged."""
    told = labelled(labels)
    if strange := {one.model for one in told} - {arm.model for arm in records.arms}:
        raise DataError(
            f"the labels belong to '{strange.pop()}', which has no answer in this log; name the log they were "
            f"drawn from"
        )
    found = configurations(records.arms)
    # Answers without a verdict are kept in arms by what is known of them, which makes no two runs.
    judged = [one for one in found if one.arm.judged().n]
    comparisons = compare(judged)
    groups = by_model_and_task(c.arm for c in found)
    repeats, unpaired = _repeats(judged)
    shown = tuple(findings(arms, comparisons.of(*key), draws=draws, seed=seed) for key, arms in groups.items())
    return Diagnosis(
        records.rows,
        tuple(sorted(set(records.notes))),
        shown,
        comparisons,
        (*comparisons.refused, *unpaired),
        repeats,
        _elsewhere(records.arms),
        _models(groups),
        transfers(shown),
        any("seed" in c.arm.extra for c in found),
        traffic(records.arms, price),
        shadows(records.arms),
        told,
    )


def _repeats(found: Sequence[Configuration]) -> tuple[tuple[RepeatedRun, ...], tuple[Refused, ...]]:
    pairs = [(configuration.arm, other) for configuration in found for other in configuration.others]
    repeats: list[RepeatedRun] = []
    refused: list[Refused] = []
    for (one, two), outcome in zip(pairs, tested(pairs), strict=True):
        if isinstance(outcome, DataError):
            refused.append(Refused(one.model, one.task, one.label, two.label, str(outcome)))
            continue
        a, b, _ = matched(one, two)
        same = None if a.tokens is None or b.tokens is None else int((a.tokens == b.tokens).sum())
        known = (one.name, one.file, two.file, outcome[0].test, same, outcome[1])
        repeats.append(RepeatedRun(*known, one.provenance, two.provenance))
    return tuple(repeats), tuple(refused)


def _elsewhere(arms: Sequence[Arm]) -> tuple[Elsewhere, ...]:
    found: dict[tuple[str, tuple[tuple[str, str], ...]], Elsewhere] = {}
    for group in by_model_and_task(arms).values():
        rows: Counter[tuple[tuple[str, str], ...]] = Counter()
        for arm in group:
            if _place(arm):
                rows[_place(arm)] += arm.n
        usual = max(rows, key=lambda place: (rows[place], place), default=())
        for arm in sorted(group, key=lambda a: a.file):
            if _place(arm) not in ((), usual):
                found.setdefault((arm.file, _place(arm)), Elsewhere(arm.file, arm.provenance, dict(usual)))
    return tuple(found.values())


def _place(arm: Arm) -> tuple[tuple[str, str], ...]:
    return tuple((k, arm.provenance[k]) for k in ("hardware", "dtype", "engine") if k in arm.provenance)


def _alike(arm: Arm) -> float:
    return design_effect_of_lengths(arm.lengths, arm.repeats)


def _models(groups: Mapping[tuple[str, str], Sequence[Arm]]) -> tuple[ChainLengths, ...]:
    """Longest think arm of each model on the same task, two at a time."""
    longest: dict[tuple[str, str], Arm] = {}
    for key, arms in groups.items():
        plain = [a for a in arms if reads_chain(a.method) and a.budget]
        usable = [a for a in plain if a.tokens is not None and a.ended is not None and a.ends.any()]
        if usable:
            longest[key] = max(usable, key=lambda a: (a.budget or 0, a.method == "think"))
    pairs = [(one, two) for one, two in combinations(sorted(longest), 2) if one[1] == two[1] and one[0] != two[0]]
    made = [
        (two[1], one[0], two[0], compare_lengths(a.lengths, a.ends, b.lengths, b.ends, max(_alike(a), _alike(b))))
        for one, two in pairs
        for a, b in [(longest[one], longest[two])]
    ]
    adjusted = holm({str(i): m[3].logrank_p_two_sided for i, m in enumerate(made)})
    return tuple(ChainLengths(*m, adjusted[str(i)]) for i, m in enumerate(made))
