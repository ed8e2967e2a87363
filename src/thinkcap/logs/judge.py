"""Our own grader over a log's answers, so that two logs judged by two tools can be compared.

What a log says about its answers is kept beside our verdict, and how often the two differ is said.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from thinkcap.core.errors import DataError
from thinkcap.core.types import EMPTY
from thinkcap.logs.builder import ArmBuilder
from thinkcap.logs.reading import printable, shown

if TYPE_CHECKING:
    from thinkcap.core.types import Kind, Verdict

_NUMBER = re.compile(r"\s*+[-+$€£]{0,3}\s*+\d[\d,]*+(?:\.\d++)?\s*+%?\s*+", re.ASCII)
_LABEL = re.compile(r"\s*(?:\(?[A-Za-z]\)?[.:]?|true|false|yes|no)\s*", re.IGNORECASE)
_MATHS = re.compile(r"\\[a-zA-Z]+|[\^_=+*/<>{}|√π∞]|\d")
_WORDS = re.compile(r"[^\W\d_]{4,}")
_AT_ONCE = 256
_FEWEST = 2
"""Contradictions that stop the reading: a single one may be a mistake of either grader."""
_EXAMPLES = 3
_GRADES = {"right": "correct", "wrong": "incorrect", "unreadable": "unparsed"}


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


def judge(
    builds: Sequence[ArmBuilder], file: str, columns: Mapping[str, str] = EMPTY, *, accept: bool = False
) -> list[str]:
    """Verdicts for every row that has a gold and an output; returns what is to be said about it.

    Raises `DataError` if they contradict most of the log's own verdicts, unless `accept` is true.
    """
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
    graded = logged = 0
    contradicted: list[_Contradiction] = []
    for build in ready:
        kind = kinds[build.task]
        if kind is None:
            continue
        mine = {row: found[(*case, kind)] for row, case in build.gradable.items()}
        graded += len(mine)
        both, differing = build.judge(mine)
        logged += both
        contradicted += [
            _Contradiction(question, *build.gradable[row], kind, mine[row]) for question, row in differing.items()
        ]
    differ = len(contradicted)
    if differ >= _FEWEST and differ > logged / 2 and not accept:
        raise _contradicting(file, columns, contradicted, logged)
    said = [f"{file}: {graded} answers were graded here against their golds"]
    if logged:
        said.append(
            f"{file}: the log's own verdict differs from ours on {differ} of {logged} answers; ours is used"
        )
    return said


class _Contradiction(NamedTuple):
    """An answer that the log and our grader judge differently."""

    question: str
    gold: str
    output: str
    kind: Kind
    ours: Verdict

    def describe(self) -> str:
        from thinkcap.grading import extract

        found = extract(self.output, self.kind).answer
        answer = "no answer found in the output" if found is None else f"answer {shown(found)}"
        log, ours = ("incorrect", "correct") if self.ours == "right" else ("correct", _GRADES[self.ours])
        graded = f"the log says {log}, our grade is {ours}"
        return f"  question {shown(self.question)}: {answer}, reference answer {shown(self.gold)}; {graded}"


def _contradicting(
    file: str, columns: Mapping[str, str], found: Sequence[_Contradiction], logged: int
) -> DataError:
    """The error, with a few examples as notes."""
    names = {"reference answer": "gold", "output": "output", "verdict": "correct"}
    used = ", ".join(f"{what}: '{printable(columns[f])}'" for what, f in names.items() if f in columns)
    err = DataError(
        f"{file}: our grades contradict {len(found)} of the log's {logged} verdicts"
        + (f" (columns used: {used})" if used else "")
        + "; name the right columns (--map gold=COLUMN,output=COLUMN,correct=COLUMN), "
        "or continue with our grades (--accept-grades)"
    )
    for one in found[:_EXAMPLES]:
        err.add_note(one.describe())
    return err


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
