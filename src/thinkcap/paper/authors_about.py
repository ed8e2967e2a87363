"""What a file of the nips-adathink experiments says about its run: model, task, seed, order of the questions."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkcap.logs.arms import Arm, Questions, content_hash, with_counted_end
from thinkcap.logs.builder import ArmBuilder

TEST_ROWS = {"gsm8k": 1319, "math500": 500}
"""Rows of the test sets: what a seeded shuffle was a shuffle of."""


class Format:
    """Which of the authors' files an arm came from, in its provenance: their statistics are told apart by it."""

    COMPACT, CASCADE, MRSD, SPLIT, FACTORIAL, TEXTS, FIXED, VOTES, SWEEP = (
        f"nips-adathink {word}"
        for word in ("compact", "cascade", "mrsd", "split", "factorial", "texts", "fixed", "votes", "sweep")
    )


def is_format(arm: Arm, *formats: str) -> bool:
    return arm.provenance.get("format") in formats


def seed_order(seed: int, size: int) -> list[int]:
    """Row x[i] of the test set is question i of a run with this seed."""
    rows = list(range(size))
    random.Random(seed).shuffle(rows)
    return rows


def about_run(data: Mapping[str, Any], path: Path, n: int) -> dict[str, Any]:
    """Model, task, seed and the declared order of the questions."""
    meta = data.get("meta") or {}
    task = str(meta.get("benchmark", ""))
    seed = meta.get("seed")
    # A run that names its benchmark and seed shuffled that benchmark; without a benchmark, rows stand as stored.
    order = f"{task} shuffled by seed {seed}" if task and seed is not None else f"file order of {n} rows"
    model = str(meta.get("model") or model_from(path.name))
    if not task:
        task = "math500" if "math500" in path.name else ("gsm8k" if n == TEST_ROWS["gsm8k"] else "")
    return {"model": model, "task": task, "seed": seed, "order": order}


def model_from(name: str) -> str:
    found = re.search(r"(Qwen3(?:[._]5)?[-_]\d{1,4}B|DeepSeek[A-Za-z0-9_]{0,40}?\d{1,4}B)", name)
    return found[1] if found else ""


def gold_content(row: Mapping[str, Any]) -> int:
    return content_hash(str(row["gold"])) if row.get("gold") is not None else 0


def finish(builders: Sequence[ArmBuilder], questions: Questions) -> list[Arm]:
    return [with_counted_end(b.done(questions)) for b in builders]
