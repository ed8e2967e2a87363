"""What stands around a policy: stop words, answer passes that bind, an answer in any case."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkcap.core.errors import EngineError, EngineTimeout, Unsupported
from thinkcap.core.flow import Flow, Piece, ask, drive
from thinkcap.core.types import Answer, Question, Request, Run
from thinkcap.engines.scripted import QUIET, ScriptedEngine
from thinkcap.gateway.answering.flows import Stops, check_answer_pass, insured, metered, structured
from thinkcap.policies.registry import parse, policy

QUESTION = Question("q", ({"role": "user", "content": "2?"},))
WORDS = st.lists(st.text("ab#", min_size=1, max_size=3), min_size=1, max_size=3)


@given(text=st.text("ab#\n", max_size=40), words=WORDS, cuts=st.lists(st.integers(0, 40), max_size=8))
def test_stop_words_cut_the_same_however_the_text_arrives(text: str, words: list[str], cuts: list[int]) -> None:
    stops = Stops(tuple(words))
    edges = [0, *sorted(min(c, len(text)) for c in cuts), len(text)]
    shown = "".join(stops.take(text[a:b]) for a, b in pairwise(edges)) + stops.rest()
    first = min((at for w in words if (at := text.find(w)) >= 0), default=len(text))
    assert shown == text[:first]
    assert stops.hit == (first < len(text))


def answering(prompt: str) -> str:
    """Thinks, then answers freely by itself; told to answer, gives JSON."""
    if prompt.endswith(QUIET) or "</think>" in prompt.rpartition("[assistant]")[2]:
        return '{"n": 42}'
    return "<think>six by seven</think>It is forty-two."


async def run(name: str, cap: int = 300, shown: list[Piece] | None = None) -> Run:
    engine = ScriptedEngine(answering)
    flow = structured(policy(name)(QUESTION, cap), engine.card.close_id, engine.card.close_tag)
    return await drive(flow, engine, cap=cap, show=shown.append if shown is not None else None)


@pytest.mark.parametrize("name", ["close", "iris(first=1)", "two_pass", "generous"])
async def test_a_thought_that_answered_by_itself_still_gets_its_answer_pass(name: str) -> None:
    shown: list[Piece] = []
    done = await run(name, shown=shown)
    assert done.answer.text == '{"n": 42}'
    assert done.steps[-1].request.final
    assert "forty" not in "".join(p.text for p in shown)
    assert "".join(p.text for p in shown if p.channel == "answer") == '{"n": 42}'
    # The thinking pass stops where the thought does: no answer is written that nobody wants.
    assert len("six by seven") + len('{"n": 42}') <= done.charged
    assert all("forty" not in step.completion.text for step in done.steps)


async def test_policies_without_an_answer_pass_are_refused_by_name() -> None:
    for name in ("think", "town", "think[heuristic]"):
        with pytest.raises(Unsupported, match=name.replace("[", r"\[")):
            check_answer_pass(parse(name))
    check_answer_pass(parse("think(pipeline=projection)"))
    check_answer_pass(parse("close"))


async def test_engine_errors_reach_the_policy_inside() -> None:
    def careful(question: Question, cap: int) -> Flow:
        try:
            done = yield from ask(Request(question, "think", 20, "think"))
        except EngineError:
            done = yield from ask(Request(question, "nothink", cap, "answer", final=True))
        return Answer(done.answer, "answer", done)

    def script(prompt: str) -> str | EngineError:
        return "fine" if prompt.endswith(QUIET) else EngineTimeout("late")

    engine = ScriptedEngine(script)
    flow = insured(structured(careful(QUESTION, 50), 2, "</think>"), QUESTION, 50)
    assert (await drive(flow, engine, cap=50)).answer.text == "fine"


async def test_silence_is_followed_by_an_answer_with_what_is_left() -> None:
    def mute(question: Question, cap: int) -> Flow:
        done = yield from ask(Request(question, "think", 10, "think", shown="answer"))
        return Answer(None, "think", done)

    engine = ScriptedEngine(answering)
    done = await drive(insured(mute(QUESTION, 15), QUESTION, 15), engine, cap=15)
    assert (done.answer.stage, done.answer.text) == ("fallback", '{"n":')
    assert done.charged == 15
    nothing_left = await drive(insured(mute(QUESTION, 10), QUESTION, 10), engine, cap=10)
    assert nothing_left.answer.text is None


async def test_a_guess_is_an_answer_only_where_its_kind_is_known() -> None:
    def guessing(question: Question, cap: int) -> Flow:
        done = yield from ask(Request(question, "think", cap, "think", shown="answer"))
        return Answer(done.text, "think", done, guess=True)

    engine = ScriptedEngine(lambda prompt: "<think>so it is 41 no #### 42 and then" + " hm" * 100)
    unknown = await drive(insured(guessing(QUESTION, 40), QUESTION, 40), engine, cap=40)
    assert unknown.answer.text is None
    number = Question("q", QUESTION.messages, kind="number")
    shown: list[Piece] = []
    known = await drive(insured(guessing(number, 40), number, 40), engine, cap=40, show=shown.append)
    assert known.answer.text == "42"
    assert [p.text for p in shown if p.channel == "answer"] == ["42"]


async def test_passes_that_race_are_calls_like_any_others() -> None:
    engine = ScriptedEngine(answering)

    def flow() -> Flow:
        return policy("shortest(samples=6,parallel=true)")(QUESTION, 600)

    with pytest.raises(Unsupported, match="more than 5 calls"):
        await drive(metered(flow(), 5), engine, cap=600)
    wrapped = structured(flow(), engine.card.close_id, engine.card.close_tag)
    done = await drive(metered(wrapped, 12), engine, cap=600)
    assert all("forty" not in step.completion.text for step in done.steps)
