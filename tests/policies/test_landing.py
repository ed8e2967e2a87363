"""The soft landing: words at the end of a closed thought, paid for by the reserve, in the model's own marks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from thinkcap.core.engine import Prompt
from thinkcap.core.errors import Unsupported
from thinkcap.core.flow import drive
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.types import Question, Request
from thinkcap.engines import open_engine
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.policies.close import SENTENCES
from thinkcap.policies.registry import policy

QUESTION = Question("q", ({"role": "user", "content": "What is 2 + 3?"},), kind="number")


def script(prompt: str) -> str:
    return "5" if "</think>" in prompt else "<think>" + "2+3 " * 500 + "\0"


@pytest.mark.parametrize("name", ["qwen", "vllm", "llamacpp", "placebo", "'Time is up, so:'"])
async def test_the_sentence_stands_before_the_close_and_counts_as_forced(name: str) -> None:
    words = SENTENCES.get(name, name.strip("'"))
    engine = ScriptedEngine(script)
    run = await drive(policy(f"close(sentence={name},reserve=200)")(QUESTION, 400), engine, cap=400)
    last = run.steps[-1]
    assert last.request.prefill[-1] == f"\n\n{words}{PROMPTS.close}"
    # One character a token here, tags one each.
    assert last.completion.forced == len(words) + len(PROMPTS.close) + 2 - len("</think>") + 1
    assert run.charged <= 400
    assert run.answer.text == "5"


async def test_the_placebo_is_as_long_as_what_it_stands_for() -> None:
    assert len(SENTENCES["placebo"].split()) == len(SENTENCES["qwen"].split())
    engine = await open_engine("bundled", concurrency=1)
    try:
        forced = {}
        for name in ("placebo", "qwen"):
            prefill = (f"\n\n{SENTENCES[name]}{PROMPTS.close}",)
            forced[name] = (await engine.prompt(Request(QUESTION, "think", 9, "s", prefill=prefill))).forced
    finally:
        await engine.aclose()
    assert forced["placebo"] == forced["qwen"] == 46


async def test_a_level_of_effort_reaches_every_request_or_is_refused() -> None:
    engine = ScriptedEngine(script)
    with pytest.raises(Unsupported, match="no level of effort 'low'; it knows none"):
        await drive(policy("think(effort=low)")(QUESTION, 100), engine, cap=100)
    engine.card = replace(engine.card, levels=("low", "high"))
    run = await drive(policy("close(effort=low,reserve=60)")(QUESTION, 200), engine, cap=200)
    assert {step.request.effort for step in run.steps} == {"low"}


async def test_every_policy_takes_a_level_of_effort() -> None:
    engine = ScriptedEngine(script)
    engine.card = replace(engine.card, levels=("low", "high"))
    run = await drive(policy("iris(effort=high)")(QUESTION, 200), engine, cap=200)
    efforts = {(step.request.mode, step.request.effort) for step in run.steps}
    assert ("think", "high") in efforts
    assert {effort for mode, effort in efforts if mode == "nothink"} <= {""}


async def test_where_only_effort_can_be_set_a_pass_without_thinking_has_the_least_of_it() -> None:
    asked: list[str] = []

    class Listening(ScriptedEngine):
        async def prompt(self, request: Request) -> Prompt:
            asked.append(f"{request.mode} {request.effort}".strip())
            return await super().prompt(request)

    engine = Listening(lambda prompt: "<think>2+3</think>5", switch="none")
    engine.card = replace(engine.card, levels=("low", "high"))
    assert engine.card.least == "low"
    assert engine.card.to_dict()["nothink_as"] == "think(effort=low)"
    run = await drive(policy("iris(first=60)")(QUESTION, 200), engine, cap=200)
    assert run.answer.text == "5"
    assert asked[0] == "think low"
    engine.card = replace(engine.card, levels=())
    with pytest.raises(Unsupported, match="always thinks and has no 'nothink' mode"):
        await drive(policy("iris")(QUESTION, 200), engine, cap=200)
