"""What every engine promises, asked of each: scripted, embedded, transformers, remote by ids, remote over chat."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tiny import KEY, SLOTS

from patience import PATIENCE_S
from thinkcap.core.complete import complete
from thinkcap.core.engine import Engine
from thinkcap.core.errors import EngineRefused, ThinkcapError, Unsupported
from thinkcap.core.prompts import HERE
from thinkcap.core.scores import Unsure, sliding
from thinkcap.core.thinking import Delta
from thinkcap.core.types import Completion, Question, Request, Sampling, Span
from thinkcap.engines import open_engine
from thinkcap.engines.scripted import ScriptedEngine

KINDS = ("scripted", "embedded", "ids", "chat", "hf")
BY_IDS = ("scripted", "embedded", "ids", "hf")
LONG = 1500
WORDS = "What is {n} + 3? Grüße!"
HOT = 1.0
"""A question the model ends its turn on, and a temperature at which two seeds differ; other models need others."""

ALIKE = 0.02
"""Nats by which the scores of one token may differ from run to run: batches round otherwise."""


def scripted_reply(prompt: str) -> str:
    return f"<think>{prompt[-30:]} of {len(prompt)}</think>{len(prompt) * 7}"


async def opened(kind: str, tiny: Path, served: str) -> Engine:
    if kind == "scripted":
        return ScriptedEngine(scripted_reply, sampled=True)
    if kind == "embedded":
        return await open_engine(str(tiny), concurrency=SLOTS, replicas=2)
    if kind == "hf":
        return await open_engine(str(tiny), concurrency=SLOTS)
    return await open_engine(f"{served}/v1", transport=kind)


@pytest.fixture
async def engine(
    request: pytest.FixtureRequest, tiny: Path, served: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Engine]:
    monkeypatch.setenv("THINKCAP_API_KEY", KEY)
    if request.param == "hf":
        tiny = request.getfixturevalue("tiny_hf")
    found = await opened(request.param, tiny, served)
    yield found
    await found.aclose()


every = pytest.mark.parametrize("engine", KINDS, indirect=True)
by_ids = pytest.mark.parametrize("engine", BY_IDS, indirect=True)
real = pytest.mark.parametrize("engine", KINDS[1:], indirect=True)


def asked(n: int = 1, mode: str = "nothink", budget: int = 200, **more: object) -> Request:
    question = Question(f"q{n}", ({"role": "user", "content": WORDS.format(n=n)},))
    return Request(question, mode, budget, stage="test", **more)  # type: ignore[arg-type]


def same(a: Completion, b: Completion) -> bool:
    return (a.text, a.ids, a.ended, a.tokens) == (b.text, b.ids, b.ended, b.tokens)


@every
async def test_greedy_is_deterministic(engine: Engine) -> None:
    for mode in engine.card.modes:
        first, again = [await complete(engine, asked(2, mode)) for _ in range(2)]
        assert same(first, again)
        assert first.generated == first.tokens > 0


@every
async def test_a_smaller_limit_is_a_prefix_and_ends_only_where_the_whole_ends(engine: Engine) -> None:
    for mode in engine.card.modes:
        whole = await complete(engine, asked(3, mode))
        assert whole.ended
        n = whole.tokens
        for limit in {1, 2, n // 2, n - 1, n, n + 1} - {0}:
            cut = await complete(engine, asked(3, mode, budget=limit))
            assert cut.tokens == min(limit, n)
            assert cut.ended == (limit >= n), "ended exactly at the limit is ended, one below is not"
            if whole.ids is not None:
                assert cut.ids == whole.ids[:limit]
                assert cut.text == await engine.read(whole.ids[:limit])


@by_ids
async def test_the_end_of_turn_token_is_the_last_id_and_no_text(engine: Engine) -> None:
    whole = await complete(engine, asked(4))
    assert whole.ended
    assert whole.ids is not None
    assert await engine.read(whole.ids) == await engine.read(whole.ids[:-1]) == whole.text
    assert "<|im_end|>" not in whole.text


@by_ids
async def test_think_tags_are_text_and_one_token(engine: Engine) -> None:
    close = engine.card.close_id
    assert close is not None
    assert await engine.read([close]) == "</think>"


@by_ids
async def test_a_trace_is_spliced_in_by_its_ids(engine: Engine) -> None:
    trace = await complete(engine, asked(5, "think"))
    content = f"Before {HERE} after"
    messages = ({"role": "user", "content": content},)
    empty = await engine.prompt(asked(5, messages=messages, inserts=(Span("", ()),)))
    filled = await engine.prompt(asked(5, messages=messages, inserts=(trace.span(),)))
    ids = trace.span().ids
    assert ids
    assert empty.ids is not None
    assert filled.ids is not None
    cuts = [k for k in range(len(empty.ids) + 1) if filled.ids == empty.ids[:k] + ids + empty.ids[k:]]
    assert cuts, "head + trace + tail, the head and tail tokenized on their own"
    done = await complete(engine, asked(5, messages=messages, inserts=(trace.span(),)))
    assert done.reread == len(ids)


@by_ids
async def test_a_mark_in_a_question_without_traces_is_an_ordinary_character(engine: Engine) -> None:
    if engine.card.engine == "scripted":
        pytest.skip("a script's prompt treats every mark as a place for a trace")
    messages = ({"role": "user", "content": f"What is {HERE}?"},)
    assert (await engine.prompt(asked(messages=messages))).ids
    with pytest.raises(ThinkcapError, match="2 traces"):
        await engine.prompt(asked(messages=messages, inserts=(Span("", ()), Span("", ()))))


@by_ids
async def test_forced_text_counts_against_the_budget_and_a_span_does_not(engine: Engine) -> None:
    thought = await complete(engine, asked(6, "think", budget=5))
    plain = await engine.prompt(asked(6, "think"))
    begun = await engine.prompt(asked(6, "think", prefill=(thought.span(), "\n</think>\n\n")))
    assert plain.ids is not None
    assert begun.ids is not None
    assert thought.ids is not None
    assert begun.ids[: len(plain.ids) + 5] == plain.ids + thought.ids
    assert begun.forced == len(begun.ids) - len(plain.ids) - 5 > 0
    assert begun.closed
    assert not plain.closed
    answer = await complete(
        engine, asked(6, "think", budget=begun.forced + 2, prefill=(thought.span(), "\n</think>\n\n"))
    )
    assert answer.forced == begun.forced
    assert answer.tokens <= 2
    assert answer.thought is None
    none = await complete(
        engine, asked(6, "think", budget=begun.forced, prefill=(thought.span(), "\n</think>\n\n"))
    )
    assert none.charged == 0


@pytest.mark.parametrize("engine", ["chat"], indirect=True)
async def test_a_chat_server_that_cannot_continue_says_so(engine: Engine) -> None:
    with pytest.raises(Unsupported, match="prefills the assistant's turn"):
        await complete(engine, asked(6, "think", prefill=("Well",)))


@every
async def test_streamed_pieces_join_to_the_text(engine: Engine) -> None:
    for n in (2, 3, 7):
        pieces: list[Delta] = []
        prompt = await engine.prompt(asked(n))
        streamed = await engine.generate(prompt, 120, Sampling(), pieces.append)
        whole = await engine.generate(prompt, 120, Sampling())
        assert (streamed.text, streamed.ids, streamed.ended) == (whole.text, whole.ids, whole.ended)
        assert streamed.tokens == whole.tokens
        joined = "".join(p.text for p in pieces if p.channel != "thought")
        expected = whole.text if whole.thought is None else whole.answer or ""
        assert joined.strip("\n") == expected.strip("\n")


@every
async def test_sixteen_flows_at_once_get_what_they_would_get_alone(engine: Engine) -> None:
    alone = [await complete(engine, asked(n, budget=60)) for n in range(16)]
    together = await asyncio.gather(*(complete(engine, asked(n, budget=60)) for n in range(16)))
    assert [t.ids or t.text for t in together] == [a.ids or a.text for a in alone]


@every
async def test_a_seed_reproduces_and_another_does_not(engine: Engine) -> None:
    def drawn(seed: int, budget: int = 40) -> Request:
        return asked(8, budget=budget, sampling=Sampling(HOT, 0.95, seed))

    first, again, *others = [await complete(engine, drawn(s)) for s in (1, 1, 2, 3, 4, 5)]
    assert same(first, again)
    assert any(first.text != other.text for other in others), "a model may be sure, but not five times"
    if first.ids is not None:
        assert (await complete(engine, drawn(1, budget=7))).ids == first.ids[:7]


@real
async def test_cancelling_frees_the_slots(engine: Engine) -> None:
    drawn = Sampling(1.0, 1.0, 3)
    tasks = [
        asyncio.create_task(complete(engine, asked(n, "think", budget=LONG, sampling=drawn)))
        for n in range(3 * SLOTS)
    ]
    await asyncio.sleep(0.2)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    async with asyncio.timeout(PATIENCE_S):
        assert (await complete(engine, asked(9, budget=4))).tokens > 0


@pytest.mark.parametrize("engine", ["embedded", "ids", "hf"], indirect=True)
async def test_a_prompt_beyond_the_context_is_refused_with_its_numbers(engine: Engine) -> None:
    with pytest.raises(EngineRefused, match="budget of 2048 exceed the context of 2048"):
        await complete(engine, asked(1, budget=2048))


@pytest.mark.parametrize("engine", ["embedded", "ids", "hf"], indirect=True)
async def test_options_apply_to_answer_passes_and_unknown_ones_are_refused(engine: Engine) -> None:
    whole = await complete(engine, asked(3))
    mark = next(c for c in whole.text[2:] if c.isascii() and c.isalnum())
    question = Question("q3", asked(3).messages, options={"stop": mark})
    stopped = await complete(engine, Request(question, "nothink", 200, stage="s", final=True))
    assert stopped.ended
    assert stopped.text == whole.text[: whole.text.index(mark)]
    free = await complete(engine, Request(question, "nothink", 200, stage="s"))
    assert free.text == whole.text
    wrong = Question("q3", asked(3).messages, options={"stopp": "x"})
    with pytest.raises(Unsupported, match="did you mean 'stop'"):
        await complete(engine, Request(wrong, "nothink", 200, stage="s", final=True))


@pytest.mark.parametrize("engine", ["embedded", "ids"], indirect=True)
async def test_a_schema_binds_the_answer_and_is_part_of_the_key(engine: Engine) -> None:
    import json

    wanted = {"type": "json_schema", "json_schema": {"schema": {"enum": ["red", "green"]}}}
    question = Question("q", asked(1).messages, format=wanted)
    request = Request(question, "nothink", 60, stage="s", final=True)
    assert json.loads((await complete(engine, request)).text) in ("red", "green")
    plain = await engine.prompt(asked(1))
    bound = await engine.prompt(request)
    assert plain.ids == bound.ids
    assert plain.key("f", Sampling()) != bound.key("f", Sampling())
    with pytest.raises(Unsupported, match="thought"):
        await complete(engine, Request(question, "think", 60, stage="s", final=True))


@by_ids
async def test_a_stop_is_the_last_token_and_every_token_has_its_score(engine: Engine) -> None:
    """Also the tokens of the text it stops at: a server that leaves them out would shift all that follow."""
    whole = await complete(engine, asked(3, scored=True))
    assert whole.ids is not None
    assert whole.scores is not None
    assert len(whole.scores) == whole.tokens
    middle = whole.tokens // 2
    word = (await engine.read(whole.ids[: middle + 1]))[-2:]
    for scored in (False, True):
        piece = await complete(engine, asked(3, stop_at=(word,), scored=scored))
        assert (piece.ended, piece.finish) == (False, "stopped")
        assert piece.ids == whole.ids[: piece.tokens]
        assert word in piece.text
        assert piece.before is not None
        assert word not in piece.before.text
    assert piece.scores is not None
    assert len(piece.scores) == piece.tokens
    assert piece.scores.chosen == pytest.approx(whole.scores.cut(piece.tokens).chosen, abs=ALIKE)


@by_ids
async def test_writing_stops_where_the_model_becomes_unsure(engine: Engine) -> None:
    whole = await complete(engine, asked(3, scored=True))
    assert whole.ids is not None
    assert whole.scores is not None
    window = 3
    peaked = [*sliding(whole.scores.mean, window)]
    bar = min(peaked[1:]) + ALIKE
    piece = await complete(engine, asked(3, unsure=Unsure(window, bar)))
    at = piece.tokens - window
    assert (piece.ended, piece.finish) == (False, "unsure")
    assert piece.ids == whole.ids[: piece.tokens]
    assert peaked[at] < bar + ALIKE
    assert all(earlier > bar - ALIKE for earlier in peaked[:at])
    sure = await complete(engine, asked(3, unsure=Unsure(window, min(peaked) - ALIKE)))
    assert same(sure, whole)
    assert sure.scores is not None, "who may be stopped by scores gets them"
    assert sure.scores.mean == pytest.approx(whole.scores.mean, abs=ALIKE)
