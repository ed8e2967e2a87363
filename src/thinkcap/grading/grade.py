"""Verdicts for a study: one grader for all methods, its version in every row.

    async with Grader() as grader:
        await grader.grade("\\\\frac{1}{2}", "The answer is 0.5.", "math")     # 'right'

Plain cases (the same text, the same number, the same label) are settled here; everything else goes to worker
programs with limits on time and memory, so that no answer can stall or crash the run that produced it.
"""

from __future__ import annotations

import asyncio
import hashlib
import queue
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from thinkcap.grading.equal import Decision, quick
from thinkcap.grading.workers import LIMIT_S, Worker

if TYPE_CHECKING:
    from thinkcap.core.types import Kind, Verdict

RULES = "1"
_RULE_FILES = (
    *(
        "boxes",
        "compare",
        "decode",
        "equal",
        "extract",
        "formula",
        "labels",
        "latex_cleanup",
        "numeric_equality",
        "prose",
        "regions",
        "shapes",
    ),
    *("symbolic", "tokens", "evaluate", "vocabulary"),
)


def _version() -> str:
    """Changes with every rule, and with the algebra system behind them: nobody has to remember to raise it."""
    digest = hashlib.sha256(version("math-verify").encode())
    for name in _RULE_FILES:
        digest.update(Path(__file__).with_name(name + ".py").read_bytes())
    return f"{RULES}-{digest.hexdigest()[:12]}"


GRADER_VERSION = _version()

_VERDICTS: dict[Decision, Verdict] = {
    Decision.SAME: "right",
    Decision.DIFFERENT: "wrong",
    Decision.UNREADABLE: "unreadable",
    Decision.UNSURE: "unreadable",
}


class Grader:
    """A pool of worker programs behind two questions: is this answer right, and are these two the same."""

    version = GRADER_VERSION

    def __init__(self, workers: int = 2, limit_s: float = LIMIT_S) -> None:
        self._workers = [Worker(limit_s) for _ in range(workers)]
        self._free: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._free.put(worker)
        # Threads only wait on pipes; they belong to no event loop, so the grader works in any.
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="grader")

    async def grade(self, gold: str, answer_text: str | None, kind: Kind) -> Verdict:
        """The verdict on an answer, bare or with the text around it; None was never an answer."""
        if answer_text is None:
            return "unreadable"
        return _VERDICTS[await self._decide(gold, answer_text, kind)]

    async def same(self, a: str, b: str, kind: Kind) -> bool:
        """Whether two answers are one class of a vote."""
        return await self._decide(a, b, kind) is Decision.SAME

    async def _decide(self, gold: str, answer: str, kind: Kind) -> Decision:
        decision = quick(gold, answer, kind)
        if decision is not Decision.UNSURE:
            return decision
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._ask, gold, answer, kind)

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
