"""Channels whose marks are ids, and tags of several tokens: parted, streamed, closed by force, counted exactly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from thinkcap.core.complete import complete
from thinkcap.core.flow import drive
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.thinking import Delta
from thinkcap.core.types import Question, Request
from thinkcap.dialects import QWEN, Dialect, named
from thinkcap.engines.scripted import ScriptedEngine, Spelling
from thinkcap.policies.registry import policy

QUESTION = Question("q", ({"role": "user", "content": "2+3?"},), kind="number")
CHANNELS = named("gpt-oss")
FINAL = "<|start|>assistant<|channel|>final<|message|>"
LETTERS = Dialect(
    **{
        **{name: getattr(QWEN, name) for name in ("thinking", "default", "on", "off", "end_of_turn")},
        "open_tag": "<ponder:deep>",
        "close_tag": "</ponder:deep>",
        "open": "<ponder:deep>\n",
        "close": "\n</ponder:deep>\n\n",
    }
)
TURNS = {
    # (dialect, opening, closing and what stands before the answer, tokens of the opening, of the closing mark)
    "channels": (CHANNELS, "<|channel|>analysis<|message|>", f"<|end|>{FINAL}", 1 + 8 + 1, 1),
    "letters": (LETTERS, "<ponder:deep>", "</ponder:deep>", 13, 14),
}


def engine_of(kind: str, thought: str, answer: str = "#### 5") -> ScriptedEngine:
    dialect, opening, closing, _, _ = TURNS[kind]

    def script(prompt: str) -> str:
        _, _, turn = prompt.rpartition("[assistant]")
        return answer if dialect.marks.close_tag in turn else f"{opening}{thought}{closing}{answer}"

    return ScriptedEngine(script, switch="none" if kind == "channels" else "native", dialect=dialect)


def test_control_marks_are_ids_and_letters_are_letters() -> None:
    spelling = Spelling.of(CHANNELS)
    assert set(spelling.single) == {"<|channel|>", "<|message|>", "<|end|>", "<|start|>"}
    whole = f"<|channel|>analysis<|message|>hm<|end|>{FINAL}5"
    assert spelling.decode(spelling.encode(whole)) == whole
    assert len(spelling.encode(whole)) == 10 + 2 + 1 + (1 + 9 + 1 + 5 + 1) + 1
    assert not Spelling.of(LETTERS).single


@pytest.mark.parametrize("kind", TURNS)
async def test_thought_and_answer_are_parted_and_counted_exactly_whole_and_streamed(kind: str) -> None:
    engine = engine_of(kind, "2+3=5")
    shown: list[Delta] = []
    for emit in (None, shown.append):
        found = await complete(engine, Request(QUESTION, "think", 500, "s"), emit)
        assert (found.thought, found.answer, found.ended) == ("2+3=5", "#### 5", True)
        assert found.think_tokens == TURNS[kind][3] + 5 + TURNS[kind][4]
    for channel, text in (("thought", "2+3=5"), ("answer", "#### 5")):
        assert "".join(d.text for d in shown if d.channel == channel) == text


@pytest.mark.parametrize("kind", TURNS)
async def test_wherever_a_cap_cuts_the_thought_is_closed_and_the_answer_is_whole(kind: str) -> None:
    engine = engine_of(kind, "x" * 60)
    close = policy("close(reserve=30)", engine.card.spoken(PROMPTS))
    for cap in range(60, 140):
        run = await drive(close(QUESTION, cap), engine, cap=cap)
        assert run.charged <= cap
        assert run.answer.text == "#### 5", cap
        first = run.steps[0].completion
        # What was written before the closing mark was complete is thought, to the token.
        whole = TURNS[kind][3] + 60 + TURNS[kind][4]
        assert first.think_tokens == min(first.tokens, whole)


@pytest.mark.parametrize("kind", TURNS)
async def test_the_forced_close_is_the_dialects_own_and_every_token_of_it_counts(kind: str) -> None:
    engine = engine_of(kind, "x" * 60)
    run = await drive(policy("close(reserve=40)", engine.card.spoken(PROMPTS))(QUESTION, 80), engine, cap=80)
    last = run.steps[-1]
    forced = {"channels": f"<|end|>{FINAL}", "letters": "\n</ponder:deep>\n\n"}[kind]
    assert last.request.prefill[-1] == forced
    assert last.completion.forced == {"channels": 18, "letters": 17}[kind]


@pytest.mark.parametrize("kind", TURNS)
async def test_a_held_thought_ends_with_the_dialects_mark(kind: str) -> None:
    engine = engine_of(kind, "x" * 60)
    run = await drive(policy("native(reserve=60)")(QUESTION, 80), engine, cap=80)
    (step,) = run.steps
    assert step.completion.think_tokens == TURNS[kind][3] + 20 + TURNS[kind][4]
    assert run.answer.text == "#### 5"


async def test_thoughts_between_answers_are_all_counted() -> None:
    again = f"<|channel|>analysis<|message|>hm<|end|>{FINAL}4"
    engine = ScriptedEngine(
        lambda prompt: f"{again}<|end|><|start|>assistant<|channel|>analysis<|message|>no<|end|>{FINAL}5",
        switch="none",
        dialect=CHANNELS,
    )
    found = await complete(engine, Request(QUESTION, "think", 500, "s"))
    assert (found.thought, found.answer) == ("hm\nno", "45")
    assert found.think_tokens == 2 * (10 + 2 + 1)


LEVELED = replace(
    LETTERS,
    effort={"name": "effort", "values": ["low", "high"], "default": "high"},
    by_effort={
        "low": {"open_tag": "<glance>", "close_tag": "</glance>", "open": "<glance>", "close": "</glance>"}
    },
)


def leveled(prompt: str) -> str:
    mark = "glance" if "[effort low]" in prompt else "ponder:deep"
    over = f"</{mark}>" in prompt.rpartition("[assistant]")[2]
    return "#### 5" if over else f"<{mark}>{'x' * 60}</{mark}>#### 5"


@pytest.mark.parametrize(("effort", "close"), [("low", "</glance>"), ("high", "\n</ponder:deep>\n\n")])
async def test_marks_of_a_level_part_stream_and_close_its_thoughts(effort: str, close: str) -> None:
    engine = ScriptedEngine(leveled, switch="none", dialect=LEVELED)
    shown: list[Delta] = []
    found = await complete(engine, Request(QUESTION, "think", 500, "s", effort=effort), shown.append)
    assert (found.thought, found.answer) == ("x" * 60, "#### 5")
    assert "".join(d.text for d in shown if d.channel == "answer") == "#### 5"
    bound = policy(f"close(reserve=40,effort={effort})", engine.card.spoken(PROMPTS))
    run = await drive(bound(QUESTION, 80), engine, cap=80)
    assert run.answer.text == "#### 5"
    assert run.steps[-1].completion.forced == len(close)
