"""What a study says of the time it still takes, against the time it took, on simulated lanes."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import chain
from random import Random

import numpy as np
import pytest

from thinkcap.core.types import Question
from thinkcap.policies.registry import parse
from thinkcap.study.feed import Feed, order
from thinkcap.study.pace import Pace
from thinkcap.study.plan import Asking, StudyPlan
from thinkcap.tasks.task import Task

Cost = Callable[[str, int, int], int]
"""Policy, budget and question in, tokens out."""
Speed = Callable[[float, float], float]
"""The time and seconds of work in, seconds it takes out."""


def planned(policies: str, budgets: tuple[int, ...], questions: int) -> StudyPlan:
    asked = [Question(f"q{i}", ()) for i in range(questions)]
    task = Task("t", tuple(asked), {}, "")
    ways = [(parse(name), budget) for budget in sorted(budgets, reverse=True) for name in policies.split()]
    return StudyPlan(ways, [Asking(task, q, 0, q) for q in asked])


def lengths(seed: int, mean: float, spread: float) -> list[int]:
    rng = Random(seed)
    return [max(1, int(mean * rng.lognormvariate(-spread * spread / 2, spread))) for _ in range(3000)]


THOUGHT, ANSWER = lengths(1, 700, 0.9), lengths(2, 60, 0.6)
EVEN = [500] * 3000
MOSTLY_SHORT = [4000 if at % 10 == 3 else 120 for at in range(3000)]


def shared(largest: int, thought: list[int] = THOUGHT) -> Cost:
    """Chains are written once, at the largest budget; what follows a cut is written at every budget."""

    def tokens(policy: str, budget: int, question: int) -> int:
        chain = thought[question] if policy == "think" else ANSWER[question]
        if policy in ("think", "nothink"):
            return min(budget, chain) if budget == largest else 0
        return min(budget // 4, 24) if thought[question] > budget else 0

    return tokens


def online(policy: str, budget: int, question: int) -> int:
    return min(budget, (THOUGHT if policy == "think" else ANSWER)[question])


def even(now: float, work_s: float) -> float:
    return work_s


def warming(now: float, work_s: float) -> float:
    """Three times slower for the first ten seconds."""
    slow_s = max(0.0, 10.0 - now)
    return 3 * work_s if 3 * work_s <= slow_s else work_s + slow_s * 2 / 3


def simulated(plan: StudyPlan, tokens: Cost, lanes: int, speed: Speed, row_s: float) -> list[tuple[float, float]]:
    """(time, seconds left as they were told) after every row; the last time is the end."""
    now = 0.0
    n = len(plan.asked)
    alone = tokens is online
    pace = Pace(plan.ways, [n] * len(plan.ways), lanes, online=alone, clock=lambda: now)
    feed = Feed(plan, np.zeros(len(plan), dtype=np.bool_), lanes, online=alone)
    running: list[tuple[float, int, list[int], float, int]] = []
    told = []

    def begin(places: list[int] | None) -> None:
        if places:
            place, *rest = places
            way, question = divmod(place, n)
            written = tokens(plan.ways[way][0].label, plan.ways[way][1], question)
            pace.begins(way)
            heapq.heappush(running, (now + speed(now, written * 0.02 + row_s), place, rest, now, written))

    for _ in range(lanes):
        begin(feed.take())
    while running:
        now, place, rest, started, written = heapq.heappop(running)
        pace.ends(place // n, written, now - started)
        if not rest:
            feed.give_back([place])
        begin(rest or feed.take())
        told.append((now, pace.seconds_left() or 0.0))
    return told


CASES: dict[str, tuple[str, tuple[int, ...], int, Cost, Speed, float]] = {
    "chains first, then cuts of them": (
        "nothink think close",
        (256, 512, 1024, 2048),
        400,
        shared(2048),
        even,
        0.01,
    ),
    "one budget, one mode long and one short": (
        "nothink think",
        (2048,),
        600,
        shared(2048),
        even,
        0.01,
    ),
    "every budget online": ("nothink think", (128, 512, 2048), 300, online, even, 0.01),
    "three times slower for the first ten seconds": (
        "nothink think close",
        (256, 1024),
        900,
        shared(1024),
        warming,
        0.01,
    ),
    "chains of one length": ("nothink think close", (256, 1024), 600, shared(1024, EVEN), even, 0.01),
    "one chain in ten never ends": (
        "nothink think close",
        (256, 1024, 4096),
        2400,
        shared(4096, MOSTLY_SHORT),
        even,
        0.01,
    ),
    "rows that cost more than their tokens": (
        "nothink think close",
        (64, 128, 256, 512),
        900,
        shared(512),
        even,
        1.0,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_time_left_is_right_within_half_after_the_first_tenth(case: str) -> None:
    policies, budgets, questions, tokens, speed, row_s = CASES[case]
    told = simulated(planned(policies, budgets, questions), tokens, 32, speed, row_s)
    end = told[-1][0]
    checked = [(now, left, end - now) for now, left in told if 0.1 * end <= now <= 0.9 * end]
    assert checked
    wrong = [
        (round(now), round(left), round(true)) for now, left, true in checked if not 1 / 1.5 <= left / true <= 1.5
    ]
    assert not wrong, f"{len(wrong)} of {len(checked)} estimates, the first (at, told, true): {wrong[:3]}"


def test_every_cell_is_run_once_and_a_resumed_study_keeps_the_order() -> None:
    plan = planned("nothink think", (64, 512), 200)
    groups = list(order(plan, np.zeros(len(plan), dtype=np.bool_), 8))
    assert {plan[places[0]].spec.label for places in groups[:16]} == {"think"}
    assert {plan[places[0]].budget for places in groups} == {512}
    assert all([plan[place].budget for place in places] == [512, 64] for places in groups)
    whole = list(chain(*groups))
    assert sorted(whole) == list(range(len(plan)))
    done = np.zeros(len(plan), dtype=np.bool_)
    done[whole[:333]] = True
    assert sorted(chain(*order(plan, done, 8))) == sorted(whole[333:])


def test_nothing_is_cut_where_every_budget_is_written() -> None:
    plan = planned("nothink think", (64, 512), 100)
    groups = list(order(plan, np.zeros(len(plan), dtype=np.bool_), 8, online=True))
    assert sorted(groups) == [[place] for place in range(len(plan))]


def test_the_rows_of_a_question_lie_near_each_other_however_many_questions_there_are() -> None:
    plan = planned("nothink think close", (64,), 10_000)
    whole = list(chain(*order(plan, np.zeros(len(plan), dtype=np.bool_), 8)))
    assert sorted(whole) == list(range(len(plan)))
    first: dict[int, int] = {}
    apart = [at - first.setdefault(place % 10_000, at) for at, place in enumerate(whole)]
    assert max(apart) < 3000 * len(plan.ways)


def test_long_chains_do_not_come_last_in_the_last_stretch() -> None:
    plan = planned("think close", (64,), 2100)
    groups = list(order(plan, np.zeros(len(plan), dtype=np.bool_), 8))
    assert {plan[places[0]].spec.label for places in groups[-1500:]} == {"close"}


def test_cuts_and_rows_that_take_no_time_are_no_sign_of_speed() -> None:
    """The first of them may have waited for its chain, and the others take no time a clock can see."""
    now = 0.0
    plan = planned("think close", (64, 512), 200)
    pace = Pace(plan.ways, [200] * len(plan.ways), 4, clock=lambda: now)
    for way in range(len(plan.ways)):
        pace.begins(way)
    now = 10.0
    for way in range(len(plan.ways)):
        pace.ends(way, 100 if way == 0 else 0, 10.0)
    told = pace.seconds_left()
    assert told
    for _ in range(100):
        pace.begins(2)
        pace.ends(2, 0, 0.0)
    pace.begins(0)
    now = 20.0
    pace.ends(0, 100, 10.0)
    left = pace.seconds_left()
    assert left
    assert told / 3 < left < told
