"""Per-sample CSV of the nips-adathink experiments: one line per question, a group of columns per budget.

`tokens` there includes the projection pass; the chain itself is shorter by `projection_tokens`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from thinkcap.core.errors import DataError
from thinkcap.logs.arms import Arm, Questions, content_hash, with_counted_end
from thinkcap.logs.builder import ArmBuilder
from thinkcap.logs.reading import Log, verdict, whole
from thinkcap.paper.authors_about import Format, model_from

PROJECTION = "\n\n[projection]\n"


def recognise(header: Iterable[str]) -> bool:
    names = set(header)
    return any(re.fullmatch(r"fixed_\d+_correct", n) for n in names) or "sc_preds" in names


def read(log: Log, questions: Questions) -> tuple[list[Arm], list[str]]:
    path, header = log.path, log.header
    rows = list(log.table())
    if not rows:
        raise DataError(f"{path}, line 2: no rows after the header; nothing to diagnose")
    if "sc_preds" in header:
        return _votes(rows, path, questions)
    return _fixed(rows, header, path, questions)


def _about(path: Path, row: Mapping[str, str]) -> dict[str, Any]:
    found = re.search(r"math500|gsm8k|bbh", row.get("benchmark") or path.name)
    return {"model": model_from(path.name), "task": found[0] if found else "gsm8k"}


def _fixed(
    rows: list[tuple[int, dict[str, str]]], header: Iterable[str], path: Path, questions: Questions
) -> tuple[list[Arm], list[str]]:
    budgets = sorted(int(m[1]) for n in header if (m := re.fullmatch(r"fixed_(\d+)_correct", n)))
    about = _about(path, rows[0][1])
    builders = [ArmBuilder(path.name, "think", b, **about, provenance={"format": Format.FIXED}) for b in budgets]
    for line, row in rows:
        content = content_hash(row.get("gold") or row.get("question") or "")
        for build, b in zip(builders, budgets, strict=True):
            head = f"fixed_{b}_"
            extra = whole(row[head + "projection_tokens"], path.name, line, head + "projection_tokens")
            spent = whole(row[head + "tokens"], path.name, line, head + "tokens")
            build.add(
                row["idx"],
                right=verdict(row[head + "correct"], path.name, line, head + "correct"),
                tokens=spent - extra,
                content=content,
                line=line,
                columns={"question": "idx", "tokens": head + "tokens"},
                projection_tokens=extra,
                projected=row.get(head + "projection_used") in ("1", "True", "true"),
                text=(row.get(head + "raw") or "").split(PROJECTION)[0],
            )
    notes = [f"{path.name}: token counts include the projection pass; lengths of chains leave it out"]
    return [with_counted_end(b.done(questions)) for b in builders], notes


def _votes(
    rows: list[tuple[int, dict[str, str]]], path: Path, questions: Questions
) -> tuple[list[Arm], list[str]]:
    about = _about(path, rows[0][1])
    about["provenance"] = {"format": Format.VOTES}
    vote = ArmBuilder(path.name, "sc", None, **about)
    greedy = ArmBuilder(path.name, "greedy", None, **about)
    for line, row in rows:
        content = content_hash(row.get("gold") or row.get("question") or "")
        vote.add(
            row["idx"],
            right=verdict(row["sc_correct"], path.name, line, "sc_correct"),
            tokens=whole(row["sc_total_tokens"], path.name, line, "sc_total_tokens"),
            content=content,
            line=line,
            columns={"question": "idx"},
            votes=row["sc_preds"],
        )
        greedy.add(
            row["idx"],
            right=verdict(row["greedy_correct"], path.name, line, "greedy_correct"),
            tokens=whole(row["greedy_tokens"], path.name, line, "greedy_tokens"),
            content=content,
            line=line,
            columns={"question": "idx"},
        )
    return [vote.done(questions), greedy.done(questions)], []
