"""Our own grader over a log's answers, so that two logs judged by two tools can be compared.

What a log says about its answers is kept beside our verdict, and how often the two differ is said.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from thinkcap.logs.builder import ArmBuilder

if TYPE_CHECKING:
    from thinkcap.core.types import Kind, Verdict

_NUMBER = re.compile(r"\s*+[-+$€£]{0,3}\s*+\d[\d,]*+(?:\.\d++)?\s*+%?\s*+", re.ASCII)
_LABEL = re.compile(r"\s*(?:\(?[A-Za-z]\)?[.:]?|true|false|yes|no)\s*", re.IGNORECASE)
_MATHS = re.compile(r"\\[a-zA-Z]+|[\^_=+*/<>{}|√π∞]|\d")
_WORDS = re.compile(r"[^\W\d_]{4,}")
_AT_ONCE = 256


def kind_of(golds: Sequence[str]) -> Kind | None:
    """How the golds of one task are to be read; None for prose, which our grader does not judge."""
    if not golds:
        return None
    if all(_LABEL.fullmatch(g) for g in golds):
        return "label"
    if all(_NUMBER.fullmatch(g) for g in golds):
        return "number"
    prose = sum(1 for g in golds if len(_WORDS.findall(g)) > 2 and not _MATHS.search(g))
    return None if prose > len(golds) / 2 else "math"


def final_answer(gold: str) -> str:
    """The answer alone where a log stores the whole solution as gold."""
    from thinkcap.grading import extract

    stated = extract(gold, "math").answer if "####" in gold or "\\boxed" in gold else None
    return (stated or gold).strip()


def judge(builds: Sequence[ArmBuilder], file: str) -> list[str]:
    """Verdicts for every row that has a gold and an output; returns what is to be said about it."""
    ready = [b for b in builds if b.gradable]
    golds: dict[str, list[str]] = {}
    for build in ready:
        golds.setdefault(build.task, []).extend(gold for gold, _ in build.gradable.values())
    kinds = {task: kind_of(sorted(set(texts))) for task, texts in golds.items()}
    cases = sorted(
        {(*case, kind) for b in ready if (kind := kinds[b.task]) is not None for case in b.gradable.values()}
    )
    if not cases:
        if ready and not any(b.has_verdicts for b in builds):
            return [
                f"{file}: its golds are prose, which cannot be graded here; add a verdict (--map correct=COLUMN)"
            ]
        return []
    found = dict(zip(cases, verdicts(cases), strict=True))
    graded = differ = logged = 0
    for build in ready:
        kind = kinds[build.task]
        if kind is None:
            continue
        mine = {row: found[(*case, kind)] for row, case in build.gradable.items()}
        graded += len(mine)
        both, other = build.judge(mine)
        logged, differ = logged + both, differ + other
    said = [f"{file}: {graded} answers were graded here against their golds"]
    if logged:
        said.append(
            f"{file}: the log's own verdict differs from ours on {differ} of {logged} answers; ours is used"
        )
    return said


def verdicts(cases: Sequence[tuple[str, str, Kind]]) -> list[Verdict]:
    """On golds, the texts that answer them, and how both are to be read."""
    return asyncio.run(_graded(cases)) if cases else []


async def _graded(cases: Sequence[tuple[str, str, Kind]]) -> list[Verdict]:
    from thinkcap.grading import Grader

    found: list[Verdict] = []
    async with Grader() as grader:
        for start in range(0, len(cases), _AT_ONCE):
            batch = cases[start : start + _AT_ONCE]
            found += await asyncio.gather(*(grader.grade(gold, text, kind) for gold, text, kind in batch))
    return found
