"""Marks that take several tokens, and several thoughts in a turn: parted, counted and closed exactly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from thinkcap.core.complete import complete
from thinkcap.core.flow import drive
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.types import Question, Request
from thinkcap.dialects import KNOWN, Dialect
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.policies.registry import policy

QUESTION = Question("q", ({"role": "user", "content": "What is 2 + 3?"},), kind="number")
NAMES = ["gpt-oss", "granite-3.2", "magistral", "gemma-4", "command-a-reasoning", "kimi-vl", "hy3"]


def speaking(dialect: Dialect, reply: str) -> ScriptedEngine:
    """One character a token, so that every mark takes as many tokens as it has letters."""
    engine = ScriptedEngine(lambda prompt: reply)
    closing = (dialect.close or "") + (dialect.answer_open or "")
    engine.card = replace(engine.card, marks=dialect.marks, close_id=None, closing=closing)
    return engine


@pytest.mark.parametrize("name", NAMES)
async def test_thoughts_are_counted_to_the_token(name: str) -> None:
    known = KNOWN[name]
    opening, closing = (known.open or "").strip(), (known.close or "").strip()
    wrapped = (known.answer_open or "") + "5" + (known.answer_close or "")
    thought = opening + "2+3 is 5" + closing
    found = await complete(speaking(known, thought + wrapped), Request(QUESTION, "think", 500, stage="s"))
    assert (found.thought, found.answer) == ("2+3 is 5", "5")
    assert found.think_tokens == len(thought)
    assert not found.thinking


async def test_every_thought_of_a_turn_counts() -> None:
    known = KNOWN["gemma-4"]
    thoughts = [f"{known.open_tag}\n{text}{known.close_tag}" for text in ("2+3", "check: 5")]
    engine = speaking(known, f"{thoughts[0]}First. {thoughts[1]}It is 5.")
    found = await complete(engine, Request(QUESTION, "think", 500, stage="s"))
    assert (found.thought, found.answer) == ("2+3\ncheck: 5", "First. It is 5.")
    assert found.think_tokens == len("".join(thoughts))
    cut = await complete(engine, Request(QUESTION, "think", len(thoughts[0]) + 30, stage="s"))
    assert cut.thinking
    assert cut.think_tokens == len(thoughts[0]) + 30 - len("First. ")


async def test_a_thought_that_is_opened_again_is_closed_again() -> None:
    known = KNOWN["gemma-4"]
    again = f"{known.open_tag}\n2+3{known.close_tag}First. {known.open_tag}\n" + "hm " * 500
    engine = speaking(known, again)
    run = await drive(policy("close(reserve=40)", engine.card.spoken(PROMPTS))(QUESTION, 200), engine, cap=200)
    forced = run.steps[-1].request.prefill[-1]
    assert isinstance(forced, str)
    assert known.close_tag in forced
    assert run.charged <= 200
