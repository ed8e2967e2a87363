"""Golds of the real benchmarks: accepted against themselves and rewrites, rejected against changed values."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rewrites import BY_KIND

from thinkcap import equal
from thinkcap.core.errors import DataError
from thinkcap.core.types import Question
from thinkcap.tasks import Task, check, load
from thinkcap.tasks.bbh import PARTS
from thinkcap.tasks.task import changed_gold

BENCHMARKS = ["gsm8k", "math500", *(f"bbh:{part}" for part in PARTS)]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_gold_survives_every_rewrite(shared: Path, name: str) -> None:
    task = load(name, data=shared / "data")
    lost = []
    for question in task.questions:
        gold, kind = task.golds[question.id], question.kind
        assert kind is not None
        assert len(BY_KIND[kind]) >= 10
        for how, rewrite in BY_KIND[kind].items():
            if not equal(gold, rewrite(gold), kind):
                lost.append((how, gold, rewrite(gold)))
    assert lost == []


@pytest.mark.parametrize("name", BENCHMARKS)
def test_graders_accept_their_golds_and_reject_changed_ones(shared: Path, name: str) -> None:
    check(load(name, data=shared / "data"))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_two_rewrites_at_once(shared: Path, data: st.DataObject) -> None:
    task = load("math500", data=shared / "data")
    question = data.draw(st.sampled_from(task.questions))
    gold = task.golds[question.id]
    inner = data.draw(
        st.sampled_from(["large fractions", "without \\left", "more space", "unicode minus", "thousands"])
    )
    outer = data.draw(
        st.sampled_from(["dollars", "boxed in a sentence", "displayed", "after a thought", "answer tag"])
    )
    rewrites = BY_KIND["math"]
    written = rewrites[outer](rewrites[inner](gold))
    assert equal(gold, written, "math"), (inner, outer, written)
    assert not equal(changed_gold(gold, "math"), written, "math")


def test_check_refuses_a_gold_of_the_wrong_kind() -> None:
    question = Question("1", ({"role": "user", "content": "?"},), kind="label")
    with pytest.raises(DataError, match="right kind"):
        # `15` has no label in it, so that as a label every other text of one letter would pass or none at all.
        check(Task("odd", (question,), {"1": "7 A 8 A"}, "0"))
