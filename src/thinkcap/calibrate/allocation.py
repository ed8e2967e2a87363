"""From the rows of a study to what the allocators learn from: passes, chains, fixed policies, features.

    measured = load([Path("runs/fit")])
    allocation = fit(measured).allocation({"study": "fit"})

A study for it has `nothink` and `think` at every cap, and `close(reserve=A)` (and `split(answer=A)`) at cap T + A
for several thoughts T and answers A; `grid` lists them. Other policies measured at every cap are rivals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from thinkcap.allocate.envelope import Measured
from thinkcap.allocate.features import features
from thinkcap.allocate.signals import signal
from thinkcap.allocate.split import How, Pass, Passes
from thinkcap.allocate.stop_fit import Chains
from thinkcap.core.errors import DataError
from thinkcap.policies.registry import parse
from thinkcap.statistics.arrays import Bools, Ints, distinct
from thinkcap.study.columns import read_columns
from thinkcap.study.questions import Asked, read_questions

_ANSWERS: Mapping[str, tuple[How, str]] = {"close": ("close", "reserve"), "split": ("extract", "answer")}


def grid(caps: Sequence[int], *, answers: Sequence[int] = (16, 32, 64), rivals: Sequence[str] = ()) -> list[Any]:
    """The policies of a study to allocate from, as in a study's file: the cuts are the caps less half a step."""
    cuts = [max(16, cap - max(32, cap // 8)) for cap in caps]
    plans: list[Any] = [
        {"name": "nothink", "budgets": sorted({*caps, 16, min(48, max(caps))})},
        {"name": "think", "budgets": list(caps)},
    ]
    plans += [{"name": "close", "reserve": a, "budgets": [t + a for t in cuts]} for a in answers]
    plans += [{"name": "split", "answer": a, "budgets": [t + a for t in cuts]} for a in answers if a >= 32]
    return plans + [{"name": name, "budgets": list(caps)} for name in rivals]


def load(folders: Sequence[Path]) -> Measured:
    """One or more finished studies of different questions. A question with a failed row is left out everywhere."""
    studies = [_Study(folder) for folder in folders]
    ways = list(dict.fromkeys(way for study in studies for way in study.ways))
    kept = [study.complete(ways) for study in studies]
    asked = [one for found in kept for one, _ in found]
    if not asked:
        raise DataError("no question has a graded row of every policy; finish the study, or run it again")
    passes = {}
    for way in ways:
        parts = [s.passed(way, [at for _, at in found]) for s, found in zip(studies, kept, strict=True) if found]
        passes[way] = Pass(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    return _measured(passes, asked)


class _Study:
    """The rows of one study by policy and budget (`ways`) and by question."""

    def __init__(self, folder: Path) -> None:
        names = ("task", "question", "policy", "verdict", "budget", "seed", "ended", "tokens_charged")
        columns = read_columns(folder / "rows.parquet", names)
        tasks, questions, policies, verdicts = (columns.text(name) for name in names[:4])
        budgets, seeds = (columns.number(name).astype(np.int64) for name in ("budget", "seed"))
        first, question = distinct([tasks.codes, questions.codes, seeds])
        begins, way = distinct([policies.codes, budgets])
        self.ways = {(policies.of(row), int(budgets[row])): at for at, row in enumerate(begins.tolist())}
        self._place = {(tasks.of(r), questions.of(r), int(seeds[r])): at for at, r in enumerate(first.tolist())}
        self._row = np.full((len(begins), len(first)), -1, dtype=np.int64)
        self._row[way, question] = np.arange(len(columns))
        self._failed = np.bincount(question[verdicts.codes < 0], minlength=len(first)) > 0
        self._ended, self._right = columns.number("ended").astype(np.bool_), verdicts.are("right")
        self._tokens = columns.number("tokens_charged").astype(np.int64)
        self._asked = list(read_questions(folder))

    def complete(self, ways: Sequence[tuple[str, int]]) -> list[tuple[Asked, int]]:
        """Questions with a graded row in every one of these ways, and their places."""
        if any(way not in self.ways for way in ways):
            return []
        whole = (self._row >= 0).all(axis=0) & ~self._failed
        places = ((one, self._place.get((one.task, one.question, one.seed))) for one in self._asked)
        return [(one, at) for one, at in places if at is not None and whole[at]]

    def passed(self, way: tuple[str, int], places: Sequence[int]) -> tuple[Bools, Bools, Ints]:
        rows = self._row[self.ways[way], places]
        return self._ended[rows], self._right[rows], self._tokens[rows]


def _measured(passes: Mapping[tuple[str, int], Pass], asked: Sequence[Asked]) -> Measured:
    probe: dict[int, Pass] = {}
    thought: dict[tuple[How, int, int], Pass] = {}
    by_policy: dict[str, dict[int, Pass]] = defaultdict(dict)
    for (label, budget), found in passes.items():
        spec = parse(label)
        if spec.name == "nothink":
            probe[budget] = found
        way = _ANSWERS.get(spec.name)
        if way is not None and set(spec.options) == {way[1]}:
            a = int(spec.options[way[1]])
            thought[way[0], budget - a, a] = found
        elif not spec.options:
            by_policy[label][budget] = found
    if "think" not in by_policy or not probe or not thought:
        raise DataError(
            "an allocation needs nothink, think and close(reserve=...) or split(answer=...) at several caps, for "
            "instance close(reserve=32) at 64,96,128,192,256; add them to the study and run it again"
        )
    caps = tuple(sorted(by_policy["think"]))
    fixed = {name: by for name, by in by_policy.items() if set(caps) <= set(by)}
    chains = _chains(by_policy["think"][caps[-1]], thought, asked)
    if not chains:
        raise DataError("a table of stops needs close(reserve=...) at three or more cuts; measure more of them")
    x = np.stack([features(one.text) for one in asked])
    return Measured(caps, fixed, Passes(probe, thought), chains, x)


def _chains(
    whole: Pass, thought: Mapping[tuple[How, int, int], Pass], asked: Sequence[Asked]
) -> dict[int, Chains]:
    cuts = sorted({t for how, t, _ in thought if how == "close"})
    signals = np.array([[_signal(one, t) for t in cuts] for one in asked])
    result = {}
    for a in sorted({a for how, _, a in thought if how == "close"}):
        mine = [t for t in cuts if ("close", t, a) in thought]
        if len(mine) < 3:
            continue
        at = [cuts.index(t) for t in mine]
        cells = [thought["close", t, a] for t in mine]
        ended = np.stack([c.ended for c in cells], axis=1)
        result[a] = Chains(
            tuple(mine),
            whole.tokens,
            whole.ended,
            whole.right & whole.ended,
            np.where(ended, -1, signals[:, at]),
            np.stack([c.right for c in cells], axis=1),
            np.stack([c.tokens - t for c, t in zip(cells, mine, strict=True)], axis=1),
        )
    return result


def _signal(asked: Asked, cut: int) -> int:
    """What the thought shows after that many tokens; -1 where it had ended."""
    chain = asked.chains.get("think")
    found = dict(chain.cuts).get(cut) if chain else None
    return -1 if chain is None or found is None else signal(chain.text[:found])
