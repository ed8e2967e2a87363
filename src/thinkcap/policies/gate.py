"""Vote first; where the voters do not agree, hand the question to another policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from thinkcap.core.flow import Flow, Policy
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Answer, Question
from thinkcap.policies.facts import Declared, Facts
from thinkcap.policies.iris import FACTS as IRIS
from thinkcap.policies.iris import iris_plus
from thinkcap.policies.vote import vote, voting_with


def gate(
    question: Question,
    cap: int,
    *,
    samples: int = 5,
    at_least: int = 3,
    each: int | None = None,
    otherwise: Policy | None = None,
    share: float = 0.5,
    temperature: float = 0.7,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """Vote first; where the voters do not agree, hand the question to another method.

        0                   share                         cap
        |s1 |s2 |s3 |s4 |s5 |                                 3 of 5 agree: that is the answer
                            |otherwise ...................|   they do not: IRIS+ with the rest

    Agreement is the sign of an easy question, found before any thinking is paid for.
    Use it where samples are cheap (batched on a server) and the answer kind is known.
    `at_least` votes must agree (3 of 5); `share` of the cap (half) is for them; `otherwise` is any method.
    `samples`, `each` and `temperature` are those of `vote`.
    """
    otherwise = otherwise or partial(iris_plus, prompts=prompts)
    each = each or max(1, int(cap * share) // samples)
    voted = yield from vote(question, cap, samples=samples, each=each, temperature=temperature)
    agree = int(voted.notes["agree"])
    if agree >= at_least:
        return voted
    rest = yield from otherwise(question, max(1, cap - each * samples))
    notes = {**rest.notes, "agree": agree, "votes": voted.notes["votes"], "voted": voted.text}
    return Answer(rest.text, f"otherwise:{rest.stage}", rest.completion, rest.guess, notes)


def _votes_then(options: Mapping[str, Any]) -> Facts:
    rest: Facts = options["otherwise"] or IRIS["iris_plus"]
    return replace(voting_with(rest), falls_back_to="iris_plus")


FACTS: Declared = {"gate": _votes_then}
