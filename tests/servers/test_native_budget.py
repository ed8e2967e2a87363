"""`native` on real servers: vLLM and llama.cpp end the thought by themselves, where they were told to."""

from __future__ import annotations

from typing import Any

import pytest
from started import Server

from thinkcap.core.flow import drive
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.types import Question
from thinkcap.engines import open_engine
from thinkcap.policies.registry import policy

HARD = "What is (48 * 57 + 9) * 31 - 17 * 23?"
QUESTION = Question("q", ({"role": "user", "content": PROMPTS.asked(HARD, "number")},), kind="number")
CAP, RESERVE = 160, 80


async def test_the_server_ends_the_thought_and_answers(server: Server) -> None:
    if server.kind == "transformers":
        pytest.skip("it has no budget for thoughts")
    engine: Any = await open_engine(server.url)
    try:
        whole = await drive(policy("think")(QUESTION, CAP), engine, cap=CAP)
        held = await drive(policy(f"native(reserve={RESERVE})")(QUESTION, CAP), engine, cap=CAP)
    finally:
        await engine.aclose()
    thought, found = whole.answer.completion, held.answer.completion
    assert thought is not None
    assert found is not None
    # Without a budget the thought takes the whole cap; with one there is an answer behind it.
    assert thought.answer is None
    assert found.think_tokens <= CAP - RESERVE + 4
    assert (found.answer or "").strip()
    assert (thought.thought or "").startswith((found.thought or "").strip()[:80])
    assert held.charged <= CAP
