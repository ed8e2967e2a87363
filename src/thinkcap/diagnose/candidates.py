"""Runs as candidates for a choice: what each answered, and what that cost.

>>> recommend(make_candidates([arm] for arm in arms)).groups[0].choose()      # doctest: +SKIP
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from thinkcap.logs import Arm
from thinkcap.statistics.arrays import Ints, distinct
from thinkcap.statistics.choice import Candidate


def make_candidates(parts: Iterable[Sequence[Arm]]) -> list[Candidate]:
    """One candidate per configuration; its arms are its tasks. Ungraded rows are left out.

    A configuration without a budget has what its costliest row spent as its budget. One without token counts
    either is no candidate.
    """
    graded = [kept for same in parts if (kept := [arm.judged() for arm in same if arm.judged().n])]
    usable = [(same, budget) for same in graded if (budget := _budget(same)) is not None]
    keys = iter(_question_keys([arm for same, _ in usable for arm in same]))
    found = []
    for same, budget in usable:
        question = np.concatenate([next(keys) for _ in same])
        correct = np.concatenate([arm.right for arm in same])
        found.append(Candidate(same[0].name, same[0].method, budget, question, correct, _cost(same)))
    return found


def _budget(arms: Sequence[Arm]) -> int | None:
    if arms[0].budget is not None:
        return arms[0].budget
    cost = _cost(arms)
    return None if cost is None else int(cost.max())


def _cost(arms: Sequence[Arm]) -> Ints | None:
    parts = [arm.tokens for arm in arms if arm.tokens is not None]
    return np.concatenate(parts) if len(parts) == len(arms) else None


def _question_keys(arms: Sequence[Arm]) -> list[Ints]:
    """A number per row, equal for two rows if they are known to answer the same question.

    Equal ids are not enough: two logs count from 0. Their content must agree too or, if no content is stored,
    the order of questions that they declare, or the file.
    """
    if not arms:
        return []
    tasks = np.concatenate([np.full(arm.n, _digest(arm.task)) for arm in arms])
    ids = np.concatenate([arm.question for arm in arms])
    evidence = np.concatenate([_evidence(arm) for arm in arms])
    ends = np.cumsum([arm.n for arm in arms])[:-1]
    return list(np.split(distinct([tasks, ids, evidence])[1], ends))


def _evidence(arm: Arm) -> Ints:
    if arm.content is not None:
        return arm.content.view(np.int64)
    return np.full(arm.n, _digest(f"order {arm.order}" if arm.order is not None else f"file {arm.file}"))


def _digest(text: str) -> np.int64:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return np.int64(int.from_bytes(digest, "big", signed=True))
