"""The server ends the thought: held at its budget, refused by name where it cannot, caught where it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from thinkcap.core.engine import Emit, Output, Prompt
from thinkcap.core.errors import EngineRefused, Unsupported
from thinkcap.core.flow import drive
from thinkcap.core.types import Question, Sampling
from thinkcap.engines import open_engine
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.policies.registry import policy

QUESTION = Question("q", ({"role": "user", "content": "What is 2 + 3?"},), kind="number")


def script(prompt: str) -> str:
    return "5" if "</think>" in prompt else "<think>" + "2+3 " * 500 + "\0"


async def test_the_thought_ends_at_the_servers_budget_and_the_answer_follows() -> None:
    run = await drive(policy("native(reserve=40)")(QUESTION, 200), ScriptedEngine(script), cap=200)
    (step,) = run.steps
    # Two marks, and the end of the turn behind one character of answer.
    assert (step.completion.think_tokens, run.charged, run.answer.text) == (162, 164, "5")
    assert step.completion.forced == 0


async def test_a_thought_that_ends_by_itself_is_left_alone() -> None:
    engine = ScriptedEngine(lambda prompt: "<think>2+3</think>5")
    run = await drive(policy("native")(QUESTION, 200), engine, cap=200)
    assert (run.charged, run.answer.text) == (7, "5")


async def test_who_cannot_hold_a_thought_is_refused_by_name() -> None:
    engine = ScriptedEngine(script)
    engine.card = replace(engine.card, holds="")
    with pytest.raises(Unsupported, match="leaves it to the server to end a thought, which 'scripted'"):
        await drive(policy("native")(QUESTION, 200), engine, cap=200)


async def test_a_server_that_ignores_the_field_is_found_out() -> None:
    class Deaf(ScriptedEngine):
        async def generate(
            self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None = None
        ) -> Output:
            return await super().generate(structs.replace(prompt, body={}), limit, sampling, emit)

    with pytest.raises(EngineRefused, match=r"thought for 200 tokens where held was 100.*does not limit"):
        await drive(policy("native(reserve=100)")(QUESTION, 200), Deaf(script), cap=200)


async def test_llama_cpp_holds_the_bundled_models_thought_by_ids() -> None:
    engine = await open_engine("bundled", concurrency=1)
    try:
        run = await drive(policy("native(reserve=60)")(QUESTION, 70), engine, cap=70)
        (step,) = run.steps
        # Ten tokens of thought between two marks.
        assert step.completion.ids is not None
        assert step.completion.think_tokens == 12
        assert "5" in (run.answer.text or "")
        assert step.completion.ended
    finally:
        await engine.aclose()
