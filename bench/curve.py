"""The whole accuracy-budget curve on one vLLM server: thinkcap once, lm-evaluation-harness per mode and budget.

    python bench/curve.py http://localhost:8000/v1#pebble --lm-eval .venv-logs/bin/lm_eval --page docs/servers.md
    python bench/curve.py http://localhost:8000/v1#pebble        # a bare client alone to compare with

Both ask the same questions in the same words with the same limits, as many at a time; all answers are read and
graded by the same grader. An unmeasured run first warms the server. The harness runs `--cells` of the mode-budget
pairs (all by default) as the processes its users start; where some are left out, its total is the mean of those
measured times all, and says so. Last comes one budget alone, where a stored curve can gain nothing. The server
must not part the reasoning off (no --reasoning-parser): the harness reads the content only.

After each run of ours a bare client sends the same requests in the same order, as many at a time: what thinkcap
takes beyond it is its own. Of ours that comparison leaves out what a process takes before it asks. Without the
harness, `--questions 64 --flows 64 --spread 6` makes rounds short enough for a machine that others use, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from bare_client import noted, sent
from page import written
from thinkcap import extract
from thinkcap.core.thinking import split
from thinkcap.core.types import Question
from thinkcap.grading import Grader
from thinkcap.study.config import DENSE, parse_budgets
from thinkcap.tasks import Task, load

MODES = ("think", "nothink")
Cell = tuple[str, int]


@dataclass(frozen=True)
class Curve:
    seconds: float
    accuracy: dict[Cell, float]
    tokens: int
    alone: int
    """Tokens the cells would have taken one by one."""


def ours(url: str, budgets: Sequence[int], questions: int, flows: int, out: Path) -> Curve:
    """The command a person types, start-up included."""
    words = [sys.executable, "-m", "thinkcap", "study", "--model", url, "--policy", ",".join(MODES), "--json"]
    words += ["--budgets", ",".join(map(str, budgets)), "--limit", str(questions), "--concurrency", str(flows)]
    started = time.perf_counter()
    done = subprocess.run([*words, "--out", str(out)], check=True, stdout=subprocess.PIPE, text=True)
    spent = time.perf_counter() - started
    said = json.loads(done.stdout)
    found: dict[Cell, list[float]] = {}
    for cell in said["cells"]:
        found.setdefault((cell["policy"], cell["budget"]), []).append(cell["accuracy"])
    accuracy = {cell: mean(values) for cell, values in found.items()}
    return Curve(spent, accuracy, said["tokens_generated"], said["tokens_alone"])


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


def theirs(
    lm_eval: str, url: str, cell: Cell, flows: int, folder: Path, limit: int = 0
) -> tuple[float, dict[str, str]]:
    """One run of the harness: its seconds, and what the model said, by question."""
    mode, budget = cell
    base, _, name = url.partition("#")
    out = folder / f"{mode}-{budget}-{limit}"
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
    if limit:
        words += ["--limit", str(limit)]
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
    _, answer = split(text, mode=mode, closed=mode == "nothink")  # type: ignore[arg-type]
    return None if answer is None else extract(answer, question.kind or "math", unclosed=False).answer


def against_bare(args: argparse.Namespace, budgets: Sequence[int]) -> dict[str, Any]:
    """Ours and the bare client in turns, in this one process, so that no start is in either of them.

    Now the one is first and now the other, and the ratio is that of neighbours: others may use the machine too.
    """
    noted(args.url, MODES, [1], 1, args.flows, args.out / "start")
    pairs: list[tuple[float, float]] = []
    asked, _ = noted(args.url, MODES, budgets, args.questions, args.flows, args.out / "noted")
    for at in range(args.spread):
        if at % 2:
            bare = asyncio.run(sent(args.url, asked, args.flows))
        asked, mine = noted(args.url, MODES, budgets, args.questions, args.flows, args.out / f"ours-{at}")
        if not at % 2:
            bare = asyncio.run(sent(args.url, asked, args.flows))
        pairs.append((mine, bare))
        print(f"thinkcap {mine:.1f} s, bare {bare:.1f} s", file=sys.stderr, flush=True)
    asking, bare = (median(seconds) for seconds in zip(*pairs, strict=True))
    ratios = [mine / bare for mine, bare in pairs]
    return {"asking_s": asking, "bare_s": bare, "bare_requests": len(asked), "ratios": ratios}


def told_bare(found: Mapping[str, Any]) -> str:
    ratios = found["ratios"]
    rounds = f", the median of {len(ratios)} rounds ({min(ratios):.2f} to {max(ratios):.2f})" if ratios[1:] else ""
    return (
        f"A bare client that sends the same {found['bare_requests']:,} requests takes {found['bare_s']:.1f} s; "
        f"thinkcap without its start takes {found['asking_s']:.1f} s, {median(ratios):.2f} times as long{rounds}."
    )


def compared(args: argparse.Namespace, budgets: Sequence[int]) -> dict[str, Any]:
    """Everything measured, in one run."""
    tasks = [load("families", limit=args.questions, seed=0)]
    pairs = [(mode, budget) for budget in budgets for mode in MODES]
    count = min(args.cells, len(pairs)) or len(pairs)
    # In an order of chance: those measured before the time is up stand for all.
    chosen = random.Random(0).sample(pairs, count)
    harness = args.out / "harness"
    write_task(tasks, harness)

    def asked(cell: Cell, folder: Path = harness, limit: int = 0) -> tuple[float, dict[str, str]]:
        return theirs(args.lm_eval, args.url, cell, args.flows, folder, limit)

    ours(args.url, [min(budgets)], args.questions, args.flows, args.out / "warm")
    # One question, one token: what a process takes before it asks.
    start_theirs = min(asked((mode, 1), limit=1)[0] for mode in MODES)
    start_ours = ours(args.url, [1], 1, args.flows, args.out / "start").seconds
    requests, _ = noted(args.url, MODES, budgets, args.questions, args.flows, args.out / "noted")
    runs: list[Curve] = []
    bare: list[float] = []

    def again() -> None:
        """Ours, among the harness's runs: another load of the machine must not be taken for a difference."""
        runs.append(ours(args.url, budgets, args.questions, args.flows, args.out / f"ours-{len(runs)}"))
        bare.append(asyncio.run(sent(args.url, requests, args.flows)))

    again()
    curve = runs[0]
    table: list[dict[str, Any]] = []
    until = time.monotonic() + 60 * args.minutes
    for at, cell in enumerate(chosen, 1):
        if args.minutes and table and time.monotonic() > until:
            break
        wall, said = asked(cell)
        found = asyncio.run(graded(tasks, said, cell[0]))
        row = {"mode": cell[0], "budget": cell[1], "ours": curve.accuracy[cell], "theirs": found, "seconds": wall}
        table.append(row)
        print(json.dumps(row), file=sys.stderr, flush=True)
        if at * args.spread // count > len(runs) - 1:
            again()
    one = budgets[len(budgets) // 2]
    alone = ours(args.url, [one], args.questions, args.flows, args.out / "one")
    write_task(tasks, args.out / "one-budget")
    both = [asked((mode, one), args.out / "one-budget")[0] for mode in MODES]
    return {
        "questions": args.questions,
        "flows": args.flows,
        "cells": len(pairs),
        "measured": len(table),
        "ours_s": mean([run.seconds for run in runs]),
        "ours_each_s": [run.seconds for run in runs],
        "ours_tokens": curve.tokens,
        "tokens_alone": curve.alone,
        "ours_start_s": start_ours,
        "bare_s": mean(bare),
        "asking_s": mean([run.seconds for run in runs]) - start_ours,
        "ratios": [(run.seconds - start_ours) / alone for run, alone in zip(runs, bare, strict=True)],
        "bare_requests": len(requests),
        "theirs_s": mean([row["seconds"] for row in table]) * len(pairs),
        "theirs_start_s": start_theirs,
        "one": {"budget": one, "ours_s": alone.seconds, "theirs_s": sum(both)},
        "table": sorted(table, key=lambda row: pairs.index((row["mode"], row["budget"]))),
    }


def told(found: Mapping[str, Any]) -> str:
    """The report as a page shows it."""
    cells, start, start_ours = found["cells"], found["theirs_start_s"], found["ours_start_s"]
    one, table = found["one"], found["table"]
    alike = sum(abs(row["ours"] - row["theirs"]) < 1e-9 for row in table)
    how = "" if found["measured"] == cells else f" (of {found['measured']} measured, the mean times {cells})"

    def line(what: str, mine: float, harness: float, note: str = "") -> str:
        return f"| {what} | {mine:.1f} | {harness:.1f}{note} | {harness / mine:.1f} |"

    mine, harness = found["ours_s"], found["theirs_s"]
    alone, twice = one["ours_s"], one["theirs_s"]
    lines = [
        f"{found['questions']} questions, {cells} cells of mode and budget, {found['flows']} requests in flight. "
        f"A process takes {start_ours:.1f} s before it asks (the harness: {start:.1f} s).",
        "",
        "| seconds | thinkcap | lm-evaluation-harness | times |",
        "|---|---|---|---|",
        line(f"all {cells} cells (ours: mean of {len(found['ours_each_s'])})", mine, harness, how),
        line("without the harness's starts", mine, harness - cells * start),
        line("without anyone's start", mine - start_ours, harness - cells * start),
        line(f"one budget ({one['budget']}), both modes", alone, twice),
        line("one budget, without anyone's start", alone - start_ours, twice - 2 * start),
        "",
        told_bare(found),
        f"{found['ours_tokens']:,} tokens generated instead of {found['tokens_alone']:,}.",
        f"The same accuracy in {alike} of {len(table)} cells. Ours, spread among the harness's runs: "
        + ", ".join(f"{seconds:.1f}" for seconds in found["ours_each_s"])
        + " s.",
        "",
        "| budget | " + " | ".join(f"{mode}: thinkcap, harness" for mode in MODES) + " | harness, s |",
        "|---|" + "---|" * (len(MODES) + 1),
    ]
    by_budget: dict[int, dict[str, Any]] = {}
    for row in table:
        by_budget.setdefault(row["budget"], {})[row["mode"]] = row
    for budget, rows in by_budget.items():
        shown = [
            f"{100 * rows[mode]['ours']:.1f} %, {100 * rows[mode]['theirs']:.1f} %" if mode in rows else ""
            for mode in MODES
        ]
        spent = " + ".join(f"{rows[mode]['seconds']:.1f}" for mode in MODES if mode in rows)
        lines.append(f"| {budget} | {' | '.join(shown)} | {spent} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument(
        "--lm-eval", help="Its program, in an environment of its own; without it, only the bare client."
    )
    parser.add_argument("--budgets", default=DENSE)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--flows", type=int, default=256)
    parser.add_argument(
        "--spread", type=int, default=4, help="Parts of the harness's runs that ours stand between."
    )
    parser.add_argument("--cells", type=int, default=0, help="How many of the harness's runs to make; 0 for all.")
    parser.add_argument("--minutes", type=float, default=0, help="Start none after this long; 0 for no end.")
    parser.add_argument("--out", type=Path, default=Path("runs/curve"), help="A new folder.")
    parser.add_argument("--page", type=Path, help="Write the report between the marks of this page.")
    args = parser.parse_args()
    if args.out.exists():
        parser.error(f"'{args.out}' is there already; what it holds would be used again and not be measured")
    if not args.lm_eval:
        print(told_bare(against_bare(args, parse_budgets(args.budgets))))
        return
    found = compared(args, parse_budgets(args.budgets))
    (args.out / "curve.json").write_text(json.dumps(found, indent=1) + "\n")
    print(told(found))
    if args.page:
        written(args.page, "curve", told(found))


if __name__ == "__main__":
    main()
