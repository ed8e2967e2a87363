"""A generation as it is stored: once, without its budget, so that every smaller budget is a cut of it.

>>> trace = Trace((7, 8, 9), ended=True, limit=64)
>>> trace.covers(2), trace.cut(2).ended, trace.cut(3).ended
(True, False, True)
"""

from __future__ import annotations

from dataclasses import dataclass, field

from thinkcap.core.scores import Scores
from thinkcap.core.types import Ids


@dataclass(frozen=True, slots=True)
class Trace:
    """Token ids, the end-of-turn token last when the model ended its turn."""

    ids: Ids
    ended: bool
    limit: int
    """The budget it was generated under."""
    generated: int = 0
    """All tokens ever produced for it, those of runs it replaced included."""
    segments: Ids = ()
    """Where it was continued: a continued chain need not equal an uninterrupted one on a real engine."""
    wall_s: float = field(default=0.0, compare=False)
    """How long its tokens took to write."""
    scores: Scores | None = None
    """How sure the model was, one a token; None where nobody asked."""

    def covers(self, budget: int) -> bool:
        # An engine may stop short of its limit without ending its turn (a full context): that is all there is.
        return self.ended or len(self.ids) >= budget or self.limit >= budget

    def cut(self, budget: int) -> Trace:
        """What a run at this budget gives. The end-of-turn token counts: a chain may end exactly there."""
        if not self.covers(budget):
            raise ValueError(f"a trace of {len(self.ids)} tokens cannot be cut at {budget}; continue it")
        if budget >= len(self.ids):
            return self
        scores = self.scores and self.scores.cut(budget)
        return Trace(self.ids[:budget], False, self.limit, self.generated, self.segments, self.wall_s, scores)

    def extended(
        self, ids: Ids, ended: bool, limit: int, wall_s: float = 0.0, scores: Scores | None = None
    ) -> Trace:
        both = self.scores + scores if self.scores is not None and scores is not None else None
        made, segments = self.generated + len(ids), (*self.segments, len(self.ids))
        return Trace(self.ids + ids, ended, limit, made, segments, self.wall_s + wall_s, both)
