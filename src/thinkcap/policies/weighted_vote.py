"""Votes plus a stronger voter: another policy's answer counts `weight` samples. Both costs are always paid.

The weight is a number somebody chose on other questions than those reported (`thinkcap.statistics.gates` does).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from thinkcap.core.flow import Flow, Policy, ask_all
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Answer, Question, Request, Sampling
from thinkcap.policies import stages
from thinkcap.policies.facts import Declared, Facts
from thinkcap.policies.iris import FACTS as IRIS
from thinkcap.policies.iris import iris
from thinkcap.policies.vote import classes, voting_with


def weighted_vote(
    question: Question,
    cap: int,
    *,
    samples: int = 5,
    weight: int = 2,
    each: int | None = None,
    other: Policy | None = None,
    share: float = 0.5,
    temperature: float = 0.7,
    top_p: float = 0.95,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """Vote together with a stronger method, whose answer counts more.

        0                   share                         cap
        |s1 |s2 |s3 |s4 |s5 |other .......................|   a vote each, `weight` votes for other

    Both parts are always paid for. The weight must be chosen on other questions than those reported.
    Use it where votes and the stronger method fail on different questions.
    The answer of `other` (IRIS) counts as `weight` samples (2); `share` of the cap (half) is for the samples.
    `samples`, `each`, `temperature` and `top_p` are those of `vote`.
    """
    other = other or partial(iris, prompts=prompts)
    each = each or max(1, int(cap * share) // samples)
    drawn = Sampling(temperature, top_p)
    completions = yield from ask_all(
        [
            Request(question, "nothink", each, "sample", sampling=drawn, sample=i, final=True)
            for i in range(samples)
        ]
    )
    rest = yield from other(question, max(1, cap - each * samples))
    texts = [c.answer for c in completions] + [rest.text]
    found = [stages.read(question, text, guess=rest.guess and text is rest.text).answer for text in texts]
    groups = yield from classes(found, question)
    if not groups:
        return Answer(rest.text, "vote", rest.completion, rest.guess, {"votes": (), "agree": 0, "support": 0})

    def votes(group: list[int]) -> int:
        return sum(weight if index == samples else 1 for index in group)

    best = max(groups, key=votes)
    mine = next((g for g in groups if samples in g), [])
    # How many samples agree with the other's answer: enough to try other weights without asking again.
    notes = {"votes": tuple(votes(g) for g in groups), "agree": votes(best), "support": max(0, len(mine) - 1)}
    if samples in best:
        return Answer(rest.text, f"vote:{rest.stage}", rest.completion, rest.guess, notes)
    return Answer(texts[best[0]], "vote", completions[best[0]], notes=notes)


def _votes_and(options: Mapping[str, Any]) -> Facts:
    rest: Facts = options["other"] or IRIS["iris"]
    return voting_with(rest)


FACTS: Declared = {"weighted_vote": _votes_and}
