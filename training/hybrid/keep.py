"""Keeps what a study found: its rows as columns without texts, and the summary beside them.

    python -m training.hybrid.keep out/runs/gsm8k out/runs/math500 --out training/hybrid/rows

`thinkcap diagnose` and `thinkcap report` print from what is kept. Questions, answers and chains are left out.

A model may write words of its own where the marks of a thought should be. Then nothing was seen to be a thought:
an open one was read as an answer, and none could be closed. `--unmarked` reads such a run as what it is: `think`
has an answer only where the chain ended, what was read from open chains is `think[heuristic]`, and `close` is
left out.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from thinkcap.diagnose.summary import conclude, write_summary
from thinkcap.study.columns import write_parquet
from thinkcap.study.rows import Row
from thinkcap.study.run import Result

_LEFT_OUT = ("text", "answer", "error", "tokens_prompt", "guess", "source", "grader", "prompts")
_UNSEEN = ("tokens_think",)
"""What cannot be known of thoughts without marks."""


def keep(run: Path, out: Path, unmarked: bool = False) -> str:
    """Writes the columns and the summary; returns a line about them."""
    import pyarrow.parquet as pq

    out.mkdir(parents=True, exist_ok=True)
    with (run / "rows.jsonl").open("rb") as lines:
        written = {row.key: row for row in map(msgspec.json.Decoder(Row).decode, lines)}
    rows = whole_arms(list(written.values()))
    rows = list(read_again(rows)) if unmarked else rows
    rows.sort(key=lambda row: (row.task, row.policy, row.budget, row.question))
    path = out / "rows.parquet"
    write_parquet(rows, path)
    table = pq.read_table(path)
    left_out = [*_LEFT_OUT, *(_UNSEEN if unmarked else ())]
    pq.write_table(table.drop_columns(left_out), path, compression="zstd", compression_level=19)
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
    most = max(counts.values(), default=0)
    return [row for row in rows if counts[row.policy, row.budget] == most]


def read_again(rows: Sequence[Row]) -> Iterator[Row]:
    """The rows of a model without marks, under the names of what was really read."""
    for row in rows:
        if row.policy == "think":
            silent = {} if row.ended else {"verdict": "unreadable", "answer": None, "level": 0}
            yield msgspec.structs.replace(row, **silent)
            yield msgspec.structs.replace(row, policy="think[heuristic]")
        elif row.policy not in ("close", "think[heuristic]"):
            yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--unmarked", action="store_true", help="Thoughts have no marks; see above.")
    args = parser.parse_args()
    for run in args.runs:
        print(keep(run, args.out / run.name, args.unmarked))


if __name__ == "__main__":
    main()
