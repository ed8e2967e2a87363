"""Training rows made on the fly by many processes, without a question that a benchmark file holds.

Each worker fills its share of one memory-mapped ring again and again; the trainer takes rows at random. A row is
2,560 token ids packed from whole documents; the top bit of an id says whether it is learnt.

    python -m training.data --rows 4        # look at what training sees
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import os
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np

from thinkcap.tasks.families import DIFFICULTIES, FAMILIES, TRAINING_SEEDS, maker
from thinkcap.tasks.families.problem import Problem
from training.encoder import Encoder
from training.render import FORMS, Renderer

ROW = 2560
LEARN = 0x8000
TOKENIZER = Path("src/thinkcap/model/pebble/tokenizer.json")
SHARES = {"arithmetic": 24, "boolean": 18, "tracking": 19, "dates": 21, "ordering": 18}
# Harder than the product's default mix: hard questions need more practice.
HARDNESS = (18, 20, 19, 15, 12, 9, 4, 3)


def normalised(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


def benchmark_questions(folder: Path | None) -> frozenset[str]:
    """Normalised questions of every BBH-style file in a folder; options and all."""
    found: set[str] = set()
    for path in sorted(folder.glob("*.json")) if folder else []:
        for item in json.loads(path.read_text())["examples"]:
            found.add(normalised(item["input"]))
            found.add(normalised(item["input"].split("\nOptions:")[0]))
    return frozenset(found)


def barred(problem: Problem, excluded: frozenset[str]) -> bool:
    """Whether the question, as asked or without its options, or its bare expression is in a benchmark file."""
    if not excluded:
        return False
    if problem.family == "boolean" and normalised(" ".join(problem.work["tokens"]) + " is") in excluded:
        return True
    stem = problem.question.split("\nOptions:")[0]
    return normalised(problem.question) in excluded or normalised(stem) in excluded


def problems(rng: Random, excluded: frozenset[str]) -> Iterator[Problem]:
    makers = {family: maker(family) for family in FAMILIES}
    names, weights = list(SHARES), list(SHARES.values())
    while True:
        family = rng.choices(names, weights)[0]
        problem = makers[family](rng, rng.choices(DIFFICULTIES, HARDNESS)[0])
        if not barred(problem, excluded):
            yield problem


def documents(rng: Random, renderer: Renderer, excluded: frozenset[str]) -> Iterator[np.ndarray]:
    forms, weights = list(FORMS), list(FORMS.values())
    source = problems(rng, excluded)
    last = next(source)
    for problem in source:
        document = renderer.document(problem, rng.choices(forms, weights)[0], rng, other=last)
        last = problem
        if len(document.ids) <= ROW:
            ids = np.array(document.ids, dtype=np.uint16)
            ids[np.array(document.learn)] |= LEARN
            yield ids


def rows(rng: Random, renderer: Renderer, excluded: frozenset[str]) -> Iterator[np.ndarray]:
    """Rows packed from whole documents, each filled with whatever of the waiting ones fits best."""
    source = documents(rng, renderer, excluded)
    waiting = [next(source) for _ in range(64)]
    while True:
        row = np.full(ROW, renderer.encode.pad, dtype=np.uint16)
        at = 0
        while True:
            # The first document at random, so that long ones get their turn; then the longest that fits.
            fits = [i for i, d in enumerate(waiting) if len(d) <= ROW - at]
            if not fits:
                break
            pick = rng.choice(fits) if at < ROW // 2 else max(fits, key=lambda i: len(waiting[i]))
            document = waiting[pick]
            row[at : at + len(document)] = document
            at += len(document)
            waiting[pick] = next(source)
        yield row


def _work(path: str, first: int, count: int, total: int, seed: int, folder: str | None, filled: object) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    ring = np.memmap(path, dtype=np.uint16, mode="r+", shape=(total, ROW))
    renderer = Renderer(Encoder(TOKENIZER))
    excluded = benchmark_questions(Path(folder) if folder else None)
    for made, row in enumerate(rows(Random(seed), renderer, excluded)):
        ring[first + made % count] = row
        filled[first // count] = made + 1  # type: ignore[index]


class Ring:
    """The rows all workers have made so far; `batch` draws from them at random."""

    def __init__(self, path: Path, workers: int, rows_each: int, seed: int, exclude: Path | None) -> None:
        if seed < TRAINING_SEEDS:
            raise SystemExit(f"seed {seed} belongs to evaluation; training seeds start at {TRAINING_SEEDS}")
        total = workers * rows_each
        self._rows = np.memmap(path, dtype=np.uint16, mode="w+", shape=(total, ROW))
        context = mp.get_context("spawn")
        self.made = context.Array("q", workers, lock=False)
        self._each, self._workers = rows_each, workers
        self._rng = np.random.default_rng(seed)
        folder = str(exclude) if exclude else None
        self._processes = [
            context.Process(
                target=_work,
                args=(str(path), w * rows_each, rows_each, total, seed + 1 + w, folder, self.made),
                daemon=True,
            )
            for w in range(workers)
        ]
        for process in self._processes:
            process.start()

    def ready(self, rows_each: int) -> bool:
        dead = [p.exitcode for p in self._processes if p.exitcode is not None]
        if dead:
            raise SystemExit(f"a data worker ended with exit code {dead[0]}")
        return min(self.made) >= rows_each

    def batch(self, size: int) -> np.ndarray:
        workers = self._rng.integers(0, self._workers, size)
        limits = np.minimum(np.array(self.made[:])[workers], self._each)
        return self._rows[workers * self._each + self._rng.integers(0, limits)]

    def stop(self) -> None:
        for process in self._processes:
            process.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2, help="how many packed rows to print")
    parser.add_argument("--seed", type=int, default=TRAINING_SEEDS, help="seed of the rows")
    options = parser.parse_args()
    encoder = Encoder(TOKENIZER)
    source = rows(Random(options.seed), Renderer(encoder), frozenset())
    for _ in range(options.rows):
        row = next(source)
        learnt = int((row & LEARN > 0).sum())
        print(f"--- {learnt} of {ROW} tokens learnt")
        print(encoder.tokenizer.decode((row & (LEARN - 1)).tolist(), skip_special_tokens=False))


if __name__ == "__main__":
    main()
