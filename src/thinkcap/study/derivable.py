"""Was the answer there to be read? Whether a trace that an answer pass was given names the gold, by the grader.

pi, the share of cut chains from which the answer can be read, is not eta, the share of those in which it was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from thinkcap.core.types import Kind, Step
from thinkcap.grading import Grader

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:\s*/\s*\d+)?")
_FORMULA = re.compile(r"\\boxed\{([^{}]{1,80})\}|\$([^$\n]{1,80})\$|=\s*([^=\n,.;]{1,40})")
_WORD = re.compile(r"\([A-Z]\)|[A-Za-z]+")
_MOST = 200
"""Different candidates of one trace that are looked at, the last ones: the answer comes late."""


async def gold_in_trace(steps: Sequence[Step], gold: str, kind: Kind, grader: Grader) -> bool | None:
    """None where no pass was given a trace, and for answers in words: a trace is full of words."""
    if kind == "text":
        return None
    traces = [s.request.inserts[-1].text for s in steps if s.request.inserts]
    if not traces:
        return None
    for candidate in candidates(traces[-1], kind):
        if await grader.same(gold, candidate, kind):
            return True
    return False


def candidates(trace: str, kind: Kind) -> list[str]:
    """What in a trace could be an answer of this kind, the last first, each once.

    >>> candidates("12 + 3 = 15, so 15", "number")
    ['15', '3', '12']
    """
    if kind == "label":
        found = _WORD.findall(trace)
    else:
        found = [n.rstrip(",") for n in _NUMBER.findall(trace)]
        if kind == "math":
            found += [part.strip() for groups in _FORMULA.findall(trace) for part in groups if part.strip()]
    return list(dict.fromkeys(reversed(found)))[:_MOST]
