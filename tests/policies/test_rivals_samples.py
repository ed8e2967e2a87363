"""Rivals that draw samples, wait, skip or estimate, against a plain reading of what their papers say.

A sample is written down by its seed. How peaked the distribution of a token was is the digit itself.
"""

import asyncio
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import at_effort, drive
from thinkcap.core.types import Question, Run
from thinkcap.engines.scripted import ScriptedEngine, encode
from thinkcap.policies.registry import policy

Q = Question("q", ({"role": "user", "content": "2+3?"},), kind="number")
LOOP = asyncio.Runner()
CAP = 100_000


async def judge(a: str, b: str, kind: str) -> bool:
    return a.strip() == b.strip()


def engine(replies: list[str]) -> ScriptedEngine:
    """Replies by seed; every token that is no digit was as peaked as can be."""

    def reply(prompt: str) -> str:
        _, drawn, seed = prompt.rpartition("[seed ")
        return replies[int(seed.rstrip("]")) % len(replies)] if drawn else replies[0]

    def odds(before: str, token: str) -> tuple[float, tuple[float, ...]]:
        return 0.0, (-float(token) if token.isdigit() else -9.0,)

    return ScriptedEngine(reply, sampled=True, odds=odds)


def run(word: str, model: ScriptedEngine, cap: int = CAP) -> Run:
    return LOOP.run(drive(policy(word)(Q, cap), model, judge=judge, cap=cap))


def peaks(reply: str) -> list[float]:
    tokens = [*reply.replace("<think>", "#").replace("</think>", "#"), "end"]
    return [float(t) if t.isdigit() else 9.0 for t in tokens]


def groups(reply: str, window: int) -> list[float]:
    """Means of every full window; of all tokens where there is none longer than one."""
    values = peaks(reply)
    if len(values) <= window:
        return [float(np.mean(values))]
    return [float(np.mean(values[i : i + window])) for i in range(len(values) - window + 1)]


def winner(votes: list[tuple[str, float]]) -> str:
    total: Counter[str] = Counter()
    for answer, weight in votes:
        total[answer] += weight  # type: ignore[assignment]
    return max(total, key=lambda a: round(total[a], 9))


replies = st.lists(
    st.builds(
        lambda thought, answer: f"<think>{thought}</think>#### {answer}",
        st.text("0123456789", min_size=1, max_size=30),
        st.sampled_from("57"),
    ),
    min_size=4,
    max_size=4,
)


@settings(max_examples=30, deadline=None)
@given(replies, st.sampled_from(["tail", "bottom", "lowest", "mean"]), st.sampled_from([0.25, 0.5, 1.0]))
def test_trust_decides_as_deepconf_offline(found: list[str], by: str, keep: float) -> None:
    window = 5
    score = {
        "mean": lambda r: np.mean(peaks(r)),
        "tail": lambda r: np.mean(peaks(r)[-window:]),
        "lowest": lambda r: min(groups(r, window)),
        "bottom": lambda r: np.mean(sorted(groups(r, window))[: max(1, len(groups(r, window)) // 10)]),
    }[by]
    scores = [float(score(r)) for r in found]
    bar = float(np.percentile(scores, 100 * (1 - keep)))
    votes = [(r[-1], s) for r, s in zip(found, scores, strict=True) if s >= bar - 1e-9]
    weights = {a: sum(w for x, w in votes if x == a) for a in "57"}
    done = run(f"trust(samples=4,keep={keep},by={by},window={window})", engine(found))
    if abs(weights["5"] - weights["7"]) > 1e-6:
        assert (done.answer.text or "")[-1] == winner(votes)
    assert done.charged == sum(len(peaks(r)) for r in found)


@settings(max_examples=30, deadline=None)
@given(replies, st.sampled_from([0.1, 0.5, 0.9]))
def test_trust_stop_decides_as_deepconf_online(found: list[str], keep: float) -> None:
    window, first, enough = 5, 2, 0.95
    warm = [min(groups(r, window)) for r in found[:first]]
    bar = float(np.percentile(warm, 100 * (1 - keep)))
    votes = [(r[-1], s) for r, s in zip(found, warm, strict=False) if s >= bar - 1e-9]
    charged, drawn, cut = sum(len(peaks(r)) for r in found[:first]), first, 0
    for reply in found[first:]:
        weights = {a: sum(w for x, w in votes if x == a) for a in "57"}
        if votes and max(weights.values()) >= enough * sum(weights.values()):
            break
        drawn += 1
        values = peaks(reply)
        ends = range(window, len(values) + 1)
        below = [end for end in ends if np.mean(values[end - window : end]) < bar - 1e-9]
        charged += below[0] if below else len(values)
        cut += bool(below)
        if not below:
            votes.append((reply[-1], min(groups(reply, window))))
    done = run(f"trust_stop(samples=4,first=2,keep={keep},window=5)", engine(found))
    assert (done.charged, done.answer.notes["samples"], done.answer.notes["cut"]) == (charged, drawn, cut)
    weights = {a: sum(w for x, w in votes if x == a) for a in "57"}
    if abs(weights["5"] - weights["7"]) > 1e-6:
        assert (done.answer.text or "")[-1] == winner(votes)


@settings(max_examples=30, deadline=None)
@given(replies, st.integers(1, 4))
def test_shortest_decides_as_short_m_at_k(found: list[str], first: int) -> None:
    """The votes of the shortest thoughts; of equally many the one with the shortest. Side by side the same."""
    order = sorted(range(4), key=lambda i: (len(encode(found[i].partition("</think>")[0])), i))[:first]
    counts = Counter(found[i][-1] for i in order)
    most = max(counts.values())
    wanted = next(found[i][-1] for i in order if counts[found[i][-1]] == most)
    one_by_one = run(f"shortest(samples=4,first={first})", engine(found))
    together = run(f"shortest(samples=4,first={first},parallel=true)", engine(found))
    assert (one_by_one.answer.text or "")[-1] == (together.answer.text or "")[-1] == wanted


def test_a_longer_sample_is_cut_where_it_can_no_longer_count() -> None:
    found = ["<think>11</think>#### 5", "<think>" + "2" * 900 + "</think>#### 7"]
    done = run("shortest(samples=2,first=1,answer=20)", engine(found), cap=2000)
    assert (done.answer.text or "").strip() == "#### 5"
    # The bar is the first thought with its marks, and twenty tokens for an answer.
    assert [s.completion.tokens for s in done.steps] == [4 + 6 + 1, 4 + 20]
    # The authors count thoughts; here the winner's answer is charged too.
    assert done.charged - (6 + 1) == sum(s.completion.think_tokens for s in done.steps) == 4 + 24


def test_effort_reaches_samples_side_by_side() -> None:
    flow = at_effort(policy("shortest(parallel=true)"), "low")(Q, 500)
    assert {request.effort for request in next(flow).requests} == {"low"}  # type: ignore[union-attr]


def test_s1_worked_out() -> None:
    """The mark is taken back, the word follows, and only the last thought closes itself."""

    def reply(prompt: str) -> str:
        turn = prompt.rpartition("[assistant]")[2]
        return " 5</think>#### 5" if turn.endswith("Wait") else "<think>7</think>#### 7"

    model = ScriptedEngine(reply)
    done = run("wait", model, 200)
    assert done.answer.text == "#### 5"
    assert done.answer.notes["extended"] == 1
    first, second = done.steps
    assert (first.completion.text, first.completion.tokens) == ("<think>7", 3)
    assert (second.completion.forced, second.completion.text) == (4, " 5</think>#### 5")
    assert done.charged == 3 + 4 + len(" 5") + 1 + len("#### 5") + 1


@pytest.mark.parametrize("cap", [*range(10, 60, 3), 200])
def test_without_extensions_wait_is_close(cap: int) -> None:
    found = ["<think>" + "1" * 30 + "</think>#### 7"]
    plain, waited = run("close", engine(found), cap), run("wait(times=0)", engine(found), cap)
    assert (waited.answer.text, waited.charged) == (plain.answer.text, plain.charged)


@pytest.mark.parametrize("cap", range(24, 80))
def test_a_word_that_does_not_fit_is_not_said(cap: int) -> None:
    done = run("wait(times=6)", engine(["<think>" + "1" * 12 + "</think>#### 7"]), cap)
    assert done.charged <= cap
    thoughts = [s for s in done.steps if s.request.stage == "think"]
    assert all(s.completion.tokens for s in thoughts)
    assert done.answer.notes["extended"] == len(thoughts) - 1


def test_no_thinking_worked_out() -> None:
    """Opening, dummy thought and close are forced and charged; what follows is the answer."""

    def reply(prompt: str) -> str:
        return "#### 5" if prompt.endswith("finished thinking.\n</think>\n\n") else "<think>no"

    done = run("skip", ScriptedEngine(reply), 200)
    forced = len(encode("<think>\nOkay, I think I have finished thinking.\n</think>\n\n"))
    assert (done.answer.text, done.charged) == ("#### 5", forced + 7)
    voted = run("skip_vote(samples=3)", ScriptedEngine(reply), 600)
    assert (voted.answer.text, voted.charged) == ("#### 5", 3 * (forced + 7))


@pytest.mark.parametrize(("told", "number"), [("Budget: [[12]]", 12), ("a dozen", None), ("[[-1]]", None)])
def test_tale_worked_out(told: str, number: int | None) -> None:
    """The number goes into the question; what cannot be read says nothing. The authors leave out one call."""

    def reply(prompt: str) -> str:
        if "estimate the minimum number" in prompt:
            return told
        limited = f"use less than {number} tokens:" in prompt
        return "<think>x</think>#### 5" if limited == (number is not None) else "<think>x</think>#### 7"

    done = run("estimate", ScriptedEngine(reply), 400)
    assert done.answer.text == "#### 5"
    assert done.answer.notes["estimate"] == number
    assert done.charged - done.answer.notes["trial_tokens"] == 3 + 6 + 1
    assert done.answer.notes["trial_tokens"] == min(32, len(told) + 1)


@pytest.mark.parametrize("word", ["trust(by=x)", "trust(samples=0)", "trust_stop(first=0)", "shortest(first=9)"])
def test_what_makes_no_sense_is_refused(word: str) -> None:
    with pytest.raises(ConfigError):
        run(word, engine(["5"]))


def test_peaks_are_minus_the_mean_log_probability() -> None:
    from thinkcap.core.scores import Scores
    from thinkcap.policies.trust import score

    scores = Scores.of([(0.0, [math.log(0.5), math.log(0.25)])] * 3)
    assert score(scores, "mean", 9) == pytest.approx(1.5 * math.log(2))
