"""Verdicts for a study: one grader for all methods, its version in every row.

    async with Grader() as grader:
        await grader.grade("\\\\frac{1}{2}", "The answer is 0.5.", "math")     # 'right'

Plain cases (the same text, the same number, the same label) are settled here; everything else goes to worker
programs with limits on time and memory, so that no answer can stall or crash the run that produced it.
"""

from __future__ import annotations

import asyncio
import os
import queue
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from thinkcap.grading.equality import decide, quick
from thinkcap.grading.kinds import Decision, KindName, VerdictName
from thinkcap.grading.workers import LIMIT_S, Worker, ask_once

VERSION = 3
"""Raised when verdicts change, and only then; the table in tests/grading/verdicts.jsonl says when they did."""

_REMEMBERED = 65_536
"""Cases a worker has settled and is not sent again: a trace cut at many budgets names the same formulas."""

_VERDICTS: dict[Decision, VerdictName] = {
    Decision.SAME: "right",
    Decision.DIFFERENT: "wrong",
    Decision.UNREADABLE: "unreadable",
    Decision.UNSURE: "unreadable",
}


def equal(gold: str, answer: str | None, kind: KindName) -> bool:
    """Whether `answer` (a bare answer or the words around it) gives `gold`. Never raises on bad input.

    >>> equal("\\\\frac{1}{2}", "0.5", "math"), equal("1,000", "$1000.00", "number"), equal("(B)", "b", "label")
    (True, True, True)
    """
    decision = decide(gold, answer, kind)
    if decision is Decision.UNSURE:
        decision = ask_once(gold, str(answer), kind)
    return decision is Decision.SAME


class Grader:
    """A pool of worker programs behind two questions: is this answer right, and are these two the same."""

    version = str(VERSION)

    def __init__(self, workers: int = 0, limit_s: float = LIMIT_S) -> None:
        """As many workers as half of the cores, two to eight, where no number is given."""
        workers = workers or min(8, max(2, (os.cpu_count() or 2) // 2))
        self._workers = [Worker(limit_s) for _ in range(workers)]
        self._known: dict[tuple[str, str, str], Decision] = {}
        # The one used last comes first: cases that come one by one start one program, not all.
        self._free: queue.LifoQueue[Worker] = queue.LifoQueue()
        for worker in self._workers:
            self._free.put(worker)
        # Threads only wait on pipes; they belong to no event loop, so the grader works in any.
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="grader")

    async def grade(self, gold: str, answer_text: str | None, kind: KindName) -> VerdictName:
        """The verdict on an answer, bare or with the text around it; None was never an answer."""
        if answer_text is None:
            return "unreadable"
        return _VERDICTS[await self._decide(gold, answer_text, kind)]

    async def same(self, a: str, b: str, kind: KindName) -> bool:
        """Whether two answers are one class of a vote."""
        return await self._decide(a, b, kind) is Decision.SAME

    async def _decide(self, gold: str, answer: str, kind: KindName) -> Decision:
        decision = quick(gold, answer, kind)
        if decision is not Decision.UNSURE:
            return decision
        case = (gold, answer, kind)
        if case not in self._known:
            loop = asyncio.get_running_loop()
            decision = await loop.run_in_executor(self._threads, self._ask, gold, answer, kind)
            # A case that took too long may find more time when it comes again.
            if decision is Decision.UNREADABLE or len(self._known) >= _REMEMBERED:
                return decision
            self._known[case] = decision
        return self._known[case]

    def _ask(self, gold: str, answer: str, kind: str) -> Decision:
        worker = self._free.get()
        try:
            return worker.ask(gold, answer, kind)
        finally:
            self._free.put(worker)

    async def aclose(self) -> None:
        """End the workers; what is under way is finished first."""
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)
        for worker in self._workers:
            worker.close()

    async def __aenter__(self) -> Grader:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
