"""A hostile server: each misdeed gets its own error, in time, and no half answer is taken for a whole."""

from __future__ import annotations

import asyncio
import os
import time

import pytest
from hostile import Hostile, is_canary

from patience import PATIENCE_S, comes
from thinkcap.core.complete import complete
from thinkcap.core.engine import Engine
from thinkcap.core.errors import (
    ConfigError,
    EngineError,
    EngineGarbled,
    EngineRefused,
    EngineTimeout,
    EngineUnreachable,
    ModelChanged,
)
from thinkcap.core.thinking import Delta
from thinkcap.core.types import Question, Request
from thinkcap.engines import open_engine
from thinkcap.engines.retry import RetryPolicy

PATIENT = RetryPolicy(PATIENCE_S, PATIENCE_S, PATIENCE_S, PATIENCE_S, attempts=3, pause_s=0.02)
HASTY = RetryPolicy(PATIENCE_S, first_byte_s=0.5, between_bytes_s=0.5, total_s=3.0, attempts=3, pause_s=0.02)
"""For a server that never answers, and nothing else."""


def asked(mode: str = "think", budget: int = 100) -> Request:
    question = Question("q", ({"role": "user", "content": "6 x 7?"},))
    return Request(question, mode, budget, stage="test", shown="answer")  # type: ignore[arg-type]


def always(behaviour: str):  # type: ignore[no-untyped-def]
    return lambda number, body: "ok" if is_canary(body) else behaviour


def at_first(behaviour: str):  # type: ignore[no-untyped-def]
    """Misbehaves once, on the first request that is no probe."""
    shown = []

    def plan(number: int, body: dict[str, object]) -> str:
        if is_canary(body) or shown:
            return "ok"
        shown.append(number)
        return behaviour

    return plan


async def opened(server: Hostile, **options: object) -> Engine:
    return await open_engine(f"{server.url}#small", **{"retry": PATIENT, **options})


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        ("drop", EngineUnreachable),
        ("429", EngineRefused),
        ("500", EngineRefused),
        ("malformed", (EngineGarbled, EngineUnreachable)),
        ("empty", EngineGarbled),
        ("never", EngineTimeout),
        ("swap", ModelChanged),
    ],
)
async def test_each_misdeed_has_its_error_within_the_time_limit(
    behaviour: str, error: type[EngineError], streamed: bool
) -> None:
    async with Hostile(always(behaviour)) as server:
        engine = await opened(server, retry=HASTY if behaviour == "never" else PATIENT)
        if behaviour == "empty" and streamed:
            error = EngineUnreachable  # a stream of no choices never says that it is complete
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(error) as caught:
                await complete(engine, asked(), [].append if streamed else None)
        if behaviour != "swap":
            assert server.url.removesuffix("/v1") in str(caught.value)
        await engine.aclose()


@pytest.mark.parametrize("behaviour", ["drop", "429", "500", "malformed", "empty"])
async def test_one_misdeed_is_survived(behaviour: str) -> None:
    async with Hostile(at_first(behaviour)) as server:
        engine = await opened(server)
        done = await complete(engine, asked())
        assert done.answer == "the answer is 42"
        assert done.thought == "let me see it is clear now"
        assert done.ended
        assert server.seen[behaviour] == 1
        await engine.aclose()


async def test_a_stream_that_breaks_after_its_first_piece_is_not_tried_again() -> None:
    async with Hostile(at_first("drop")) as server:
        engine = await opened(server)
        pieces: list[Delta] = []
        with pytest.raises(EngineUnreachable, match="middle of an answer"):
            await complete(engine, asked(), pieces.append)
        assert pieces, "a reader has seen some of it, so a second try would repeat it"
        assert server.seen["drop"] == 1
        await engine.aclose()


async def test_retry_after_is_honoured() -> None:
    async with Hostile(at_first("429"), retry_after="0.4") as server:
        engine = await opened(server)
        started = time.monotonic()
        await complete(engine, asked())
        assert time.monotonic() - started >= 0.4
        await engine.aclose()


async def test_a_wait_longer_than_the_call_may_take_fails_at_once() -> None:
    async with Hostile(always("429"), retry_after="3600") as server:
        engine = await opened(server)
        async with asyncio.timeout(PATIENCE_S):  # far below the hour the server asked for
            with pytest.raises(EngineRefused, match="slow down") as caught:
                await complete(engine, asked())
        assert caught.value.status == 429
        assert caught.value.retry_after_s == 3600
        await engine.aclose()


async def test_the_same_name_with_other_weights_is_noticed_by_the_canary() -> None:
    says = ["the answer is 42"]
    async with Hostile(answer=lambda question: says[0]) as server:
        engine = await opened(server, canary_every=3)
        for _ in range(2):
            await complete(engine, asked("nothink"))
        server.think = lambda question: "hm other words entirely"
        with pytest.raises(ModelChanged, match="answers the same question differently"):
            await complete(engine, asked("nothink"))
        await engine.aclose()


async def test_the_fingerprint_depends_on_what_the_model_says() -> None:
    marks = []
    for thought in ("one way", "another way", "one way"):
        async with Hostile(think=lambda question, thought=thought: thought) as server:
            engine = await opened(server)
            marks.append(engine.card.fingerprint)
            await engine.aclose()
    assert marks[0] == marks[2] != marks[1]


async def test_the_key_comes_from_the_environment_and_is_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THINKCAP_API_KEY", "sk-very-secret")
    async with Hostile(always("500")) as server:
        engine = await opened(server)
        with pytest.raises(EngineRefused) as caught:
            await complete(engine, asked())
        assert server.key == "Bearer sk-very-secret"
        assert "secret" not in str(caught.value)
        assert "***" in str(caught.value)
        await engine.aclose()
    assert os.environ["THINKCAP_API_KEY"]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
@pytest.mark.parametrize("streamed", [False, True])
async def test_both_names_of_the_reasoning_and_both_kinds_of_cut(field: str, streamed: bool) -> None:
    async with Hostile(field=field) as server:
        engine = await opened(server)
        assert engine.card.switch == "native"
        pieces: list[Delta] = []
        emit = pieces.append if streamed else None
        inside = await complete(engine, asked(budget=3), emit)
        assert inside.thought is not None
        assert inside.thought.strip() == "let me see"
        assert inside.answer is None
        assert not inside.ended
        assert inside.think_tokens == inside.tokens == 3
        in_answer = await complete(engine, asked(budget=9), emit)
        assert in_answer.answer is not None
        assert in_answer.answer.strip() == "the answer"
        assert not in_answer.ended
        whole = await complete(engine, asked("nothink"), emit)
        assert whole.thought is None
        assert whole.ended
        assert server.bodies[-1]["chat_template_kwargs"]["enable_thinking"] is False
        await engine.aclose()


async def test_tokens_nobody_counted_are_estimated_and_labelled() -> None:
    async with Hostile(usage=False) as server:
        engine = await opened(server)
        done = await complete(engine, asked("nothink"))
        assert done.extras["tokens_source"] == "estimated"
        assert 0 < done.tokens <= 100
        await engine.aclose()


async def test_cancelling_closes_the_request() -> None:
    async with Hostile(always("never")) as server:
        engine = await opened(server, retry=RetryPolicy())
        task = asyncio.create_task(complete(engine, asked()))
        await comes(lambda: server.seen["never"])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await comes(lambda: server.aborted == 1)
        await engine.aclose()


async def test_a_dead_address_and_wrong_names_get_one_line() -> None:
    with pytest.raises(EngineUnreachable, match="is the server running"):
        await open_engine("http://127.0.0.1:9/v1#x", retry=PATIENT)
    async with Hostile() as server:
        with pytest.raises(ConfigError, match="did you mean 'small'"):
            await open_engine(f"{server.url}#smal", retry=PATIENT)
    for wrong, words in {
        "http:///v1": "no host",
        "http://a:b@host/v1": "THINKCAP_API_KEY",
        "http://host:99999/v1": "not an address",
        "some-model": "cannot tell what model",
        "nowhere.gguf": "no model file",
    }.items():
        with pytest.raises(ConfigError, match=words):
            await open_engine(wrong)
    with pytest.raises(ConfigError, match="did you mean 'concurrency'"):
        await open_engine("bundled", concurency=3)
