"""Writes what thinkcap says of a real model into docs/real-model.md, so that nothing there is typed by hand.

    python bench/real_model.py

It prints from the rows in training/hybrid/rows. The commands' own output goes between the page's marks, and the
pictures into docs/img. No question's text does.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from page import written

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "training" / "hybrid" / "rows"
TASKS = {"gsm8k": 2048, "math500": 4096}
"""The studies, and the cap at which modes are compared on chains that end."""


def said(*words: str) -> str:
    """What `thinkcap` prints."""
    found = subprocess.run([sys.executable, "-m", "thinkcap", *words], capture_output=True, text=True, check=False)
    if found.returncode:
        raise SystemExit(f"thinkcap {' '.join(words)} ended with {found.returncode}: {found.stderr.strip()}")
    return found.stdout.strip()


class Arms:
    """Right, ended and tokens of every question, by policy and cap."""

    def __init__(self, run: Path) -> None:
        table = pq.read_table(run / "rows.parquet")
        self._rows = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}

    def of(self, task: str, policy: str, cap: int) -> tuple[Any, Any, Any] | None:
        rows = self._rows
        mine = (rows["task"] == task) & (rows["policy"] == policy) & (rows["budget"] == cap)
        if not mine.any():
            return None
        order = np.argsort(rows["question"][mine])
        right = (rows["verdict"][mine] == "right")[order]
        return right, rows["ended"][mine][order].astype(bool), rows["tokens_charged"][mine][order]


def percent(values: Any) -> str:
    return f"{100 * np.mean(values):.1f}"


def modes() -> str:
    """Base, both modes and chains that end, beside each other."""
    base = Arms(ROWS / "base")
    lines = [
        "| task | cap | base (%) | nothink (%) | think (%) | ended (%) | think[heuristic] (%) |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    apart = []
    for task, most in TASKS.items():
        arms = Arms(ROWS / task)
        for cap in (256, 512, 1024, 2048, 4096):
            think, nothink, read = (arms.of(task, p, cap) for p in ("think", "nothink", "think[heuristic]"))
            if think is None or nothink is None or read is None:
                continue
            untuned = base.of(task, "think", cap)
            lines.append(
                f"| {task} | {cap:,} | {percent(untuned[0]) if untuned else ''} | {percent(nothink[0])} | "
                f"{percent(think[0])} | {percent(think[1])} | {percent(read[0])} |"
            )
        think, nothink = arms.of(task, "think", most), arms.of(task, "nothink", most)
        assert think is not None
        assert nothink is not None
        ended = think[1]
        apart.append(
            f"{task}: of {len(ended):,} chains {ended.sum():,} end within {most:,} tokens. On those questions "
            f"thinking is right in {percent(think[0][ended])} %, the mode without it in "
            f"{percent(nothink[0][ended])} %. Half of all chains end within {int(np.median(think[2]))} tokens; "
            f"without thinking, within {int(np.median(nothink[2]))}."
        )
    return "\n".join([*lines, "", *(f"- {line}" for line in apart)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "real-model.md")
    args = parser.parse_args()
    written(args.page, "modes", modes())
    for task in TASKS:
        run = str(ROWS / task)
        verdict = said("diagnose", run).replace(str(ROOT) + "/", "")
        written(args.page, f"verdict {task}", f"```\n{verdict}\n```")
        written(args.page, f"tables {task}", said("report", run, "--table", "methods"))
        with tempfile.TemporaryDirectory() as folder:
            said("report", run, "--figure", "accuracy", "--out", folder)
            shutil.copy(Path(folder) / "figures" / "accuracy.svg", args.page.parent / "img" / f"real-{task}.svg")
    print(args.page)


if __name__ == "__main__":
    main()
