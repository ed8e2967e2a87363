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
from thinkcap.allocate.stop import Chains
from thinkcap.core.errors import DataError
from thinkcap.policies.registry import parse
from thinkcap.study.questions import Asked, read_questions
from thinkcap.study.rows import read_parquet

QuestionKey = tuple[str, str, str, int]
"""Study, task, question, seed."""
Arms = Mapping[tuple[str, int], Mapping[QuestionKey, tuple[bool, bool, int]]]

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
    arms: dict[tuple[str, int], dict[QuestionKey, tuple[bool, bool, int]]] = defaultdict(dict)
    asked: dict[QuestionKey, Asked] = {}
    dropped: set[QuestionKey] = set()
    for folder in folders:
        columns = read_parquet(folder / "rows.parquet")
        names = ("task", "question", "seed", "policy", "budget", "verdict", "ended", "tokens_charged")
        for task, question, seed, policy, budget, verdict, ended, tokens in zip(
            *(columns[name] for name in names), strict=True
        ):
            key = (str(folder), str(task), str(question), int(seed))
            if verdict is None:
                dropped.add(key)
            arms[policy, int(budget)][key] = (bool(ended), verdict == "right", int(tokens))
        for one in read_questions(folder):
            asked[str(folder), one.task, one.question, one.seed] = one
    keys = [key for key in asked if key not in dropped and all(key in arm for arm in arms.values())]
    if not keys:
        raise DataError("no question has a graded row of every policy; finish the study, or run it again")
    passes = {arm: _pass([rows[key] for key in keys]) for arm, rows in arms.items()}
    return _measured(passes, [asked[key] for key in keys])


def _pass(rows: Sequence[tuple[bool, bool, int]]) -> Pass:
    ended, right, tokens = (np.array(column) for column in zip(*rows, strict=True))
    return Pass(ended.astype(bool), right.astype(bool), tokens.astype(np.int64))


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
