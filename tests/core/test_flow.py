"""The driver: caps, reservations, errors, streaming."""

import asyncio

import pytest

from patience import PATIENCE_S, comes
from thinkcap.core.errors import EngineTimeout, Unsupported
from thinkcap.core.flow import Flow, Piece, ask, ask_all, drive, same, stream
from thinkcap.core.types import Answer, Question, Request, Run
from thinkcap.engines.scripted import ScriptedEngine

Q = Question("q", ({"role": "user", "content": "2+3?"},), kind="number")
THOUGHT = ScriptedEngine(lambda prompt: "5" if prompt.endswith("[nothink]") else "<think>2+3=5</think>5")


async def agree(a: str, b: str, kind: str) -> bool:
    return a.strip() == b.strip()


def one(budget: int, **more: object) -> Flow:
    answer = yield from ask(Request(Q, "think", budget, stage="think", **more))  # type: ignore[arg-type]
    return Answer(answer.answer, "think", answer)


async def test_a_completion_is_parted_and_counted() -> None:
    run = await drive(one(64), THOUGHT)
    (step,) = run.steps
    assert (step.completion.thought, step.completion.answer) == ("2+3=5", "5")
    assert step.completion.ended
    assert run.charged == step.completion.tokens == 9  # open, five, close, answer, end of turn


async def test_cut_thought_has_no_answer() -> None:
    run = await drive(one(4), THOUGHT)
    assert run.answer.text is None
    assert not run.steps[0].completion.ended
    assert run.charged == 4


async def test_ends_exactly_at_the_budget() -> None:
    assert (await drive(one(9), THOUGHT)).steps[0].completion.ended
    assert not (await drive(one(8), THOUGHT)).steps[0].completion.ended


async def test_cap_clips_and_keeps_the_answer_share() -> None:
    def greedy() -> Flow:
        first = yield from ask(Request(Q, "think", 100, stage="a", keep=3))
        second = yield from ask(Request(Q, "think", 100, stage="b"))
        third = yield from ask(Request(Q, "think", 100, stage="c"))
        return Answer(None, "c", notes={"got": (first.charged, second.charged, third.charged)})

    run = await drive(greedy(), ScriptedEngine(lambda p: "x" * 500), cap=10)
    assert run.answer.notes["got"] == (7, 3, 0)


async def test_parallel_requests_cannot_overdraw() -> None:
    def wide() -> Flow:
        yield from ask_all([Request(Q, "nothink", 6, stage="s", sample=i) for i in range(4)])
        return Answer(None, "s")

    run = await drive(wide(), ScriptedEngine(lambda p: "x" * 50), cap=10)
    assert [s.request.budget for s in run.steps] == [6, 4, 0, 0]
    assert run.charged == 10


async def test_forced_tokens_count() -> None:
    def forced() -> Flow:
        chain = yield from ask(Request(Q, "think", 3, stage="think"))
        rest = yield from ask(Request(Q, "think", 12, stage="close", prefill=(chain.span(), "</think>ok")))
        return Answer(rest.text, "close", rest)

    run = await drive(forced(), ScriptedEngine(lambda p: "5" if "ok" in p else "<think>2+3=5</think>5"))
    assert run.steps[1].completion.forced == 3
    assert run.steps[1].completion.reread == 3
    assert run.charged == 3 + 3 + 2
    assert run.answer.text == "5"


async def test_no_room_for_forced_tokens_gives_nothing_not_a_crash() -> None:
    def forced() -> Flow:
        rest = yield from ask(Request(Q, "think", 2, stage="close", prefill=("</think>ok",)))
        return Answer(rest.answer, "close", rest)

    run = await drive(forced(), THOUGHT)
    assert run.charged == 0
    assert run.answer.text is None


async def test_failure_comes_out_with_the_steps_so_far() -> None:
    def two() -> Flow:
        yield from ask(Request(Q, "nothink", 4, stage="a"))
        yield from ask(Request(Q, "think", 4, stage="b"))
        return Answer("never", "b")

    engine = ScriptedEngine(lambda p: "5" if p.endswith("[nothink]") else EngineTimeout("too slow"))
    with pytest.raises(EngineTimeout) as caught:
        await drive(two(), engine)
    assert [s.request.stage for s in caught.value.steps] == ["a"]


async def test_a_flow_may_catch_a_failure() -> None:
    def careful() -> Flow:
        try:
            yield from ask(Request(Q, "think", 4, stage="a"))
        except EngineTimeout:
            quick = yield from ask(Request(Q, "nothink", 4, stage="b"))
            return Answer(quick.answer, "b", quick)
        return Answer(None, "a")

    engine = ScriptedEngine(lambda p: "5" if p.endswith("[nothink]") else EngineTimeout("too slow"))
    assert (await drive(careful(), engine)).answer.text == "5"


async def test_same_needs_a_kind_and_a_judge() -> None:
    def compare(question: Question) -> Flow:
        yes = yield from same("5", "5.0", question)
        return Answer(str(yes), "same")

    async def numeric(a: str, b: str, kind: str) -> bool:
        return float(a) == float(b)

    assert (await drive(compare(Q), THOUGHT, judge=numeric)).answer.text == "True"
    with pytest.raises(Unsupported, match="answer kind"):
        await drive(compare(Question("q", Q.messages)), THOUGHT, judge=numeric)
    with pytest.raises(Unsupported, match="grader"):
        await drive(compare(Q), THOUGHT)


async def test_think_only_model_refuses_nothink_by_name() -> None:
    def quick() -> Flow:
        answer = yield from ask(Request(Q, "nothink", 4, stage="a"))
        return Answer(answer.answer, "a")

    with pytest.raises(Unsupported, match="always thinks"):
        await drive(quick(), ScriptedEngine(lambda p: "x", switch="none"))


async def collected(flow: Flow, engine: ScriptedEngine) -> tuple[list[Piece], Run]:
    pieces = [piece async for piece in stream(flow, engine)]
    run = pieces.pop()
    assert isinstance(run, Run)
    return [p for p in pieces if isinstance(p, Piece)], run


async def test_streaming_parts_the_channels_as_they_come() -> None:
    pieces, run = await collected(one(64, shown="answer"), THOUGHT)
    assert "".join(p.text for p in pieces if p.channel == "thought") == "2+3=5"
    assert "".join(p.text for p in pieces if p.channel == "answer") == "5"
    assert run == await drive(one(64, shown="answer"), THOUGHT) or run.answer.text == "5"


async def test_hidden_pass_that_turns_out_final_is_shown_once() -> None:
    pieces, _ = await collected(one(64), THOUGHT)
    assert [(p.text, p.channel) for p in pieces] == [("5", "answer")]


async def test_thought_only_passes_hold_their_answer_back_until_it_is_final() -> None:
    pieces, _ = await collected(one(64, shown="thought"), THOUGHT)
    assert "".join(p.text for p in pieces if p.channel == "answer") == "5"
    assert pieces[-1].text == "5"


async def test_closing_the_stream_stops_the_work() -> None:
    engine = ScriptedEngine(lambda p: "x" * 1000, delay_s=3600)
    pieces = stream(one(10, shown="answer"), engine)
    first = asyncio.ensure_future(anext(pieces))
    await comes(lambda: engine.calls)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    await asyncio.wait_for(pieces.aclose(), PATIENCE_S)
    assert engine.generated == 0


async def test_a_policy_that_returns_no_answer_is_told_so() -> None:
    def forgetful() -> Flow:
        yield from ask(Request(Q, "think", 8, stage="think"))
        return None  # type: ignore[return-value]

    with pytest.raises(Unsupported, match="must return an Answer; this one returned None"):
        await drive(forgetful(), THOUGHT)
