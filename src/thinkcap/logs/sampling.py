"""Answers of a journal that are worth a label: a few that were cut or near their cap tell more than many others.

    drawn = draw([Path("thinkcap-journal")], 100, seed=0)
    drawn.rows[0]        # {"id": ..., "stratum": "cut", "weight": 3.5, "question": ..., "right": None, ...}

Every stratum is drawn alike; `weight` says for how many answers each row stands, so that estimates stay unbiased.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkcap.core.errors import DataError
from thinkcap.logs.answered import count, name_of
from thinkcap.logs.door import files_of
from thinkcap.logs.ends import CUT
from thinkcap.logs.formats import journal
from thinkcap.logs.reading import Log

STRATA = ("cut", "empty", "near the cap", "ordinary")
_NEAR = 0.9
"""Of its cap: an answer that took so much ended just in time."""

_Place = tuple[int, int]
"""A file and a line of it."""


@dataclass(frozen=True)
class SampledAnswers:
    rows: tuple[Mapping[str, Any], ...]
    sizes: Mapping[str, int]
    """Answers in each stratum, over all models."""
    without_texts: int
    """Answers of which the journal keeps no question; they are not among those drawn from."""


def draw(paths: Sequence[Path], wanted: int, seed: int = 0) -> SampledAnswers:
    """`wanted` answers at most, as evenly over the strata of each model and arm as their sizes allow."""
    logs = [Log(file) for path in paths for file in files_of(Path(path))]
    groups: dict[tuple[str, str, str], list[_Place]] = {}
    silent = seen = 0
    for number, log in enumerate(logs):
        if not journal.recognise(log):
            raise DataError(
                f"{log.path}: not a journal of `thinkcap serve --watch`; only a journal holds questions to label"
            )
        for line, entry, answer in _answers(log):
            seen += 1
            if not entry.get("question"):
                silent += 1
                continue
            arm = "hold" if entry.get("arm") == "hold" else "watch"
            key = (name_of(entry.get("model")), arm, stratum(entry, answer))
            groups.setdefault(key, []).append((number, line))
    if not groups:
        why = (
            "its answers have no texts; watch with --watch-texts first" if seen else "there is no answer in it yet"
        )
        raise DataError(f"{', '.join(map(str, paths))}: nothing can be labelled: {why}")
    chance = random.Random(seed)
    taken: dict[_Place, tuple[str, float]] = {}
    for key, share in zip(sorted(groups), _shares([len(groups[k]) for k in sorted(groups)], wanted), strict=True):
        for place in chance.sample(groups[key], share):
            taken[place] = (key[2], len(groups[key]) / share)
    rows = [row for number, log in enumerate(logs) for row in _rows(log, number, taken)]
    chance.shuffle(rows)
    sizes = {name: sum(len(v) for key, v in groups.items() if key[2] == name) for name in STRATA}
    return SampledAnswers(tuple(rows), sizes, silent)


def stratum(entry: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    if answer.get("empty"):
        return "empty"
    if answer.get("finish") in CUT:
        return "cut"
    tokens, cap = count(answer.get("tokens")), count(entry.get("cap"))
    return "near the cap" if tokens is not None and cap and tokens >= _NEAR * cap else "ordinary"


def _answers(log: Log) -> Iterator[tuple[int, Mapping[str, Any], Mapping[str, Any]]]:
    """Lines with one whole answer that was sent."""
    for line, entry in journal.entries(log):
        if entry is not None and entry.get("arm") != "shadow" and entry.get("complete"):
            answers = entry["answers"]
            if len(answers) == 1 and isinstance(answers[0], Mapping):
                yield line, entry, answers[0]


def _shares(sizes: Sequence[int], wanted: int) -> list[int]:
    """Equal numbers, as far as there are enough; what small strata leave goes to the others. At least one."""
    shares = [0] * len(sizes)
    left = max(wanted, len(sizes))
    while left and (open_ := [i for i, size in enumerate(sizes) if shares[i] < size]):
        for i in open_[:left] if left < len(open_) else open_:
            step = min(max(1, left // len(open_)), sizes[i] - shares[i])
            shares[i] += step
        left = max(wanted, len(sizes)) - sum(shares)
    return shares


def _rows(log: Log, number: int, taken: Mapping[_Place, tuple[str, float]]) -> Iterator[dict[str, Any]]:
    for line, entry, _ in _answers(log):
        if (number, line) in taken:
            name, weight = taken[number, line]
            yield {
                "id": entry.get("id") or f"{log.name}:{line}",
                "model": name_of(entry.get("model")),
                "arm": "hold" if entry.get("arm") == "hold" else "watch",
                "stratum": name,
                "weight": weight,
                "question": entry["question"],
                "answer": entry.get("answer", ""),
                "gold": None,
                "right": None,
            }
