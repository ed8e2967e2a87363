"""Whether an answer is right: the final answer is found in a text and compared with the gold.

Other rooms use three names: `extract` (what a text states as its answer, and how plainly), `equal` (whether two
answers mean the same) and `Grader` (verdicts for many answers at a time; `Grader.version` stands in every row).
Texts come without their thought: `core.thinking.parted` splits it off. Nothing of ours is imported but errors.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thinkcap.grading.extraction import extract
    from thinkcap.grading.grader import Grader, equal

__all__ = ["Grader", "equal", "extract"]

_HOME = {"Grader": "grader", "equal": "grader", "extract": "extraction"}


def __getattr__(name: str) -> Any:
    # Loaded when first used: whoever only wants help on the command line does not wait for formulas.
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
