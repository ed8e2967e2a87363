"""An arm of a study made by hand: question by question what was right, spent and ended."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinkcap.logs.arms import Arm
from thinkcap.logs.modes import split_label


def made(
    policy: str,
    budget: int,
    right: np.ndarray,
    tokens: np.ndarray | None = None,
    ended: np.ndarray | None = None,
    **more: Any,
) -> Arm:
    n = len(right)
    about: dict[str, Any] = {"file": "study", "criterion": "end-of-turn token", "model": "m", "task": "t"}
    name, options = split_label(policy)
    return Arm(
        policy=name,
        options=options,
        budget=budget,
        question=np.arange(n),
        verdict=right.astype(np.int8),
        tokens=tokens,
        ended=ended,
        content=np.arange(1, n + 1).astype(np.uint64),
        **(about | more),
    )
