"""Golds are accepted against themselves and rewrites, rejected against changed values: ours and benchmarks'."""

from __future__ import annotations

from pathlib import Path

import pytest
from golds import GOLDS, MATH
from hypothesis import given, settings
from hypothesis import strategies as st
from rewrites import BY_KIND

from thinkcap import equal
from thinkcap.core.errors import DataError
from thinkcap.core.types import Kind, Question
from thinkcap.tasks import Task, check, load
from thinkcap.tasks.bbh import PARTS
from thinkcap.tasks.task import changed_gold

BENCHMARKS = ["gsm8k", "math500", *(f"bbh:{part}" for part in PARTS)]
INNER = ["large fractions", "without \\left", "more space", "unicode minus", "thousands"]
OUTER = ["dollars", "boxed in a sentence", "displayed", "after a thought", "answer tag"]


def _task(kind: Kind, *golds: str) -> Task:
    ids = {f"q{i}": gold for i, gold in enumerate(golds)}
    asked = tuple(Question(id_, ({"role": "user", "content": "?"},), kind=kind) for id_ in ids)
    return Task("ours", asked, ids, "0")


def _lost(kind: Kind, gold: str) -> list[tuple[str, str, str]]:
    return [(how, gold, new(gold)) for how, new in BY_KIND[kind].items() if not equal(gold, new(gold), kind)]


@pytest.mark.parametrize(("kind", "gold"), GOLDS)
def test_our_golds_survive_every_rewrite(kind: Kind, gold: str) -> None:
    assert len(BY_KIND[kind]) >= 10
    assert _lost(kind, gold) == []


@pytest.mark.parametrize(("kind", "gold"), GOLDS)
def test_our_golds_are_accepted_and_changed_ones_rejected(kind: Kind, gold: str) -> None:
    check(_task(kind, gold))
    for how, rewrite in BY_KIND[kind].items():
        changed = changed_gold(gold, kind)
        assert not equal(changed, rewrite(gold), kind), (how, changed)


@settings(max_examples=150, deadline=None)
@given(gold=st.sampled_from(MATH), inner=st.sampled_from(INNER), outer=st.sampled_from(OUTER))
def test_two_rewrites_of_our_golds_at_once(gold: str, inner: str, outer: str) -> None:
    written = BY_KIND["math"][outer](BY_KIND["math"][inner](gold))
    assert equal(gold, written, "math"), written


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_gold_survives_every_rewrite(shared: Path, name: str) -> None:
    task = load(name, data=shared / "data")
    golds = {(q.kind or "math", task.golds[q.id]) for q in task.questions}
    assert [lost for kind, gold in sorted(golds) for lost in _lost(kind, gold)] == []


@pytest.mark.parametrize("name", BENCHMARKS)
def test_graders_accept_their_golds_and_reject_changed_ones(shared: Path, name: str) -> None:
    check(load(name, data=shared / "data"))


@pytest.fixture(scope="module")
def math500(shared: Path) -> Task:
    return load("math500", data=shared / "data")


@settings(max_examples=150)
@given(data=st.data())
def test_two_rewrites_at_once(math500: Task, data: st.DataObject) -> None:
    question = data.draw(st.sampled_from(math500.questions))
    gold = math500.golds[question.id]
    inner, outer = data.draw(st.sampled_from(INNER)), data.draw(st.sampled_from(OUTER))
    written = BY_KIND["math"][outer](BY_KIND["math"][inner](gold))
    assert equal(gold, written, "math"), (inner, outer, written)
    assert not equal(changed_gold(gold, "math"), written, "math")


def test_check_refuses_a_gold_of_the_wrong_kind() -> None:
    with pytest.raises(DataError, match="right kind"):
        # `15` has no label in it, so that as a label every other text of one letter would pass or none at all.
        check(_task("label", "7 A 8 A"))
