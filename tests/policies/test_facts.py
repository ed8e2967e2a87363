"""What a policy is stands beside it, follows its options, and is cautious where nobody declared anything."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from thinkcap.core.flow import Flow, ask
from thinkcap.core.types import Answer, Mode, Question, Request
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


SRC = Path(__file__).parents[2] / "src" / "thinkcap"
NAMES = set(POLICIES) - set(get_args(Mode))
OWN = (
    *("policies/", "paper/", "engines/"),
    *("study/cascades.py", "study/rivals.py", "calibrate/allocation.py"),
)
"""The policies themselves, the paper's tables, and who plans studies and names what is run in them. Engines know
no policies: `auto` and `native` are their own words."""


def named(tree: ast.AST) -> Iterator[int]:
    """Lines that keep a list of policies' names, or ask what a policy is by its name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
            parts = node.keys if isinstance(node, ast.Dict) else node.elts
            texts = [p.value if isinstance(p, ast.Constant) else None for p in parts]
            if len(texts) > 1 and set(texts) <= set(POLICIES) and NAMES & set(texts):
                yield node.lineno
        elif isinstance(node, ast.Compare):
            asked = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
            said = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
            if asked & {"policy", "method", "name"} and said & NAMES:
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            said = {a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)}
            if node.func.attr in ("method", "startswith", "endswith") and said & NAMES:
                yield node.lineno


def test_nobody_elsewhere_keeps_names_of_policies() -> None:
    found = []
    for path in SRC.rglob("*.py"):
        place = path.relative_to(SRC).as_posix()
        if not place.startswith(OWN):
            found += [f"{place}:{line}" for line in named(ast.parse(path.read_text(encoding="utf-8")))]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "PASSES = ('split', 'close')",
        "WAYS = {'iris': 1, 'think': 2}",
        "arm.policy == 'vote'",
        "spec.name != 'close'",
        "arm.policy in ('think', 'town')",
        "group.method('iris')",
        "arm.policy.startswith('town')",
    ],
)
def test_a_list_of_names_is_seen(line: str) -> None:
    assert [*named(ast.parse(line))]
    assert not [*named(ast.parse("MODES = ('think', 'nothink'); card.tags == ('open', 'close')"))]
