"""Which server of several gets a call: shares, conversations that stay, servers that fall and come back."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkcap.core.errors import EngineError, EngineGarbled, EngineRefused, EngineTimeout, EngineUnreachable
from thinkcap.engines.fleet import LONGEST_PAUSE_S, ROOM, SLACK, STRIKES, Fleet, Member, Route, Upstream, routed


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def fleet_of(*weights: float, seed: int = 0) -> tuple[Fleet, Clock]:
    clock = Clock()
    upstreams = [Upstream(f"http://10.0.0.{i}:8000", weight) for i, weight in enumerate(weights)]
    return Fleet(upstreams, clock, random.Random(seed).random), clock


def conversation(number: int, tokens: int = 100) -> Route:
    return Route(f"conversation {number}".encode(), tokens)


@contextmanager
def call(fleet: Fleet, route: Route | None = None, silence_s: float = 10.0) -> Iterator[Member]:
    with routed(route or Route(tokens=100)), fleet.lease(silence_s=silence_s) as lease:
        yield lease.member


def fall(fleet: Fleet, member: Member, error: EngineError | None = None) -> None:
    """A call to this server fails."""
    others = [p for p in fleet.members if p is not member]
    with pytest.raises(EngineError), routed(Route()), fleet.lease(tried=others):
        raise error or EngineUnreachable("gone")


@given(st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=2, max_size=8), st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_work_without_conversations_is_shared_by_weight(weights: list[float], seed: int) -> None:
    fleet, _ = fleet_of(*weights, seed=seed)
    draw = random.Random(seed)
    with ExitStack() as under_way:
        for _ in range(400):
            under_way.enter_context(call(fleet, Route(tokens=draw.randint(50, 150))))
        total, weight = sum(p.tokens for p in fleet.members), sum(weights)
        for member in fleet.members:
            assert member.tokens == pytest.approx(total * member.weight / weight, rel=0.2)
    assert all(p.tokens == p.calls == 0 for p in fleet.members)


@given(st.integers(2, 8), st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_conversations_never_burden_a_server_beyond_its_share(count: int, seed: int) -> None:
    """However conversations fall: here a few of them make all the calls."""
    fleet, _ = fleet_of(*[1.0] * count, seed=seed)
    draw = random.Random(seed)
    with ExitStack() as under_way:
        for _ in range(300):
            under_way.enter_context(call(fleet, conversation(draw.randint(0, 5))))
        share = sum(p.tokens for p in fleet.members) / count
        assert max(p.tokens for p in fleet.members) <= (1 + SLACK) * share + (ROOM + 1) * 100


def test_a_conversation_keeps_its_server_and_all_gateways_agree() -> None:
    fleet, _ = fleet_of(1, 1, 1, 1, 1)
    again, _ = fleet_of(1, 1, 1, 1, 1, seed=7)
    for number in range(200):
        first = fleet.choose(conversation(number))
        assert fleet.choose(conversation(number)) is first
        assert again.choose(conversation(number)).index == first.index


def test_weights_hold_for_conversations_too() -> None:
    fleet, _ = fleet_of(1, 2, 1)
    found = Counter(fleet.choose(conversation(n)).index for n in range(8000))
    assert found[1] == pytest.approx(4000, rel=0.05)
    assert found[0] == pytest.approx(2000, rel=0.1)


def test_a_server_that_goes_moves_only_its_own_conversations() -> None:
    fleet, clock = fleet_of(1, 1, 1, 1, 1)
    before = {n: fleet.choose(conversation(n)) for n in range(500)}
    gone = fleet.members[2]
    fall(fleet, gone)
    after = {n: fleet.choose(conversation(n)) for n in range(500)}
    assert all(after[n] is before[n] for n in range(500) if before[n] is not gone)
    assert {after[n].index for n in range(500) if before[n] is gone} == {0, 1, 3, 4}
    clock.now += 2
    with call(fleet, next(conversation(n) for n in range(500) if before[n] is gone)) as member:
        assert member is gone
    assert all(fleet.choose(conversation(n)) is before[n] for n in range(500))


def test_passes_of_one_request_stay_and_those_side_by_side_spread() -> None:
    fleet, _ = fleet_of(1, 1, 1)
    route = Route(b"a", 100)
    with call(fleet, route) as thought:
        pass
    with ExitStack() as others:
        for _ in range(5):
            others.enter_context(call(fleet, Route(tokens=1000)))
        with call(fleet, route) as answer:
            assert answer is thought
    votes = Route(b"a", 100)
    with ExitStack() as samples:
        found = {samples.enter_context(call(fleet, votes)).index for _ in range(100)}
    assert found == {0, 1, 2}


def test_pauses_grow_and_one_call_tries_again() -> None:
    fleet, clock = fleet_of(1, 1)
    bad, good = fleet.members
    paused = []
    for _ in range(9):
        fall(fleet, bad)
        paused.append(bad.until - clock.now)
        assert all(fleet.choose(conversation(n)) is good for n in range(50))
        clock.now = bad.until
        routes = [conversation(n) for n in range(50)]
        liked = next(r for r in routes if fleet.choose(r) is bad)
        with call(fleet, liked) as trial:
            assert trial is bad
            # Nobody else until the trial has ended.
            assert all(fleet.choose(conversation(n)) is good for n in range(50))
            clock.now += 0.01
            fleet.failed(bad, EngineUnreachable("still gone"), clock.now, clock.now)
            clock.now = bad.until
        bad.pauses = len(paused)
    assert all(
        0.5 * min(LONGEST_PAUSE_S, 2.0**n) <= s <= min(LONGEST_PAUSE_S, 2.0**n) for n, s in enumerate(paused)
    )


def test_a_trial_that_succeeds_brings_a_server_back() -> None:
    fleet, clock = fleet_of(1, 1)
    bad = fleet.members[0]
    fall(fleet, bad)
    clock.now = bad.until
    with fleet.lease(tried=[fleet.members[1]]) as lease:
        assert lease.member is bad
    assert bad.pauses == 0
    assert {fleet.choose(conversation(n)).index for n in range(50)} == {0, 1}


def test_calls_under_way_when_a_server_falls_count_once() -> None:
    fleet, clock = fleet_of(1, 1)
    bad = fleet.members[0]
    leases = [fleet.lease(tried=[fleet.members[1]]) for _ in range(20)]
    clock.now += 1
    for lease in leases:
        with pytest.raises(EngineError), lease:
            raise EngineUnreachable("gone")
    assert bad.pauses == 1


def test_a_server_that_still_speaks_has_three_strikes() -> None:
    fleet, _ = fleet_of(1, 1)
    bad = fleet.members[0]
    for strike in range(STRIKES):
        assert bad.pauses == 0, strike
        fall(fleet, bad, EngineRefused("broken", 500))
    assert bad.pauses == 1


@pytest.mark.parametrize("error", [EngineRefused("your fault", 400), EngineRefused("too long", 422)])
def test_what_the_caller_did_wrong_is_no_fault_of_the_server(error: EngineError) -> None:
    fleet, _ = fleet_of(1, 1)
    for _ in range(10):
        fall(fleet, fleet.members[0], error)
    assert fleet.members[0].pauses == 0


def test_a_busy_server_is_left_alone_as_long_as_it_asks_and_no_longer() -> None:
    fleet, clock = fleet_of(1, 1)
    busy = fleet.members[0]
    with call(fleet, Route(tokens=1)):
        fall(fleet, busy, EngineRefused("busy", 429, retry_after_s=7))
        assert busy.until == clock.now + 7
    clock.now += 7
    with fleet.lease(tried=[fleet.members[1]]):
        pass
    assert busy.pauses == 0


def test_slow_for_one_call_is_not_dead() -> None:
    fleet, clock = fleet_of(1, 1)
    slow, other = fleet.members

    def late(meanwhile: bool) -> None:
        with fleet.lease(tried=[other]):
            clock.now += 5
            if meanwhile:
                with fleet.lease(tried=[other]):
                    clock.now += 1
            raise EngineTimeout("too late")

    for meanwhile, pauses in ((True, 0), (False, 1)):
        with pytest.raises(EngineTimeout):
            late(meanwhile)
        assert slow.pauses == pauses


def test_a_caller_who_gives_up_says_something_only_after_a_long_silence() -> None:
    fleet, clock = fleet_of(1, 1)
    member, other = fleet.members

    def given_up(waited: float) -> None:
        with fleet.lease(tried=[other], silence_s=10):
            clock.now += waited
            raise asyncio.CancelledError

    for waited, pauses in ((1.0, 0), (11.0, 1)):
        with pytest.raises(asyncio.CancelledError):
            given_up(waited)
        assert member.pauses == pauses


def test_where_nobody_is_well_the_one_due_first_is_asked() -> None:
    fleet, clock = fleet_of(1, 1, 1)
    for member in fleet.members:
        fall(fleet, member)
        clock.now += 0.1
    assert fleet.choose(conversation(1)) is min(fleet.members, key=lambda p: p.until)
    assert fleet.choose(conversation(1), tried=fleet.members) in fleet.members


def test_garbled_answers_leave_a_server_out_at_once() -> None:
    fleet, _ = fleet_of(1, 1)
    fall(fleet, fleet.members[0], EngineGarbled("not JSON"))
    assert fleet.members[0].pauses == 1
