"""Writes what thinkcap says of a real model into docs/real-model.md, so that nothing there is typed by hand.

    thinkcap study --model qwen2.5-coder-1.5b-instruct.gguf --task gsm8k --data data --limit 30 \\
        --policy nothink,think,close,iris --budgets 256,512 --nothink-by prompt --out runs/real
    python bench/real_model.py runs/real

The commands' own output goes between the page's marks, and the picture into docs/img. No question's text does.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from page import written

DOCS = Path(__file__).parents[1] / "docs"
TABLES = ("methods", "both-modes")


def said(*words: str) -> str:
    """What `thinkcap` prints, with the run called by the name it has in the page."""
    found = subprocess.run([sys.executable, "-m", "thinkcap", *words], capture_output=True, text=True, check=False)
    if found.returncode:
        raise SystemExit(f"thinkcap {' '.join(words)} ended with {found.returncode}: {found.stderr.strip()}")
    return found.stdout.strip()


def lengths(run: Path) -> str:
    """What the two modes really wrote, which is what the rest hangs on."""
    rows = [json.loads(line) for line in (run / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    chains = [
        json.loads(line)["chains"] for line in (run / "chains.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    lines = [
        "| mode | opened a thought | cap | ended | tokens: least | median | most |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for mode in ("nothink", "think"):
        thoughts = sum("<think>" in chain[mode]["text"] for chain in chains)
        for cap in sorted({row["budget"] for row in rows}):
            of = [row for row in rows if (row["policy"], row["budget"]) == (mode, cap)]
            used = sorted(row["tokens_charged"] for row in of)
            ended = sum(bool(row["ended"]) for row in of)
            lines.append(
                f"| {mode} | {thoughts} of {len(chains)} | {cap} | {ended} of {len(of)} | {used[0]} | "
                f"{used[len(used) // 2]} | {used[-1]} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--page", type=Path, default=DOCS / "real-model.md")
    parser.add_argument("--picture", type=Path, default=DOCS / "img" / "real-model.svg")
    args = parser.parse_args()
    run = str(args.run)
    verdict = said("diagnose", run).replace(run, "runs/real")
    written(args.page, "verdict", f"```\n{verdict}\n```")
    written(args.page, "tables", "\n\n".join(said("report", run, "--table", name) for name in TABLES))
    written(args.page, "lengths", lengths(args.run))
    with tempfile.TemporaryDirectory() as folder:
        said("report", run, "--figure", "accuracy", "--out", folder)
        shutil.copy(Path(folder) / "figures" / "accuracy.svg", args.picture)
    print(f"{args.page} and {args.picture}")


if __name__ == "__main__":
    main()
