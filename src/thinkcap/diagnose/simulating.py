"""What one cap for everybody would have done to traffic that was watched.

    >>> simulate(read([Path("thinkcap-journal")]).arms, 1024)[0].under.share      # doctest: +SKIP

Answers that were cut before that cap are taken to go on like the others; prompts, callers and the model stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from thinkcap.core.errors import DataError
from thinkcap.diagnose.traffic import lengths_of
from thinkcap.logs import Arm
from thinkcap.statistics.capped import UnderCap, under
from thinkcap.study.values import FREE, Price


@dataclass(frozen=True)
class Simulated:
    """All answers of one model under one cap, beside what they did."""

    model: str
    answers: int
    """Those whose length and end are known."""
    ended: int
    tokens: int
    under: UnderCap
    price: Price

    def money(self, tokens: float) -> float | None:
        """The price of this many output tokens; None without a price. Input costs the same under every cap."""
        return None if self.price == FREE else self.price.of(fresh_input=0, cached_input=0, output=tokens)


def simulate(arms: Iterable[Arm], cap: int, price: Price = FREE) -> tuple[Simulated, ...]:
    known = list(arms)
    found = []
    for model in sorted({arm.model for arm in known}):
        spent, done = lengths_of(arm for arm in known if arm.model == model)
        if len(spent):
            total = int(spent.sum())
            found.append(Simulated(model, len(spent), int(done.sum()), total, under(spent, done, cap), price))
    if not found:
        raise DataError(
            "no ungraded answer has both a token count and a finish reason, and a simulation needs both"
        )
    return tuple(found)
