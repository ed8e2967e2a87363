"""What people wrote into a file of `thinkcap sample`: a verdict in `right`, or the right answer in `gold`.

    for label in read_labels(Path("to-label.jsonl")):
        label.stratum, label.weight, label.right      # None where nobody has said

An empty answer is not right, whatever the question was: it needs no label.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkcap.core.errors import DataError
from thinkcap.logs.answered import name_of
from thinkcap.logs.judge import final_answer, kind_of, verdicts
from thinkcap.logs.reading import Log, refused, regular, shown, verdict
from thinkcap.logs.sampling import STRATA


@dataclass(frozen=True)
class AnswerLabel:
    model: str
    arm: str
    stratum: str
    weight: float
    """For how many answers it stands."""
    right: bool | None


def read_labels(path: Path) -> tuple[AnswerLabel, ...]:
    log, rows = Log(regular(path)), list[tuple[Mapping[str, Any], bool | None]]()
    golds: dict[int, tuple[str, str, Any]] = {}
    seen: set[str] = set()
    for line, row in log.objects():
        name, answer, gold = str(row.get("id")), row.get("answer"), row.get("gold")
        if row.get("stratum") not in STRATA or "weight" not in row or not isinstance(answer, str):
            raise refused(
                log.name, line, "stratum", "not a row that `thinkcap sample` wrote; fill in the file it wrote"
            )
        if name in seen:
            raise refused(log.name, line, "id", f"{shown(name)} appears twice and would be counted twice")
        seen.add(name)
        said = verdict(row.get("right"), log.name, line, "right")
        if row["stratum"] == "empty":
            said = False
        elif said is None and gold not in (None, "") and (kind := kind_of([final_answer(str(gold))])):
            golds[len(rows)] = (final_answer(str(gold)), answer, kind)
        rows.append(({**row, "weight": _weight(row["weight"], log, line)}, said))
    cases = sorted(set(golds.values()))
    judged = dict(zip(cases, verdicts(cases), strict=True))
    found = [
        AnswerLabel(
            name_of(row.get("model")),
            name_of(row.get("arm")) or "watch",
            row["stratum"],
            row["weight"],
            judged[golds[i]] == "right" if i in golds else said,
        )
        for i, (row, said) in enumerate(rows)
    ]
    if all(label.right is None for label in found if label.stratum != "empty"):
        raise DataError(
            f"{path}: no label is filled in; put true or false into `right`, or the right answer into `gold`"
        )
    return tuple(found)


def _weight(value: Any, log: Log, line: int) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value < math.inf:
        raise refused(
            log.name, line, "weight", f"{shown(value)} is not a weight; leave it as `thinkcap sample` wrote it"
        )
    return float(value)
