"""Keeps what a study found: its rows as columns without texts, the summary and the study beside them.

    python -m training.hybrid.keep out/runs/gsm8k out/runs/math500 --model my-hybrid --out training/hybrid/rows

`thinkcap diagnose` and `thinkcap report` print from what is kept. Questions, answers and chains are left out.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import tomli_w

from thinkcap.diagnose.summary import conclude, write_summary
from thinkcap.policies.registry import parse
from thinkcap.study.columns import write_parquet
from thinkcap.study.rows import Row
from thinkcap.study.run import Result

_LEFT_OUT = ("text", "answer", "error", "tokens_prompt", "guess", "source", "grader", "prompts")


def keep(run: Path, out: Path, model: str = "") -> str:
    """Writes the columns and the summary, under the model's name where one is given; returns a line about them."""
    import pyarrow.parquet as pq

    out.mkdir(parents=True, exist_ok=True)
    with (run / "rows.jsonl").open("rb") as lines:
        written = {row.key: row for row in map(msgspec.json.Decoder(Row).decode, lines)}
    rows = whole_arms(list(written.values()))
    rows.sort(key=lambda row: (row.task, row.policy, row.budget, row.question))
    rows = [msgspec.structs.replace(row, model=model or row.model) for row in rows]
    path = out / "rows.parquet"
    write_parquet(rows, path)
    about = json.loads((run / "provenance.json").read_text(encoding="utf-8"))
    about["engine"]["model"] = rows[0].model
    # From all columns, so before some are left out.
    write_summary(conclude(Result(out, cast(Any, rows), about)), out / "summary.json")
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(list(_LEFT_OUT)), path, compression="zstd", compression_level=19)
    asked = tomllib.loads((run / "study.toml").read_text(encoding="utf-8"))
    asked |= {"out": f"runs/{run.name}", "data": "data", "model": rows[0].model, "policy": policies(rows)}
    (out / "study.toml").write_text(tomli_w.dumps(asked), encoding="utf-8")
    arms = {(row.policy, row.budget) for row in rows}
    return f"{path}: {len(rows):,} rows, {len(arms)} arms, {path.stat().st_size / 1e6:.2f} MB"


def whole_arms(rows: list[Row]) -> list[Row]:
    """Arms that a time limit cut are left out: their questions are those that happened to be short."""
    counts: dict[tuple[str, int], int] = {}
    for row in rows:
        counts[row.policy, row.budget] = counts.get((row.policy, row.budget), 0) + 1
    most = max(counts.values(), default=0)
    return [row for row in rows if counts[row.policy, row.budget] == most]


def policies(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The study of all kept rows: several studies may have filled one folder, and it remembers the last."""
    budgets: dict[str, set[int]] = {}
    for row in rows:
        budgets.setdefault(row.policy, set()).add(row.budget)
    found = ((parse(label), sorted(caps)) for label, caps in sorted(budgets.items()))
    return [{"name": spec.name, **spec.options, "budgets": caps} for spec, caps in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", default="", help="What the model is called from now on.")
    args = parser.parse_args()
    for run in args.runs:
        print(keep(run, args.out / run.name, args.model))


if __name__ == "__main__":
    main()
