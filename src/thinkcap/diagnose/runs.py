"""Runs of one configuration as one: seeds pooled, of repeated runs the largest leads, and no order matters.

for configuration in configurations(records.arms):
    configuration.arm, configuration.others
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinkcap.logs import Arm, Stages
from thinkcap.statistics.arrays import distinct

Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class Configuration:
    """One way of answering: the arm that stands for it, and the other runs of it."""

    arm: Arm
    others: tuple[Arm, ...] = ()


def configurations(arms: Iterable[Arm]) -> tuple[Configuration, ...]:
    """In an order of their own, so that whatever order files, arms and rows came in, the same follows."""
    found: list[Configuration] = []
    for group in by_model_and_task(arms).values():
        ordered = sorted(_settled(group), key=lambda a: (a.policy, a.budget or 0, a.name, leading(a)))
        found += [_configuration(same) for same in _alike(ordered)]
    return tuple(found)


def by_model_and_task(arms: Iterable[Arm]) -> dict[tuple[str, str], list[Arm]]:
    """Only arms of one model on one task have anything to do with each other."""
    groups: dict[tuple[str, str], list[Arm]] = {}
    for arm in arms:
        groups.setdefault((arm.model, arm.task), []).append(arm)
    return dict(sorted(groups.items()))


def _settled(arms: Sequence[Arm]) -> list[Arm]:
    """Rows in an order of their own: by what all arms together say of a question.

    Questions of which everything said is equal may stand either way round: nothing can tell them apart.
    """
    first, places = distinct([np.concatenate([a.question for a in arms])])
    marks: Hashes = np.zeros(len(first), dtype=np.uint64)
    starts = np.cumsum([0, *(a.n for a in arms)])
    rows = [places[i:j] for i, j in pairwise(starts)]
    for arm, mine in zip(arms, rows, strict=True):
        # Addition forgets the order of the arms.
        np.add.at(marks, mine, _row_marks(arm))
    return [arm.take(np.argsort(marks[mine], kind="stable")) for arm, mine in zip(arms, rows, strict=True)]


def _row_marks(arm: Arm) -> Hashes:
    name = f"{arm.name}|{arm.file}|{arm.seed}".encode("utf-8", "surrogatepass")
    mark = np.full(arm.n, int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big"), dtype=np.uint64)
    for column in (arm.content, arm.verdict, arm.tokens, arm.ended):
        if column is not None:
            mark = _mixed(mark ^ column.astype(np.uint64))
    return _mixed(mark)


def _mixed(values: Hashes) -> Hashes:
    """The finaliser of splitmix64: every bit of the input moves every bit of the output."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _size(arm: Arm) -> tuple[int, bool, int, str, int]:
    """The run with the most questions first; of equal ones that which knows its ends. A failure was asked too."""
    return -arm.n - arm.failed, arm.ended is None, -arm.n, arm.file, -1 if arm.seed is None else arm.seed


def leading(arm: Arm) -> tuple[Any, ...]:
    """Orders runs of one configuration, the one that leads first; two of one size and name by what they hold."""
    return *_size(arm), int(np.bitwise_xor.reduce(_row_marks(arm))) if arm.n else 0


def _alike(arms: Sequence[Arm]) -> list[list[Arm]]:
    """Arms of one name whose stages do not contradict each other."""
    groups: list[list[Arm]] = []
    for arm in sorted(arms, key=lambda a: -a.stages.told):
        for group in groups:
            if group[0].name == arm.name and group[0].stages.agree(arm.stages):
                group.append(arm)
                break
        else:
            groups.append([arm])
    place = {id(arm): i for i, arm in enumerate(arms)}
    for group in groups:
        group.sort(key=lambda a: place[id(a)])
    return sorted(groups, key=lambda g: place[id(g[0])])


def _configuration(arms: Sequence[Arm]) -> Configuration:
    """The largest run with its seeds; seeds of other files join where they asked as many questions."""
    files: dict[str, list[Arm]] = {}
    others: list[Arm] = []
    for arm in arms:
        mine = files.setdefault(arm.file, [])
        known = {a.seed for a in mine}
        (others if arm.seed in known else mine).append(arm)
    largest, *rest = sorted(files.values(), key=lambda g: (-sum(a.n + a.failed for a in g), _size(g[0])))
    pool = list(largest)
    size = pool[0].n + pool[0].failed
    for group in rest:
        seeds, taken = {a.seed for a in group}, {a.seed for a in pool}
        other_seeds = None not in seeds | taken and not seeds & taken
        apart = other_seeds or not any(_same_questions(a, b) for a in group for b in pool)
        if apart and all(a.n + a.failed == size for a in group):
            pool += group
        else:
            others += group
    stages = max((a.stages for a in arms), key=lambda s: s.told)
    pool.sort(key=lambda a: -1 if a.seed is None else a.seed)
    lead = pooled(pool)
    return Configuration(replace(lead, stages=_told(lead, stages)), tuple(sorted(others, key=_size)))


def _told(arm: Arm, stages: Stages) -> Stages:
    """Where no chain was cut no answer pass was seen; the cap is of both passes together."""
    if arm.mode or stages.answer is not None or stages.first is not None:
        return stages
    if stages.think is None or arm.budget is None:
        return stages
    return replace(stages, answer=arm.budget - stages.think)


def _same_questions(one: Arm, two: Arm) -> bool:
    """Some question is in both: the same id, and the same content where that is known."""
    common, i, j = np.intersect1d(one.question, two.question, return_indices=True)
    if one.content is None or two.content is None:
        return len(common) > 0
    return len(common) > 0 and bool((one.content[i] == two.content[j]).all())


def pooled(arms: Sequence[Arm]) -> Arm:
    """Seeds of one configuration, or parts of its questions, as one arm: a row is a question and its seed."""
    if len(arms) == 1:
        return arms[0]

    def column(name: str) -> Any:
        parts = [getattr(a, name) for a in arms]
        return None if any(p is None for p in parts) else np.concatenate(parts)

    shared = [k for k in arms[0].extra if all(k in a.extra for a in arms)]
    extra = {k: np.concatenate([a.extra[k] for a in arms]) for k in shared}
    told = [a.seed for a in arms if a.seed is not None]
    seeds = told if len(set(told)) == len(arms) else list(range(len(arms)))
    extra["seed"] = np.repeat(np.asarray(seeds, dtype=np.int64), [a.n for a in arms])
    files = list(dict.fromkeys(a.file for a in arms))
    return replace(
        arms[0],
        file=" + ".join(files),
        seed=None,
        question=np.concatenate([a.question for a in arms]),
        verdict=np.concatenate([a.verdict for a in arms]),
        tokens=column("tokens"),
        ended=column("ended"),
        flag=column("flag"),
        content=column("content"),
        failed=sum(a.failed for a in arms),
        unreadable=sum(a.unreadable for a in arms),
        extra=extra,
        provenance=_common(arms),
    )


def _common(arms: Sequence[Arm]) -> Mapping[str, str]:
    first = arms[0].provenance
    return {k: v for k, v in first.items() if all(a.provenance.get(k) == v for a in arms)}
