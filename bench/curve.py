"""The whole accuracy-budget curve on one vLLM server: thinkcap once, lm-evaluation-harness per mode and budget.

    python bench/curve.py http://localhost:8000/v1#pebble --lm-eval .venv-logs/bin/lm_eval --out runs/curve

Both ask the same questions in the same words with the same limits, 64 at a time; all answers are read and graded
by the same grader. The harness runs `--cells` of the mode-budget pairs (all by default) as the processes its users
start; where some are left out, its total is the mean of those measured times all, and says so. Last comes one
budget alone, where a stored curve can gain nothing. The server must not part the reasoning off
(no --reasoning-parser): the harness reads the content only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thinkcap.core.thinking import split
from thinkcap.core.types import Question
from thinkcap.study.config import DENSE, parse_budgets
from thinkcap.tasks import Task, load
from thinkcap.tasks.extract import extract
from thinkcap.tasks.grade import Grader

MODES = ("think", "nothink")
Cell = tuple[str, int]


def ours(
    url: str, budgets: Sequence[int], questions: int, flows: int, out: Path
) -> tuple[float, dict[Cell, float]]:
    """The command a person types, start-up included."""
    words = [sys.executable, "-m", "thinkcap", "study", "--model", url, "--policy", ",".join(MODES), "--json"]
    words += ["--budgets", ",".join(map(str, budgets)), "--limit", str(questions), "--concurrency", str(flows)]
    started = time.perf_counter()
    done = subprocess.run([*words, "--out", str(out)], check=True, stdout=subprocess.PIPE, text=True)
    spent = time.perf_counter() - started
    cells = json.loads(done.stdout)["cells"]
    return spent, {
        mode_budget: mean([c["accuracy"] for c in cells if (c["policy"], c["budget"]) == mode_budget])
        for mode_budget in {(c["policy"], c["budget"]) for c in cells}
    }


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def write_task(tasks: Sequence[Task], folder: Path) -> None:
    """The questions as a task of the harness, word for word."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        {"id": f"{task.name} {q.id}", "text": q.messages[-1]["content"], "gold": str(task.golds[q.id])}
        for task in tasks
        for q in task.questions
    ]
    (folder / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    about = {
        "task": "curve",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str((folder / "questions.jsonl").resolve())}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{text}}",
        "doc_to_target": "{{gold}}",
        "generation_kwargs": {"until": []},
        "metric_list": [{"metric": "exact_match"}],
    }
    (folder / "curve.yaml").write_text(json.dumps(about, indent=1))


def theirs(lm_eval: str, url: str, cell: Cell, flows: int, folder: Path) -> tuple[float, dict[str, str]]:
    """One run of the harness; what the model said, by question."""
    mode, budget = cell
    base, _, name = url.partition("#")
    out = folder / f"{mode}-{budget}"
    settings = {
        "max_gen_toks": budget,
        "temperature": 0,
        "chat_template_kwargs": {"enable_thinking": mode == "think"},
        "skip_special_tokens": True,
    }
    words = [lm_eval, "--model", "local-chat-completions", "--tasks", "curve", "--include_path", str(folder)]
    words += [
        "--model_args",
        f"model={name},base_url={base}/chat/completions,num_concurrent={flows},max_retries=3",
    ]
    words += [
        "--apply_chat_template",
        "--gen_kwargs",
        json.dumps(settings),
        "--log_samples",
        "--output_path",
        str(out),
    ]
    started = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True)
    spent = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"the harness failed:\n{done.stderr[-2000:]}")
    (samples,) = out.rglob("samples_curve*.jsonl")
    said = {}
    for line in samples.read_text().splitlines():
        sample = json.loads(line)
        said[sample["doc"]["id"]] = sample["resps"][0][0] or ""
    return spent, said


async def graded(tasks: Sequence[Task], said: dict[str, str], mode: str) -> float:
    """The harness's texts through our reader and grader; mean over tasks, as ours is."""
    accuracies = []
    async with Grader() as grader:
        for task in tasks:
            right = 0
            for question in task.questions:
                answer = read(said[f"{task.name} {question.id}"], question, mode)
                verdict = await grader.grade(task.golds[question.id], answer, question.kind or "math")
                right += verdict == "right"
            accuracies.append(right / len(task.questions))
    return mean(accuracies)


def read(text: str, question: Question, mode: str) -> str | None:
    _, answer = split(text, "<think>", "</think>", mode, False, mode == "nothink")  # type: ignore[arg-type]
    return None if answer is None else extract(answer, question.kind or "math", unclosed=False).answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--lm-eval", required=True, help="Its program, in an environment of its own.")
    parser.add_argument("--budgets", default=DENSE)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--flows", type=int, default=64)
    parser.add_argument("--cells", type=int, default=0, help="How many of the harness's runs to make; 0 for all.")
    parser.add_argument("--out", type=Path, default=Path("runs/curve"))
    args = parser.parse_args()
    budgets = parse_budgets(args.budgets)
    tasks = [load("families", limit=args.questions, seed=0)]
    pairs = [(mode, budget) for budget in budgets for mode in MODES]
    step = max(1, len(pairs) // args.cells) if args.cells else 1
    chosen = pairs[step - 1 :: step]
    write_task(tasks, args.out / "harness")
    report: dict[str, Any] = {"questions": args.questions, "cells": len(pairs), "measured": len(chosen)}
    spent, accuracy = ours(args.url, budgets, args.questions, args.flows, args.out / "all")
    report["ours_s"] = round(spent, 1)
    walls, table = [], []
    for cell in chosen:
        wall, said = theirs(args.lm_eval, args.url, cell, args.flows, args.out / "harness")
        walls.append(wall)
        found = asyncio.run(graded(tasks, said, cell[0]))
        table.append(
            {"mode": cell[0], "budget": cell[1], "ours": accuracy[cell], "theirs": found, "theirs_s": wall}
        )
        print(json.dumps(table[-1]), file=sys.stderr, flush=True)
    report["theirs_s"] = round(mean(walls) * len(pairs), 1)
    report["theirs_s_is"] = "measured" if len(chosen) == len(pairs) else "mean of those measured, times all"
    report["times"] = round(report["theirs_s"] / report["ours_s"], 1)
    report["same_accuracy"] = sum(abs(row["ours"] - row["theirs"]) < 1e-9 for row in table)
    one = budgets[len(budgets) // 2]
    spent, _ = ours(args.url, [one], args.questions, args.flows, args.out / "one")
    write_task(tasks, args.out / "one-budget")
    both = [theirs(args.lm_eval, args.url, (mode, one), args.flows, args.out / "one-budget")[0] for mode in MODES]
    report["one_budget"] = {"budget": one, "ours_s": round(spent, 1), "theirs_s": round(sum(both), 1)}
    print(json.dumps({**report, "table": table}, indent=1))


if __name__ == "__main__":
    main()
