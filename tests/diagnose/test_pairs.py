"""Which arms are compared, with which p, and that no order of files, arms or rows changes anything."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import count
from typing import Any

import numpy as np
import pytest
from arms import made
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from thinkcap.core.errors import DataError
from thinkcap.diagnose.diagnosis import diagnose
from thinkcap.diagnose.pairs import MANY, compare, matched
from thinkcap.diagnose.runs import configurations
from thinkcap.logs.arms import Arm, Records, Stages
from thinkcap.verdict.page import as_json

N = 40
RNG = np.random.default_rng(3)
CASCADE = Stages(first=16, think=96, answer=32, rounds=1)


def arm(policy: str, budget: int, share: float = 0.5, **more: Any) -> Arm:
    return made(policy, budget, RNG.random(N) < share, RNG.integers(1, budget + 1, N), RNG.random(N) < 0.5, **more)


def names(*arms: Arm) -> set[tuple[str, str, str]]:
    return {(c.first, c.second, c.matched_by) for c in compare(configurations(arms)).made}


def test_cascades_are_paired_by_the_stages_they_share() -> None:
    town = arm("town(first=16,second=96)", 112, stages=Stages(16, 96, 0, 1))
    iris = arm("iris(first=16,think=96,answer=32)", 144, stages=CASCADE)
    mrsd = arm("mrsd(first=16,think=96,answer=32,rounds=3)", 400, stages=replace(CASCADE, rounds=3))
    other = arm("iris(first=32,think=96,answer=32)", 160, stages=Stages(32, 96, 32, 1))
    assert names(town, iris, mrsd, other) == {
        (iris.name, town.name, "stages"),
        (mrsd.name, iris.name, "stages"),
        (mrsd.name, town.name, "stages"),
    }


def test_a_split_meets_the_thinking_it_cuts_and_its_own_cap() -> None:
    split = arm("split", 128, stages=Stages(think=96, answer=32))
    short, whole, direct = arm("think", 96), arm("think", 128), arm("nothink", 128)
    assert names(split, short, whole, direct) == {
        ("split@128", "think@96", "stages"),
        ("split@128", "think@128", "cap"),
        ("split@128", "nothink@128", "cap"),
        ("think@128", "nothink@128", "cap"),
    }


def test_two_readings_of_one_chain_are_not_compared() -> None:
    strict, loose, direct = arm("think", 64), arm("think[heuristic]", 64), arm("nothink", 64)
    assert names(strict, loose, direct) == {
        ("think@64", "nothink@64", "cap"),
        ("think[heuristic]@64", "nothink@64", "cap"),
    }


def test_many_ways_at_one_cap_meet_the_plain_modes_only() -> None:
    ways = [arm(f"own{i}", 64) for i in range(MANY)]
    found = names(*ways, arm("think", 64), arm("nothink", 64))
    assert len(found) == 2 * MANY + 1
    assert all({"think@64", "nothink@64"} & {first, second} for first, second, _ in found)


def test_counts_p_and_holm_by_brute_force() -> None:
    arms = [arm(p, b, s) for b in (32, 64, 128) for p, s in (("nothink", 0.9), ("think", 0.4), ("close", 0.7))]
    found = compare(configurations(arms)).made
    by = {a.name: dict(zip(a.question.tolist(), a.right.tolist(), strict=True)) for a in arms}
    raw = []
    for c in found:
        one, two = by[c.first], by[c.second]
        only_first = sum(one[q] and not two[q] for q in one)
        only_second = sum(two[q] and not one[q] for q in one)
        assert (c.n, c.result.test.only_first, c.result.test.only_second) == (N, only_first, only_second)
        assert c.difference == pytest.approx((only_first - only_second) / N)
        trials = only_first + only_second
        raw.append(binomtest(only_first, trials).pvalue if trials else 1.0)
        assert c.result.test.p == pytest.approx(raw[-1])
    # Holm, written out: the k-th smallest p times how many are left, never below the one before.
    order = sorted(range(len(raw)), key=lambda i: raw[i])
    least, wanted = 0.0, {}
    for rank, i in enumerate(order):
        least = max(least, min(1.0, raw[i] * (len(raw) - rank)))
        wanted[i] = least
    assert [c.p_holm for c in found] == pytest.approx([wanted[i] for i in range(len(raw))])
    assert any(c.p_holm > c.result.test.p for c in found)


def test_the_run_with_the_most_questions_leads_whatever_the_order() -> None:
    long = made("think", 64, RNG.random(50) < 0.5, file="long")
    short = made("think", 64, RNG.random(30) < 0.5, file="a-short")
    for order in ([long, short], [short, long]):
        (found,) = configurations(order)
        assert (found.arm.file, [o.file for o in found.others]) == ("long", ["a-short"])


def test_seeds_are_pooled_and_paired_with_seeds() -> None:
    rights = {(p, s): RNG.random(N) < 0.5 for p in ("think", "nothink") for s in (1, 2)}
    arms = [made(p, 64, right, file=f"seed{s}", seed=s) for (p, s), right in rights.items()]
    (one, two) = configurations(arms)
    assert (one.arm.n, two.arm.n, one.others) == (2 * N, 2 * N, ())
    (c,) = compare(configurations(arms)).made
    wins = sum(int((rights["think", s] & ~rights["nothink", s]).sum()) for s in (1, 2))
    assert (c.n, c.result.test.only_first) == (2 * N, wins)


def test_one_seed_meets_that_seed_of_several() -> None:
    rights = {s: RNG.random(N) < 0.5 for s in (1, 2)}
    several = [made("vote", 64, right, seed=s) for s, right in rights.items()]
    alone = made("think", 64, RNG.random(N) < 0.5, seed=2)
    pool = next(c.arm for c in configurations([*several, alone]) if c.arm.policy == "vote")
    a, b, _ = matched(pool, alone)
    assert a.n == b.n == N
    assert sorted(a.right.tolist()) == sorted(rights[2].tolist())


def test_other_questions_under_the_same_ids_are_refused_by_name() -> None:
    one = arm("think", 64)
    two = replace(arm("nothink", 64), content=one.content + np.uint64(5), file="other")
    with pytest.raises(DataError, match="different questions"):
        matched(one, two)
    found = compare(configurations([one, two]))
    assert (found.made, len(found.refused)) == ((), 1)


def study() -> list[Arm]:
    """Two models, cascades with their stages, a repeated run, two seeds: all that could depend on an order."""
    rng = np.random.default_rng(8)
    arms = []
    for model in ("m", "k"):
        length = np.ceil(rng.exponential(120, N)).astype(int)
        for b in (32, 64, 96, 128, 256):
            done = length <= b
            right = done & (rng.random(N) < 0.9)
            arms.append(made("think", b, right, np.minimum(length, b), done, model=model))
            arms.append(made("nothink", b, rng.random(N) < 0.5, np.full(N, 9), np.ones(N, bool), model=model))
        for cut in (32, 96):
            done = length <= cut
            stage = np.where(done, "think", "answer").astype(object)
            right = rng.random(N) < 0.7
            spent = np.minimum(length, cut) + 5
            more: dict[str, Any] = {"stages": Stages(think=cut, answer=32), "extra": {"stage": stage}}
            arms.append(made(f"split(think={cut},answer=32)", cut + 32, right, spent, done, model=model, **more))
    arms.append(replace(arms[0], file="again", verdict=1 - arms[0].verdict))
    votes = {"agree": np.arange(N) % 5 + 1}
    arms += [made("vote", 160, rng.random(N) < 0.6, np.full(N, 80), seed=s, extra=votes) for s in (1, 2)]
    return arms


@cache
def in_order() -> Any:
    return json.loads(as_json(diagnose(Records(tuple(study())), draws=50)))


@settings(max_examples=8, deadline=None)
@given(st.randoms(use_true_random=False))
def test_no_order_changes_anything(random: Any) -> None:
    arms = study()
    mixed = []
    for one in random.sample(arms, len(arms)):
        rows = list(range(one.n))
        random.shuffle(rows)
        mixed.append(one.take(np.array(rows)))
    # Questions are numbered by who is read first, so their numbers change with the order of files too.
    numbers = np.array(random.sample(range(N), N))
    mixed = [replace(a, question=numbers[a.question]) for a in mixed]
    assert json.loads(as_json(diagnose(Records(tuple(mixed)), draws=50))) == in_order()


FILES = count()


def asked(ids: list[int], right: list[int], golds: list[str] | None = None, **about: Any) -> Arm:
    """An arm of a file of its own, so that only what it stores can prove its questions."""
    content = None if golds is None else np.array([hash(g) & 0xFFFF for g in golds], dtype=np.uint64)
    found = made("think", 64, np.array(right, dtype=bool), file=f"log {next(FILES)}", **about)
    return replace(found, question=np.array(ids), content=content)


def test_rows_are_matched_by_id_whatever_their_order() -> None:
    one = asked([1, 2, 3], [1, 0, 1], ["a", "b", "c"])
    two = asked([9, 3, 2], [1, 0, 1], ["x", "c", "b"])
    first, second, how = matched(one, two)
    assert first.question.tolist() == second.question.tolist() == [2, 3]
    assert (first.right.tolist(), second.right.tolist()) == ([False, True], [True, False])
    assert how == "id and content"


def test_same_ids_other_questions_are_refused() -> None:
    ids = list(range(200))
    one = asked(ids, [1] * 200, [f"gold {i}" for i in range(200)])
    two = asked(list(ids), [1] * 200, [f"gold {i}" if i < 2 else f"other {i}" for i in range(200)])
    with pytest.raises(DataError, match="same id on 200 questions but the same gold or text on 2"):
        matched(one, two)


def test_without_content_the_declared_order_must_agree() -> None:
    one = asked([1], [1], order="gsm8k by seed 42")
    with pytest.raises(DataError, match="declared orders differ"):
        matched(one, asked([1], [1], order="file order"))
    with pytest.raises(DataError, match="no gold or text"):
        matched(asked([1], [1]), asked([1], [1]))
    assert "seed 42" in matched(one, asked([1, 2], [0, 1], order="gsm8k by seed 42"))[2]


def test_reconstructed_records_and_repeats_are_refused() -> None:
    with pytest.raises(DataError, match="reconstructed, not actual"):
        matched(asked([1], [1], ["g"], status="reconstructed"), asked([1], [1], ["g"]))
    with pytest.raises(DataError, match="twice"):
        matched(asked([1, 1], [1, 0], ["g", "g"]), asked([1], [1], ["g"]))
    with pytest.raises(DataError, match="no question id"):
        matched(asked([1], [1], ["g"]), asked([2], [1], ["g"]))
