"""The grader: verdicts, limits, replaced workers, any event loop."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from patience import PATIENCE_S
from thinkcap.grading import Grader, workers
from thinkcap.grading.kinds import Decision
from thinkcap.grading.workers import Worker


async def test_verdicts() -> None:
    async with Grader() as grader:
        assert await grader.grade("18", "#### 18", "number") == "right"
        assert await grader.grade("18", "19", "number") == "wrong"
        assert await grader.grade("\\frac{1}{2}", "so it is 0.5.", "math") == "right"
        assert await grader.grade("(B)", "The answer is (A).", "label") == "wrong"
        assert await grader.grade("5", None, "number") == "unreadable"
        assert await grader.grade("5", "I do not know", "number") == "unreadable"
        assert await grader.same("0.5", "1/2", "math")
        assert not await grader.same("0.5", "1/3", "math")


async def test_sums_and_integrals_go_to_the_algebra_system() -> None:
    async with Grader(workers=1) as grader:
        assert await grader.grade("\\sum_{k=1}^{3} k", "6", "math") == "right"
        assert await grader.grade("\\int_0^1 2x\\,dx", "2", "math") == "wrong"


@pytest.mark.parametrize("bomb", ["9**9**9**9", "{" * 1_000_000, "\\sum_{k=1}^{10^9} k^{k}"])
async def test_bombs_cost_a_second_and_are_unreadable(bomb: str) -> None:
    async with Grader(workers=1) as grader:
        await grader.grade("\\sum_{k=1}^{3} k", "6", "math")  # the algebra system is loaded
        async with asyncio.timeout(PATIENCE_S):  # a hang would be for ever; bench/grading.py prints seconds
            assert await grader.grade("7", bomb, "math") == "unreadable"
        assert await grader.grade("\\sum_{k=1}^{3} k", "6", "math") == "right"  # and the next case is served


def test_a_hanging_worker_is_ended_and_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(limit_s=0.5)
    assert worker.ask("\\frac{1}{2}", "0.5", "math") is Decision.SAME
    assert worker._process is not None
    os.kill(worker._process.pid, signal.SIGSTOP)
    with monkeypatch.context() as hurry:
        hurry.setattr(workers, "_PATIENCE", 1)
        assert worker.ask("\\frac{1}{2}", "0.25", "math") is Decision.UNREADABLE
    assert worker.ask("\\frac{1}{2}", "2/4", "math") is Decision.SAME
    assert worker.restarts == 1
    worker.close()


def test_a_dead_worker_is_replaced() -> None:
    worker = Worker()
    assert worker.ask("x+1", "1+x", "math") is Decision.SAME
    assert worker._process is not None
    worker._process.kill()
    worker._process.wait()
    assert worker.ask("x+1", "1+x", "math") is Decision.SAME
    worker.close()


def test_the_grader_works_in_one_loop_after_another() -> None:
    async def one() -> str:
        async with Grader(workers=1) as grader:
            return await grader.grade("x^2-1", "(x-1)(x+1)", "math")

    assert asyncio.run(one()) == "right"
    assert asyncio.run(one()) == "right"


async def test_many_at_once() -> None:
    async with Grader() as grader:
        verdicts = await asyncio.gather(*(grader.grade(f"{i}+x", f"x+{i % 50}", "math") for i in range(100)))
    assert verdicts == ["right" if i < 50 else "wrong" for i in range(100)]


async def test_a_pattern_that_never_ends_costs_a_second_and_nothing_else() -> None:
    async with Grader(workers=1) as grader:
        assert await grader.grade("/^(a|aa)+$/", "a" * 60 + "b", "text") == "unreadable"
        assert await grader.grade("/^par(is|igi)$/i", "So the answer is Parigi.", "text") == "right"


async def test_words_are_read_from_the_text_around_them() -> None:
    async with Grader(workers=1) as grader:
        assert await grader.grade("New York", "It is large.\n#### new york", "text") == "right"
        assert await grader.grade("New York", "It is large.\n#### Boston", "text") == "wrong"
