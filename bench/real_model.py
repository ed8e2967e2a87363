"""Writes what thinkcap says of a real model into docs/real-model.md, so that nothing there is typed by hand.

    python bench/real_model.py

It prints from the rows in training/hybrid/rows. The commands' own output goes between the page's marks, and the
pictures into docs/img. No question's text does.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from hf_study import told
from page import written
from thinkcap.statistics.paired import difference, holm

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "training" / "hybrid" / "rows"
TASKS = ("gsm8k", "math500")
CAPS = (256, 512, 1024, 2048, 4096)
MOST = 2048
"""The cap at which modes are compared on chains that end: all tasks have it."""
READINGS = ("think", "think[heuristic]", "close", "close(sentence=qwen)", "close(sentence=placebo)", "split")
"""What can be had of a chain that the cap cuts."""
OTHERS = ("iris", "iris_plus", "mrsd", "vote(samples=3)", "vote", "gate", "skip", "agree", "sure", "estimate")
"""Methods of several calls, and rules of others for the same cap."""
PICTURED = ("nothink", "think", "split", "iris", "mrsd", "vote", "gate", "skip", "agree")


def said(*words: str) -> str:
    """What `thinkcap` prints."""
    found = subprocess.run([sys.executable, "-m", "thinkcap", *words], capture_output=True, text=True, check=False)
    if found.returncode:
        raise SystemExit(f"thinkcap {' '.join(words)} ended with {found.returncode}: {found.stderr.strip()}")
    return found.stdout.strip()


class Arms:
    """Right, ended and tokens of every question, by policy and cap."""

    def __init__(self, rows: Path) -> None:
        table = pq.read_table(rows)
        self._rows = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}

    def of(self, task: str, policy: str, cap: int) -> tuple[Any, Any, Any] | None:
        rows = self._rows
        mine = (rows["task"] == task) & (rows["policy"] == policy) & (rows["budget"] == cap)
        if not mine.any():
            return None
        order = np.argsort(rows["question"][mine])
        right = (rows["verdict"][mine] == "right")[order]
        return right, rows["ended"][mine][order].astype(bool), rows["tokens_charged"][mine][order]

    def column(self, name: str, task: str, policy: str, cap: int) -> Any:
        rows = self._rows
        mine = (rows["task"] == task) & (rows["policy"] == policy) & (rows["budget"] == cap)
        return rows[name][mine][np.argsort(rows["question"][mine])]

    def generated(self) -> int:
        """Tokens that were written for these rows; cuts of what was there cost none."""
        return int(self._rows["tokens_generated"].sum())

    def unread(self, task: str, policy: str, cap: int) -> Any:
        """Where no answer could be read."""
        return self.column("verdict", task, policy, cap) == "unreadable"

    def known(self, task: str, policy: str, cap: int) -> tuple[Any, Any, Any]:
        found = self.of(task, policy, cap)
        if found is None:
            raise SystemExit(f"no rows of {policy}@{cap} on {task} in {ROWS}; wanted them to be kept")
        return found


@cache
def arms_of(task: str) -> Arms:
    return Arms(ROWS / task / "rows.parquet")


def percent(values: Any) -> str:
    return f"{100 * np.mean(values):.1f}"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> list[str]:
    """Markdown; the first `words` columns are words, the others numbers."""
    rule = "|" + "---|" * words + "---:|" * (len(titles) - words)
    return [f"| {' | '.join(titles)} |", rule, *(f"| {' | '.join(row)} |" for row in rows)]


def shown(arm: tuple[Any, Any, Any] | None) -> str:
    return percent(arm[0]) if arm else ""


def modes() -> str:
    """Base, both modes and chains that end, beside each other."""
    base = Arms(ROWS / "base" / "rows.parquet")
    rows, apart = [], []
    for task in TASKS:
        arms = arms_of(task)
        for cap in CAPS:
            if arms.of(task, "think", cap) is None:
                continue
            think, nothink = arms.known(task, "think", cap), arms.known(task, "nothink", cap)
            untuned = shown(base.of(task, "think", cap))
            right, ended, _ = think
            of_those = percent(right[ended]) if ended.any() else ""
            found = (percent(nothink[0]), percent(right), percent(ended), of_those)
            rows.append((task, f"{cap:,}", untuned, *found))
        think, nothink = arms.known(task, "think", MOST), arms.known(task, "nothink", MOST)
        ended, silent = think[1], think[1] & arms.unread(task, "think", MOST)
        apart.append(
            f"- {task}: {ended.sum():,} of {len(ended):,} chains end within {MOST:,} tokens. On those questions "
            f"thinking gets {percent(think[0][ended])} % right, not thinking {percent(nothink[0][ended])} %. "
            f"{silent.sum()} chains end without closing their thought: they give no answer and count as wrong. "
            f"Half of all chains end within {np.median(think[2]):,.0f} tokens; without thinking, half of the "
            f"answers end within {np.median(nothink[2]):,.0f}."
        )
    titles = ("task", "cap", "base (%)", "nothink (%)", "think (%)", "ended (%)", "right of those (%)")
    return "\n".join([*table(titles, rows), "", *apart])


def readings() -> str:
    """What the same chains give when the cap cuts them: nothing, what they say, or an answer after all."""
    rows = []
    for task in TASKS:
        arms = arms_of(task)
        found = ((f"{cap:,}", [shown(arms.of(task, policy, cap)) for policy in READINGS]) for cap in CAPS)
        rows += [(task, cap, *cells) for cap, cells in found if any(cells)]
    return "\n".join(table(("task", "cap", *(f"{policy} (%)" for policy in READINGS)), rows))


def beside() -> str:
    """What the paper prints for Qwen3-8B where it means the same, and what the rows here say."""
    gsm8k, math500 = map(arms_of, TASKS)
    right, ended, _ = gsm8k.known("gsm8k", "think", 512)
    both = [percent(math500.known("math500", mode, MOST)[0]) for mode in ("nothink", "think")]
    rows = (
        ("GSM8K, 512 tokens, without thinking", "93.1", percent(gsm8k.known("gsm8k", "nothink", 512)[0])),
        (
            "GSM8K, 512 tokens, thinking, cut chains read",
            "56.9",
            shown(gsm8k.of("gsm8k", "think[heuristic]", 512)),
        ),
        ("GSM8K, 512 tokens, chains that end", "37.4", percent(ended)),
        ("of those, right", "99.0", percent(right[ended])),
        ("MATH-500, 2,048 tokens, without thinking / thinking", "68.4 / 54.8", " / ".join(both)),
    )
    return "\n".join(table(("", "Qwen3-8B in the paper (%)", "here (%)"), rows))


def differences(pairs: Iterable[tuple[str, str, int, str]]) -> list[tuple[str, ...]]:
    """Task, method, cap and the method it is compared with, question by question; one family of tests."""
    found = {
        (task, one, cap, other): difference(
            arms_of(task).known(task, one, cap)[0], arms_of(task).known(task, other, cap)[0], "question"
        )
        for task, one, cap, other in pairs
    }
    clear = holm({pair: paired.test.p for pair, paired in found.items()})
    rows = []
    for pair, paired in found.items():
        gain, low, high = (100 * x for x in (paired.test.difference, paired.low, paired.high))
        task, one, cap, other = pair
        told = (f"{gain:+.1f}", f"{low:+.1f} to {high:+.1f}", f"{clear[pair]:.2g}")
        rows.append((task, one, other, f"{cap:,}", *told))
    return rows


DIFFERENCE = ("points", "95 %", "p (Holm)")


def landing() -> str:
    """What last words in a closed thought do, question by question."""
    bare, qwen, placebo = "close", "close(sentence=qwen)", "close(sentence=placebo)"
    caps = {"gsm8k": (256, 512, 1024), "math500": (512, 1024, 2048)}
    rows = differences(
        (task, one, cap, other)
        for task in TASKS
        for one, other in ((qwen, bare), (placebo, bare), (qwen, placebo))
        for cap in caps[task]
    )
    return "\n".join(table(("task", "with", "against", "cap", *DIFFERENCE), rows, words=3))


def others() -> str:
    """Methods of several calls and rivals, against an answer without thinking under the same cap."""
    ran = [
        (task, policy, cap, "nothink")
        for task in TASKS
        for cap in CAPS[1:]
        for policy in OTHERS
        if arms_of(task).of(task, policy, cap) is not None
    ]
    rows = []
    for (task, policy, cap, _), (*_, points, interval, p) in zip(ran, differences(ran), strict=True):
        right, _, tokens = arms_of(task).known(task, policy, cap)
        direct = arms_of(task).known(task, "nothink", cap)[0]
        rows.append(
            (
                task,
                policy,
                f"{cap:,}",
                f"{tokens.mean():,.0f}",
                percent(direct),
                percent(right),
                points,
                interval,
                p,
            )
        )
    titles = ("task", "method", "cap", "tokens", "nothink (%)", "method (%)", *DIFFERENCE)
    return "\n".join(table(titles, rows, words=2))


def inside() -> str:
    """What those methods did, for the words around the table."""
    arms, task = arms_of("gsm8k"), "gsm8k"

    def decided(policy: str, cap: int, stage: str, by: str) -> str:
        here = arms.column("stage", task, policy, cap) == stage
        right = arms.known(task, policy, cap)[0]
        return (
            f"- {policy}@{cap}: {by} decides {here.sum():,} of {len(here):,} questions, "
            f"{percent(right[here])} % of them right; of the others {percent(right[~here])} %."
        )

    def noted(policy: str, note: str) -> str:
        found = [
            bool(json.loads(said or "{}").get(note))
            for one, at in ((arms, task), (arms_of("math500"), "math500"))
            for cap in CAPS
            if one.of(at, policy, cap) is not None
            for said in one.column("notes", at, policy, cap)
        ]
        return f"{sum(found):,} of {len(found):,} answers"

    sample = 1024 // 3
    long = arms.known(task, "nothink", MOST)[2] > sample
    return "\n".join(
        (
            decided("gate", 4096, "vote", "the vote"),
            decided("agree", MOST, "trial", "an agreed trial"),
            f"- sure: a trial in {noted('sure', 'trials')} on both tasks.",
            f"- estimate: a number in {noted('estimate', 'estimate')} on both tasks.",
            f"- Of answers without thinking, {percent(long)} % take more than {sample} tokens, a third of 1,024.",
            f"- Tokens written: {sum(arms_of(one).generated() for one in TASKS):,} for both tasks.",
        )
    )


def apart() -> str:
    """How far two runs of the recipe are from each other."""
    again, rows, far = Arms(ROWS / "again" / "rows.parquet"), [], []
    for task in TASKS:
        first = arms_of(task)
        for cap in CAPS[: CAPS.index(MOST) + 1]:
            found = [arms.known(task, p, cap)[0] for p in ("nothink", "think") for arms in (first, again)]
            rows.append((task, f"{cap:,}", *map(percent, found)))
            far += [abs(100 * (np.mean(a) - np.mean(b))) for a, b in (found[:2], found[2:])]
    titles = ("task", "cap", "nothink, first (%)", "second (%)", "think, first (%)", "second (%)")
    told = f"Differences: {np.mean(far):.1f} points on average, {max(far):.1f} at most."
    return "\n".join([*table(titles, rows), "", told])


def twice() -> str:
    """How far two studies of the same weights are from each other."""
    rows, far = [], []
    for task in TASKS:
        before, now = Arms(ROWS / "earlier" / f"{task}.parquet"), arms_of(task)
        for policy in ("nothink", "think", "close", "split", "town", "iris"):
            for cap in (512, 2048):
                one, other = (arms.known(task, policy, cap)[0] for arms in (before, now))
                far.append(100 * (np.mean(other) - np.mean(one)))
                changed = f"{(one != other).sum()} of {len(one):,}"
                rows.append((task, policy, f"{cap:,}", percent(one), percent(other), f"{far[-1]:+.1f}", changed))
    titles = ("task", "method", "cap", "one study (%)", "the other (%)", "points", "questions that changed")
    told = f"Differences: {np.mean(np.abs(far)):.1f} points on average, {max(map(abs, far)):.1f} at most."
    return "\n".join([*table(titles, rows, words=2), "", told])


def speeds() -> str:
    """The whole task, and so few questions that all their chains begin at once."""
    files = (ROWS / "study_speed.json", ROWS / "study_speed_320.json")
    return "\n\n".join(told(json.loads(file.read_text(encoding="utf-8"))) for file in files)


def picture(task: str, out: Path) -> None:
    """Accuracy against cap of those methods that tell the story: all of them would hide it."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "pictured.parquet"
        pq.write_table(pq.read_table(ROWS / task / "rows.parquet", filters=[("policy", "in", PICTURED)]), log)
        said("report", str(log), "--figure", "accuracy", "--out", folder)
        shutil.copy(Path(folder) / "figures" / "accuracy.svg", out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "real-model.md")
    args = parser.parse_args()
    written(args.page, "modes", modes())
    written(args.page, "readings", readings())
    written(args.page, "beside the paper", beside())
    written(args.page, "landing", landing())
    written(args.page, "others", others())
    written(args.page, "inside", inside())
    written(args.page, "apart", apart())
    written(args.page, "twice", twice())
    written(args.page, "speed", speeds())
    for task in TASKS:
        run = str(ROWS / task)
        verdict = said("diagnose", run).replace(str(ROOT) + "/", "")
        written(args.page, f"verdict {task}", f"```\n{verdict}\n```")
        written(args.page, f"tables {task}", said("report", run, "--table", "methods"))
        picture(task, args.page.parent / "img" / f"real-{task}.svg")
    print(args.page)


if __name__ == "__main__":
    main()
