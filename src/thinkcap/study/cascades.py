"""The preset `cascades`: stage budgets at which the bundled model's first try leaves much open.

With a larger first try it settles nearly everything, and a cascade is then no more than that. With 16 tokens about
half of the questions are thought about, so town, iris, mrsd and the gate have something to do. Every diagnostic
has the runs it needs: the same thinking with and without an answer pass, thinking on, cuts at four places,
divisions of one total, the controls, the first try alone, and chains long enough to know their lengths.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FIRST, THINK, ANSWER = 16, 96, 32
ROUNDS, SAMPLES, RETRY = 3, 5, 16

_CUT = {"think": THINK, "answer": ANSWER}
_STAGES = {"first": FIRST, **_CUT}
_COUPLED, _SPLIT = FIRST + THINK, THINK + ANSWER
_WHOLE = FIRST + _SPLIT
_VOTES = SAMPLES * ANSWER
_CUTS = (THINK // 2, THINK, 2 * THINK, 4 * THINK)
_LONG = 512


def _policies() -> list[dict[str, Any]]:
    on = [cut + ANSWER for cut in _CUTS]
    iris = {"name": "iris", **_STAGES}
    return [
        {"name": "nothink", "budgets": [FIRST, ANSWER, _COUPLED, _SPLIT, _WHOLE, *on]},
        {"name": "think", "budgets": [ANSWER, _COUPLED, _SPLIT, _WHOLE, *_CUTS, *on, _LONG]},
        {"name": "think[heuristic]", "budgets": [THINK, _SPLIT]},
        {"name": "think[projection]", "project": ANSWER, "budgets": [_SPLIT]},
        *({"name": "split", "think": cut, "answer": ANSWER, "budgets": [cut + ANSWER]} for cut in _CUTS),
        *({"name": "split", "think": t, "answer": _SPLIT - t, "budgets": [_SPLIT]} for t in (ANSWER, 64, 112)),
        {"name": "close", "reserve": ANSWER, "budgets": [_SPLIT]},
        {"name": "generous", "budgets": [_SPLIT]},
        {"name": "two_pass", **_CUT, "budgets": [_SPLIT]},
        {"name": "think_on_trace", **_CUT, "budgets": [_SPLIT]},
        {"name": "placebo", **_CUT, "budgets": [_SPLIT]},
        {"name": "no_trace", "budgets": [ANSWER]},
        {"name": "no_trace", "mode": "think", "budgets": [ANSWER]},
        {"name": "town", "first": FIRST, "second": THINK, "budgets": [_COUPLED]},
        {"name": "town", "first": FIRST, "second": _SPLIT, "budgets": [_WHOLE]},
        {"name": "town_plus", "first": FIRST, "second": THINK, "budgets": [_COUPLED]},
        {**iris, "budgets": [_WHOLE]},
        {"name": "iris_plus", **_STAGES, "retry": RETRY, "budgets": [_WHOLE + RETRY]},
        {"name": "mrsd", **_STAGES, "rounds": ROUNDS, "budgets": [FIRST + ROUNDS * _SPLIT]},
        {"name": "vote", "samples": SAMPLES, "each": ANSWER, "budgets": [_VOTES]},
        {"name": "gate", "samples": SAMPLES, "each": ANSWER, "otherwise": iris, "budgets": [_VOTES + _WHOLE]},
        {"name": "weighted_vote", "samples": SAMPLES, "each": ANSWER, "other": iris, "budgets": [_VOTES + _WHOLE]},
        {"name": "stop", "budgets": [_WHOLE]},
        {"name": "auto", "budgets": [_WHOLE]},
    ]


CASCADES: Mapping[str, Any] = {"tasks": "families", "policy": _policies()}
