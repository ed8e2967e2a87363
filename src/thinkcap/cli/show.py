"""What a person sees in the terminal while a study runs and when it is done."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from thinkcap.api import Studied, run_study
from thinkcap.cli.served import StartLine
from thinkcap.cli.terminal import REWRITE, say
from thinkcap.core.sync import wait
from thinkcap.study.config import StudyConfig
from thinkcap.study.estimate import Estimate
from thinkcap.study.folders import said_of
from thinkcap.study.run import Progress

FEW = 5
"""Up to so many policies a table by budget is easier to read."""


def run_shown(config: StudyConfig, *, quiet: bool) -> Studied:
    """Run with a progress line; on Ctrl-C say how to go on."""
    line, start = _Line(quiet), StartLine(quiet)
    try:
        return wait(run_study(config, watch=line, tell=start))
    except KeyboardInterrupt:
        start.end()
        line.end()
        command = " ".join(shlex.quote(word) for word in ["thinkcap", *sys.argv[1:]])
        say(f"Stopped; everything finished is saved. To go on:\n  {command}", err=True)
        raise
    finally:
        start.end()
        line.end()


class _Line:
    """One line on standard error, rewritten on a terminal, printed now and then elsewhere."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._live = sys.stderr.isatty()
        self._last = 0.0
        self._open = False

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if self._quiet or (now - self._last < (0.2 if self._live else 10.0) and progress.done < progress.total):
            return
        self._last = now
        spent = max(1e-6, now - progress.started)
        left = progress.left()
        text = (
            f"{progress.done}/{progress.total} rows, {progress.tokens / spent:,.0f} tokens/s"
            + (f", {left:,.0f} s left" if left is not None else "")
            + (f", {progress.failed} failed" if progress.failed else "")
            + (f", {progress.where()}" if progress.where else "")
        )
        if self._live:
            say(text, nl=False, err=True, before=REWRITE)
            self._open = True
        else:
            say(text, err=True)

    def end(self) -> None:
        if self._open:
            say(err=True)
            self._open = False


def estimate_text(found: Estimate) -> str:
    lines = [
        *found.notes,
        f"{found.questions} questions, {found.rows} rows ({found.rows_done} done already)",
        f"generates at most {found.tokens_at_most:,} tokens "
        f"(one run per cell: up to {found.tokens_one_run_per_cell:,}); "
        f"the store has {found.tokens_stored:,}",
    ]
    if found.cost_at_most is not None:
        lines.append(f"costs at most {found.cost_at_most:.2f} for output")
    return "\n".join(lines)


def result_text(result: Studied) -> str:
    """The table of a run: by budget for a few policies, method by method for many."""
    summary = result.summary
    blocks = []
    for task in dict.fromkeys(cell["task"] for cell in summary["cells"]):
        cells = [cell for cell in summary["cells"] if cell["task"] == task]
        many = len({cell["policy"] for cell in cells}) > FEW
        blocks.append(f"{task}\n{methods(result, task) if many else table(cells)}")
    generated, alone = summary["tokens_generated"], summary["tokens_alone"]
    ratio = (
        f"; separate runs would have needed {alone:,}, {alone / generated:.1f} times as many" if generated else ""
    )
    blocks.append(f"{generated:,} tokens generated{ratio}")
    if result.failed:
        blocks.append(f"{result.failed} rows failed (not counted as wrong); run the same command to retry them")
    blocks.append(f"report: {result.folder / 'report.html'}{said_of(result.folder)}")
    return "\n\n".join(blocks)


BASELINES = ("nothink", "think")


def methods(result: Studied, task: str) -> str:
    """Every method at each cap: accuracy, interval, cost, which stage answered, and tests against both modes."""
    cells = [cell for cell in result.summary["cells"] if cell["task"] == task]
    made = [c for c in result.summary["comparisons"] if c["task"] == task]
    width = max(len(cell["policy"]) for cell in cells) + 2
    head = f"{'policy':<{width}}{'right %':>8}{'95 %':>14}{'tokens':>8}{'re-read':>8}  "
    head += "".join(f"{f'against {mark}':<22}" for mark in BASELINES) + "stages"
    blocks = []
    for cap in sorted({cell["budget"] for cell in cells}):
        block = [f"cap {cap}", head]
        for cell in (c for c in cells if c["budget"] == cap):
            low, high = cell["ci"]
            if low is None:
                block.append(f"{cell['policy']:<{width}}{'-':>8}")
                continue
            name = f"{cell['policy']}@{cap}"
            tests = "".join(f"{against(made, name, f'{mark}@{cap}'):<22}" for mark in BASELINES)
            stages = ", ".join(f"{stage} {count}" for stage, count in cell["stages"].items())
            block.append(
                f"{cell['policy']:<{width}}{100 * cell['accuracy']:>8.1f}{f'{100 * low:.1f}-{100 * high:.1f}':>14}"
                f"{cell['tokens_charged_mean']:>8.0f}{cell['tokens_reread_mean']:>8.0f}  {tests}{stages}"
            )
        blocks.append("\n".join(block))
    shared = [c for c in made if c["matched_by"] == "stages"]
    if shared:
        lines = [f"{c['first']} against {c['second']}: {against(made, c['first'], c['second'])}" for c in shared]
        blocks.append("\n".join(["same stages, other caps", *lines]))
    blocks.append(
        "+ better, - worse, = not told apart (exact McNemar, Holm over all comparisons of the study); "
        "a:b is only this method right : only the other"
    )
    return "\n\n".join(blocks)


def against(made: Sequence[Mapping[str, Any]], first: str, second: str) -> str:
    """`+ 21:0 p=1e-05`; nothing where the two were not compared."""
    for c in made:
        counts = (c["only_first"], c["only_second"])
        if (c["first"], c["second"]) in ((first, second), (second, first)):
            won, lost = counts if c["first"] == first else counts[::-1]
            word = "=" if c["p_holm"] >= 0.05 else "+" if won > lost else "-"
            return f"{word} {won}:{lost} p={c['p_holm']:.2g}"
    return ""


def table(cells: Sequence[Mapping[str, Any]]) -> str:
    """Accuracy by budget (rows) and policy (columns), in percent, with the share of ended chains for `think`."""
    policies = list(dict.fromkeys(cell["policy"] for cell in cells))
    budgets = sorted({cell["budget"] for cell in cells})
    by = {(cell["policy"], cell["budget"]): cell for cell in cells}
    width = max(12, *(len(p) + 2 for p in policies))
    lines = ["budget".rjust(8) + "".join(p.rjust(width) for p in policies)]
    for budget in budgets:
        line = str(budget).rjust(8)
        for policy in policies:
            cell = by.get((policy, budget))
            accuracy = cell["accuracy"] if cell else None
            line += (f"{100 * accuracy:.1f}" if accuracy is not None else "-").rjust(width)
        lines.append(line)
    return "\n".join(lines)
