"""A study in words for people: how far it is, and its tables with units and intervals.

For terminals, `print` and notebooks alike.

    print(result_text(summary, Path("runs/study")))
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thinkcap.study.progress import Progress

FEW = 5
"""With up to this many policies, a table by cap is easier to read."""
BASELINES = ("nothink", "think")
_TESTS = (
    "+ better, - worse, = no clear difference (exact McNemar, Holm over all comparisons of the study); "
    "a:b: questions that only this method got right, and only the other"
)


def span(seconds: float) -> str:
    """A time as people say it: `40 s`, `7 min`, `3 h 20 min`.

    >>> span(40), span(95), span(12_000)
    ('40 s', '2 min', '3 h 20 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def counted(count: int, thing: str) -> str:
    """`1 question`, `1,200 questions`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def progress_text(progress: Progress) -> str:
    """One line; the time left is estimated from the tokens still to be written."""
    spent = max(1e-6, time.monotonic() - progress.started)
    left = progress.left() if progress.done < progress.total else None
    parts = [
        f"{progress.done:,} of {progress.total:,} rows",
        f"{progress.tokens / spent:,.0f} tokens/s",
        f"{span(left)} left" if left is not None else "",
        f"{progress.failed:,} failed" if progress.failed else "",
        progress.where() if progress.where else "",
    ]
    return ", ".join(filter(None, parts))


def result_text(summary: Mapping[str, Any], folder: Path) -> str:
    """All tables of a run: by cap for a few policies, method by method for many."""
    from thinkcap.study.folders import said_of

    blocks = [block for task in tasks(summary) for block in task_blocks(summary, task)]
    generated, alone = summary["tokens_generated"], summary["tokens_alone"]
    ratio = (
        f"; separate runs would have needed {alone:,}, {alone / generated:.1f} times as many" if generated else ""
    )
    blocks.append(f"{generated:,} tokens generated{ratio}")
    blocks += _failed(summary)
    blocks.append(f"report: {folder / 'report.html'}{said_of(folder)}")
    return "\n\n".join(blocks)


_FOR_GOOD = ("EngineRefused", "Unsupported")
"""Errors that the same request meets again: beyond the context, or more than the model's server can do."""


def _failed(summary: Mapping[str, Any]) -> list[str]:
    """How many rows failed, why, and whether trying again can help."""
    if not summary["failed"]:
        return []
    lines = [f"{counted(summary['failed'], 'row')} failed (not counted as wrong)"]
    causes = summary.get("failures") or ()
    if not any(cause["error"] in _FOR_GOOD for cause in causes):
        lines[0] += "; run the same command to retry them"
    for cause in causes:
        lasting = cause["error"] in _FOR_GOOD
        again = "which would fail again" if lasting else "run the same command to retry"
        lines.append(f"  {counted(cause['rows'], 'row')}, {again}: {cause['first']}")
    return ["\n".join(lines)]


def tasks(summary: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(cell["task"] for cell in summary["cells"]))


def task_blocks(summary: Mapping[str, Any], task: str) -> list[str]:
    cells = [cell for cell in summary["cells"] if cell["task"] == task]
    made = [c for c in summary["comparisons"] if c["task"] == task]
    if len({cell["policy"] for cell in cells}) <= FEW:
        return [f"{heading(cells)}\n{table(cells)}"]
    return [heading(cells), *methods(cells, made)]


def heading(cells: Sequence[Mapping[str, Any]]) -> str:
    """What the numbers of a task's table are."""
    asked = sorted({cell["n"] for cell in cells})
    several = any("seeds" in cell for cell in cells)
    count = ("" if len(asked) == 1 else f"{asked[0]:,} to ") + counted(
        asked[-1], "answer" if several else "question"
    )
    count += " over all seeds" if several else ""
    return f"{cells[0]['task']} on {cells[0]['model']}, {count}: right answers in %, with 95 % interval"


def table(cells: Sequence[Mapping[str, Any]]) -> str:
    """One line per cap, one column per policy; cells such as `78.5 (72-84)`."""
    policies = list(dict.fromkeys(cell["policy"] for cell in cells))
    by = {(cell["policy"], cell["budget"]): percent(cell) for cell in cells}
    width = max(16, *(len(policy) + 2 for policy in policies))
    lines = ["cap, tokens".rjust(11) + "".join(policy.rjust(width) for policy in policies)]
    for cap in sorted({cell["budget"] for cell in cells}):
        lines.append(f"{cap:>11}" + "".join(by.get((policy, cap), "-").rjust(width) for policy in policies))
    return "\n".join(lines)


def percent(cell: Mapping[str, Any]) -> str:
    """Accuracy with its interval in whole percents, rounded outwards; `-` where nothing was graded."""
    if cell["accuracy"] is None:
        return "-"
    low, high = cell["ci"]
    return f"{100 * cell['accuracy']:.1f} ({math.floor(100 * low)}-{math.ceil(100 * high)})"


def methods(cells: Sequence[Mapping[str, Any]], made: Sequence[Mapping[str, Any]]) -> list[str]:
    """Every method at each cap: accuracy, interval, cost, which stage answered, and tests against both modes."""
    width = max(len(cell["policy"]) for cell in cells) + 2
    head = f"{'policy':<{width}}{'right, %':>10}{'95 %':>12}{'tokens':>8}{'re-read':>8}  "
    head += "".join(f"{f'against {mark}':<22}" for mark in BASELINES) + "answers by stage"
    blocks = []
    for cap in sorted({cell["budget"] for cell in cells}):
        block = [f"cap {cap} tokens", head]
        for cell in (c for c in cells if c["budget"] == cap):
            low, high = cell["ci"]
            if low is None:
                block.append(f"{cell['policy']:<{width}}{'-':>10}")
                continue
            name = f"{cell['policy']}@{cap}"
            tests = "".join(f"{against(made, name, f'{mark}@{cap}'):<22}" for mark in BASELINES)
            stages = ", ".join(f"{stage} {count}" for stage, count in cell["stages"].items())
            interval = f"{100 * low:.1f}-{100 * high:.1f}"
            block.append(
                f"{cell['policy']:<{width}}{100 * cell['accuracy']:>10.1f}{interval:>12}"
                f"{cell['tokens_charged_mean']:>8.0f}{cell['tokens_reread_mean']:>8.0f}  {tests}{stages}"
            )
        blocks.append("\n".join(block))
    shared = [c for c in made if c["matched_by"] == "stages"]
    if shared:
        lines = [f"{c['first']} against {c['second']}: {against(made, c['first'], c['second'])}" for c in shared]
        blocks.append("\n".join(["same stages, other caps", *lines]))
    return [
        *blocks,
        f"tokens: mean tokens charged per answer; re-read: mean trace tokens read again as prompt\n{_TESTS}",
    ]


def against(made: Sequence[Mapping[str, Any]], first: str, second: str) -> str:
    """`+ 21:0 p=1e-05`; nothing where the two were not compared."""
    for c in made:
        counts = (c["only_first"], c["only_second"])
        if (c["first"], c["second"]) in ((first, second), (second, first)):
            won, lost = counts if c["first"] == first else counts[::-1]
            word = "=" if c["p_holm"] >= 0.05 else "+" if won > lost else "-"
            return f"{word} {won}:{lost} p={c['p_holm']:.2g}"
    return ""
