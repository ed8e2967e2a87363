"""No verdict contradicts its own table, whatever the records: random arms, then every sentence is checked."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from arms import made
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkcap.diagnose.diagnosis import Diagnosis, diagnose
from thinkcap.diagnose.findings import Findings
from thinkcap.logs.arms import Arm, Records, Stages
from thinkcap.verdict.page import as_json, as_text
from thinkcap.verdict.say import Spoken, say

CAPS = (32, 64, 96, 128)
CONTROLS = ("no_trace", "placebo", "two_pass", "think_on_trace")


@st.composite
def records(draw: st.DrawFn) -> Records:
    """Up to ten arms over the same questions, with any accuracies, ends and stages."""
    n = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    arms: list[Arm] = []
    known = ("nothink", "think", "think[heuristic]", "close", "split", "iris", "town", "mrsd", *CONTROLS)
    chosen = st.tuples(st.sampled_from(known), st.sampled_from(CAPS), st.sampled_from((0.0, 0.2, 0.5, 0.9, 1.0)))
    for policy, cap, share in draw(st.lists(chosen, min_size=1, max_size=10, unique_by=lambda c: c[:2])):
        ended = rng.random(n) < draw(st.sampled_from((0.0, 0.5, 1.0)))
        more: dict[str, Any] = {}
        if policy in ("split", "iris", "two_pass", "town", "mrsd"):
            first = 16 if policy in ("iris", "town", "mrsd") else None
            rest = cap - (first or 0)
            stage = np.where(ended, "think", "answer").astype(object)
            if first:
                stage[rng.random(n) < 0.5] = "probe"
            passes = Stages(first, rest, 0, 1) if policy == "town" else Stages(first, rest - 8, 8, 1)
            more = {"stages": passes, "extra": {"stage": stage}}
        arms.append(made(policy, cap, rng.random(n) < share, rng.integers(1, cap + 1, n), ended, **more))
    return Records(tuple(arms))


def advised(found: Findings, said: Spoken) -> None:
    """The best lower bound among all that fits the cap, smaller caps included, and never a control."""
    ways = [a for a in found.arms if a.policy not in CONTROLS]
    for advice in said.advice:
        fits = [a for a in ways if a.budget is not None and a.budget <= advice.cap]
        assert advice.policy in {a.name for a in fits}
        assert advice.lower_bound == max(a.accuracy.low or 0 for a in fits)
        chosen = next(a for a in fits if a.name == advice.policy)
        assert (advice.accuracy, advice.tokens) == (chosen.accuracy.value, chosen.mean_tokens)


def consistent(found: Diagnosis, said: Spoken) -> None:
    known = {(c.first, c.second): c for c in found.comparisons.made}
    adjusted = {c.p_holm for c in found.comparisons.made}
    for sentence in said.sentences:
        numbers, text = sentence.numbers, sentence.text
        if "p_holm" in numbers:
            assert numbers["p_holm"] in adjusted
            clear = numbers["p_holm"] < 0.05
            assert clear != ("no clear difference" in text or "cannot be told apart" in text)
        if "first" in numbers and "matched_by" in numbers:
            c = known[numbers["first"], numbers["second"]]
            assert numbers["difference"] == c.difference
            assert ("points higher than" in text) == (c.clear and c.difference > 0)
        if "where_cut" in numbers:
            assert numbers["where_cut"] + numbers["where_ended"] == pytest.approx(numbers["difference"])
            verb = "loses" if numbers["difference"] < 0 else "gains"
            assert f"thinking {verb} {100 * abs(numbers['difference']):.1f} points" in text
        if "no clear difference" in text and "low" in numbers:
            # What one comparison alone would show, and all of them together do not.
            assert ("before correction" in text) == (numbers["low"] > 0 or numbers["high"] < 0)
        if "selection" in numbers:
            parts = numbers["extraction"] + numbers["finishing"] + numbers["selection"]
            assert parts == pytest.approx(numbers["difference"])
        if "residual" in numbers:
            assert numbers["recoverable"] + numbers["residual"] == pytest.approx(numbers["tax"])
        assert "-0.0" not in text
        assert "nan" not in text
        assert "None " not in text.replace("None of the", "")


def begins_true(found: Findings, said: Spoken) -> None:
    """What the headline calls a loss or a gain is one in the table, and its advice is the advice."""
    first = next((s for s in said.sentences if not s.topic and "loses_at" in s.numbers), None)
    if first is not None:
        for row in found.budgets:
            clear, gap = row.comparison.p_holm < 0.05, row.comparison.difference
            assert (row.budget in first.numbers["loses_at"]) == (clear and gap > 0)
            assert (row.budget in first.numbers["pays_at"]) == (clear and gap < 0)
    by_cap = {a.cap: a for a in said.advice}
    for sentence in (s for s in said.sentences if not s.topic and s.text.startswith("Best at")):
        assert (
            f"Best at {sentence.numbers['cap']} tokens: {by_cap[sentence.numbers['cap']].policy}," in sentence.text
        )


@settings(max_examples=60, deadline=None)
@given(records())
def test_no_verdict_contradicts_its_table(given_records: Records) -> None:
    found = diagnose(given_records, draws=0)
    said = say(found)
    (only,) = found.findings
    advised(only, said)
    consistent(found, said)
    begins_true(only, said)
    page = json.loads(as_json(found))
    assert page["headline"] == said.headline
    assert len(as_text(found).splitlines()) <= len(as_text(found, details=True).splitlines()) + 2


def test_advice_counts_smaller_caps_and_leaves_out_controls() -> None:
    """72 tokens by a cascade at 144 beat an answer at 416, though nobody ran the cascade there."""
    n = 60
    marks = {k: np.arange(n) < k for k in (40, 46, 51, 60)}
    arms = [
        made("nothink", 144, marks[46], np.full(n, 26), np.ones(n, bool)),
        made("nothink", 416, marks[46], np.full(n, 26), np.ones(n, bool)),
        made("iris", 144, marks[51], np.full(n, 72), np.ones(n, bool)),
        made("placebo", 128, marks[60], np.full(n, 100), np.ones(n, bool)),
    ]
    said = say(diagnose(Records(tuple(arms)), draws=0))
    assert [(a.cap, a.policy) for a in said.advice] == [(144, "iris@144"), (416, "iris@144")]


def test_advice_leaves_out_and_names_who_overspends_or_answered_other_questions() -> None:
    n = 200
    own = [
        made("nothink", 512, np.arange(n) < 95, np.full(n, 100), np.ones(n, bool)),
        made("close", 512, np.arange(n) < 80, np.full(n, 100), np.ones(n, bool)),
    ]
    over = made("town", 512, np.arange(n) < 150, np.full(n, 690), np.ones(n, bool))
    other = made("iris", 512, np.arange(500) < 400, np.full(500, 100), np.ones(500, bool), file="other")
    other = replace(other, question=np.arange(n, n + 500), content=np.arange(1000, 1500).astype(np.uint64))
    alone = say(diagnose(Records(tuple(own)), draws=0))
    for arms in ([*own, over, other], [other, over, *own]):
        found = diagnose(Records(tuple(arms)), draws=0)
        said = say(found)
        assert said.advice == alone.advice
        assert [a.policy for a in said.advice] == ["nothink@512"]
        assert [(a.policy, a.why) for a in said.not_advised] == [
            ("iris@512", "other questions"),
            ("town@512", "over budget"),
        ]
        text = " ".join(as_text(found).split())
        assert "Not considered: town@512 exceeded its budget on 200 of 200 answers (at most 690 tokens)." in text
        assert "Not considered: iris@512 was measured on other questions (0 of these 200)." in text


def test_eight_null_budgets_are_no_finding() -> None:
    """Two equal modes at eight caps: after Holm hardly any study may call one better (27 % did before)."""
    loud = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        arms = [made(p, b, rng.random(80) < 0.5) for b in range(64, 576, 64) for p in ("think", "nothink")]
        loud += "no clear difference at any cap" not in say(diagnose(Records(tuple(arms)), draws=0)).headline
    assert loud <= 6


def test_a_cap_that_is_not_known_and_ways_of_not_thinking_are_named() -> None:
    right, tokens, ended = np.arange(20) % 2 == 0, np.arange(20) + 5, np.ones(20, bool)
    ways = [made(f"nothink(variant={way})", 64, right, tokens, ended) for way in ("cot", "direct")]
    said = as_text(diagnose(Records((made("think", 64, right, tokens, ended), *ways)), draws=0))
    assert "run as nothink(variant=cot) and nothink(variant=direct)" in " ".join(said.split())
    assert "not run at the same cap" not in said
    alone = replace(made("think", 64, right, tokens, ended), budget=None)
    assert "None" not in as_text(diagnose(Records((alone,)), draws=0), details=True)
