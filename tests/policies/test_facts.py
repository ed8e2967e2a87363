"""What a policy is stands beside it, follows its options, and is cautious where nobody declared anything."""

import importlib

import pytest

from thinkcap.core.flow import Flow, ask
from thinkcap.core.types import Answer, Question, Request
from thinkcap.policies.facts import Facts
from thinkcap.policies.registry import POLICIES, PolicySpec, facts, parse


def mine(question: Question, cap: int) -> Flow:
    done = yield from ask(Request(question, "think", cap, stage="think"))
    return Answer(done.answer, stage="think", completion=done)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_declares_what_it_is(name: str) -> None:
    module, _, function = POLICIES[name].partition(":")
    assert function in importlib.import_module(module).FACTS
    assert facts(PolicySpec(name)).chain


def test_a_policy_of_ones_own_is_taken_with_caution() -> None:
    assert facts(PolicySpec(f"{__name__}:mine")) == Facts()
    assert Facts().may_be_empty


@pytest.mark.parametrize(
    ("word", "may_be_empty", "needs_kind", "needs_nothink"),
    [
        ("think", True, False, False),
        ("think(pipeline=heuristic)", True, True, False),
        ("think(pipeline=projection)", False, False, False),
        ("town", True, False, True),
        ("town(pipeline=projection)", False, False, True),
        ("stop", False, False, False),
        ("stop(first=8)", False, False, True),
        ("stop(how=extract)", False, False, True),
        ("vote", True, True, True),
        ("gate", False, True, True),
        ("gate(otherwise=think)", True, True, True),
        ("weighted_vote(other=close)", False, True, True),
        ("auto", False, False, True),
    ],
)
def test_facts_follow_the_options(word: str, may_be_empty: bool, needs_kind: bool, needs_nothink: bool) -> None:
    found = facts(parse(word))
    assert (found.may_be_empty, found.needs_kind, found.needs_nothink) == (may_be_empty, needs_kind, needs_nothink)


@pytest.mark.parametrize(
    ("word", "splits", "votes"),
    [
        ("iris", True, False),
        ("close", False, False),
        ("gate(otherwise=iris)", False, True),
        ("weighted_vote(other=split)", False, True),
        ("trust", False, True),
        ("skip_vote", False, True),
    ],
)
def test_who_votes_does_not_split(word: str, splits: bool, votes: bool) -> None:
    found = facts(parse(word))
    assert (found.splits, found.votes) == (splits, votes)
