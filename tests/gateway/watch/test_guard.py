"""The guard: within a stated number of requests where everything goes wrong, and silent where nothing does."""

import random

import pytest

from thinkcap.gateway.watch.guard import Guard, SeenEnd, within

WELL = SeenEnd(failed=False, empty=False, seconds=1.0)


def test_the_number_that_is_stated() -> None:
    assert [within(share, 0.1) for share in (0.0, 0.01, 0.05, 0.2, 0.5)] == [6, 6, 13, 35, 76]


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2])
@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (SeenEnd(failed=True, empty=False, seconds=0.01), "requests fail"),
        (SeenEnd(failed=False, empty=True, seconds=1.0), "answers are empty"),
        (SeenEnd(failed=False, empty=False, seconds=99.0), "take longer than"),
    ],
)
def test_a_policy_that_always_goes_wrong_is_out_within_that_number(share: float, wrong: SeenEnd, why: str) -> None:
    guard, chance = Guard(0.1, 2.0), random.Random(1)
    for _ in range(2000):
        guard.watched(SeenEnd(chance.random() < share, chance.random() < share, chance.uniform(0.5, 1.0)))
    for _ in range(300):
        assert guard.held(WELL) == ""
    told = [guard.held(wrong) for _ in range(within(share + 0.05, 0.1))]
    assert any(why in said for said in told)


def test_before_anything_was_watched_it_takes_longest() -> None:
    guard = Guard(0.1, 2.0)
    told = [guard.held(SeenEnd(failed=True, empty=False, seconds=0.1)) for _ in range(within(0.5, 0.1))]
    assert told[-1]
    assert not any(told[:-1])


@pytest.mark.parametrize("share", [0.0, 0.02, 0.2, 0.5])
def test_arms_that_are_alike_raise_no_alarm(share: float) -> None:
    chance = random.Random(7)

    def one() -> SeenEnd:
        seconds = chance.lognormvariate(0, 1)
        return SeenEnd(chance.random() < share, chance.random() < share, seconds)

    alarms = 0
    for _ in range(2):
        guard = Guard(0.1, 2.0)
        for number in range(20_000):
            if number % 10:
                guard.watched(one())
            else:
                alarms += bool(guard.held(one()))
    assert alarms == 0


def test_a_share_that_rises_by_more_than_the_bound_is_noticed() -> None:
    chance = random.Random(3)
    guard = Guard(0.1, 2.0)
    for _ in range(1000):
        guard.watched(SeenEnd(failed=False, empty=chance.random() < 0.3, seconds=1.0))
    told = [guard.held(SeenEnd(failed=False, empty=chance.random() < 0.5, seconds=1.0)) for _ in range(1000)]
    assert any("answers are empty, 10 points more" in said for said in told)
