"""Keeps what a study found: its rows as columns without texts, and the summary beside them.

    python -m training.hybrid.keep out/runs/gsm8k out/runs/math500 --out training/hybrid/rows

`thinkcap diagnose` and `thinkcap report` print from what is kept. Questions, answers and chains are left out.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from thinkcap.diagnose.summary import conclude, write_summary
from thinkcap.study.rows import Row, read_journal, write_parquet
from thinkcap.study.run import Result

_LEFT_OUT = ("text", "answer", "error", "tokens_prompt", "guess", "source", "grader", "prompts")


def keep(run: Path, out: Path) -> str:
    """Writes the columns and the summary; returns a line about them."""
    import pyarrow.parquet as pq

    out.mkdir(parents=True, exist_ok=True)
    rows = whole_arms(list(read_journal(run / "rows.jsonl").values()))
    rows.sort(key=lambda row: (row.policy, row.budget, int(row.question.rpartition("/")[2])))
    path = out / "rows.parquet"
    write_parquet(rows, path)
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(list(_LEFT_OUT)), path, compression="zstd", compression_level=19)
    about = json.loads((run / "provenance.json").read_text(encoding="utf-8"))
    write_summary(conclude(Result(out, tuple(rows), about)), out / "summary.json")
    shutil.copy(run / "study.toml", out / "study.toml")
    arms = {(row.policy, row.budget) for row in rows}
    return f"{path}: {len(rows):,} rows, {len(arms)} arms, {path.stat().st_size / 1e6:.2f} MB"


def whole_arms(rows: list[Row]) -> list[Row]:
    """Arms that a time limit cut are left out: their questions are those that happened to be short."""
    counts: dict[tuple[str, int], int] = {}
    for row in rows:
        counts[row.policy, row.budget] = counts.get((row.policy, row.budget), 0) + 1
    most = max(counts.values())
    return [row for row in rows if counts[row.policy, row.budget] == most]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    for run in args.runs:
        print(keep(run, args.out / run.name))


if __name__ == "__main__":
    main()
