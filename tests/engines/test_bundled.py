"""The bundled model through every transport: real thoughts, real answers, the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny import KEY
from watched import asked, checked_race, score_gap

from thinkcap.core.complete import complete
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.thinking import Delta
from thinkcap.core.types import Question, Request
from thinkcap.engines import open_engine
from thinkcap.engines.llamacpp import start_server
from thinkcap.model import pebble_gguf

QUESTION = Question("q", ({"role": "user", "content": PROMPTS.asked("What is 12 + 7?", "number")},), kind="number")
WHOLE = 400


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server: list[Any] = [start_server(pebble_gguf(), 1024, 4, 1, KEY)]
    yield f"{server[0].listening_address}/v1"
    server.clear()


async def test_ids_and_chat_agree_with_the_embedded_engine(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THINKCAP_API_KEY", KEY)
    seen = []
    for model, options in (("bundled", {}), (address, {"transport": "ids"}), (address, {"transport": "chat"})):
        engine = await open_engine(model, **options)
        assert engine.card.switch == "native"
        think = await complete(engine, Request(QUESTION, "think", WHOLE, stage="t"))
        plain = await complete(engine, Request(QUESTION, "nothink", WHOLE, stage="n"))
        cut = await complete(engine, Request(QUESTION, "think", 5, stage="c"))
        assert think.thought
        assert think.ended
        assert plain.thought is None
        assert cut.answer is None
        assert not cut.ended
        seen.append([(c.thought, c.answer, c.tokens, c.ended) for c in (think, plain)])
        await engine.aclose()
    assert seen[0] == seen[1] == seen[2]


async def test_streamed_thought_and_answer_are_the_ones_that_come_back(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THINKCAP_API_KEY", KEY)
    for model, options in (("bundled", {}), (address, {"transport": "ids"}), (address, {"transport": "chat"})):
        engine = await open_engine(model, **options)
        pieces: list[Delta] = []
        done = await complete(engine, Request(QUESTION, "think", WHOLE, stage="t"), pieces.append)
        for channel, text in (("thought", done.thought), ("answer", done.answer)):
            joined = "".join(p.text for p in pieces if p.channel == channel)
            assert joined.strip("\n") == (text or "").strip("\n")
        await engine.aclose()


async def test_the_answer_follows_a_thought_closed_by_force() -> None:
    engine = await open_engine("bundled", concurrency=2)
    thought = await complete(engine, Request(QUESTION, "think", 12, stage="t"))
    request = Request(QUESTION, "think", 60, stage="close", prefill=(thought.span(), PROMPTS.close))
    answer = await complete(engine, request)
    assert answer.thought is None
    assert answer.ended
    assert "####" in (answer.answer or "")
    await engine.aclose()


async def test_a_live_race_pays_for_what_was_written() -> None:
    engine = await open_engine("bundled", concurrency=6)
    raced = await checked_race(engine, 1)
    await engine.aclose()
    assert 0 < raced.charged <= raced.whole


@pytest.mark.parametrize("questions", [2, pytest.param(40, marks=pytest.mark.campaign)])
async def test_scores_of_a_stored_trace_are_those_of_its_writing(
    questions: int, tmp_path: Path, campaign: Any
) -> None:
    """llama.cpp scores what it writes: a trace stored without scores is written again."""
    engine = await open_engine("bundled")
    requests = [Request(asked(n), "think", 200, stage="t") for n in range(max(2, campaign.of(questions)))]
    gap = await score_gap(engine, tmp_path, requests)
    await engine.aclose()
    campaign.says(f"scored afterwards, embedded llama.cpp (written again): {gap}")
    assert gap.worst < 0.5
