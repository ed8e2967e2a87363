"""Stored answers graded again by the rules of today; no model is asked.

changes = await regrade(stored, grader)
[c for c in changes if c.changed]
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from thinkcap.core.types import Kind, Verdict
from thinkcap.tasks.grade import Grader


@dataclass(frozen=True)
class Stored:
    """An answer that was given once: the text or the extracted answer, as the row keeps it."""

    key: str
    gold: str
    answer: str | None
    kind: Kind
    verdict: Verdict


@dataclass(frozen=True)
class Regraded:
    key: str
    before: Verdict
    after: Verdict

    @property
    def changed(self) -> bool:
        return self.before != self.after


async def regrade(stored: Iterable[Stored], grader: Grader) -> tuple[Regraded, ...]:
    """New verdicts in the order of the old ones. Failed requests have no verdict and do not belong here."""

    async def one(row: Stored) -> Regraded:
        return Regraded(row.key, row.verdict, await grader.grade(row.gold, row.answer, row.kind))

    return tuple(await asyncio.gather(*(one(row) for row in stored)))
