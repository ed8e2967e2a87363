"""The preset `rivals`: the paper's methods and those of others at the same caps, every token charged.

The bundled model never says `Wait`. Its thoughts are lines of work, some of which begin with `Let me` (check, go
back), so the rivals that wait for a sentence, a paragraph or a word look at lines here, and `sure` is measured
with `Let me` too. Thoughts have a dozen lines, so `settle` and `steady` ask for fewer looks than their authors do,
and samples are few where a small cap must pay for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CAPS = (64, 128, 256, 512)
TRIALS: tuple[Mapping[str, Any], ...] = (
    {"name": "sure", "at": "line"},
    {"name": "sure", "at": "Let me"},
    {"name": "agree"},
    {"name": "settle", "at": "line", "last": 4},
    {"name": "steady", "at": "line", "warm": 4},
)
"""Those that try an answer on the way."""
_OTHERS: tuple[Mapping[str, Any], ...] = (
    {"name": "wait"},
    {"name": "trust", "samples": 4, "keep": 0.5},
    {"name": "trust_stop", "samples": 6, "first": 3},
    {"name": "shortest"},
    {"name": "skip"},
    {"name": "skip_vote"},
    {"name": "estimate"},
)
PAPER = ("nothink", "think", "split", "town", "iris", "mrsd", "vote")

RIVALS: Mapping[str, Any] = {
    "tasks": "families",
    "budgets": ",".join(map(str, CAPS)),
    "policy": [*({"name": name} for name in ("close", *PAPER)), *map(dict, TRIALS), *map(dict, _OTHERS)],
}
