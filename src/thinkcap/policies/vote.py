"""Self-consistency: several seeded samples, and the answer most of them are equivalent to."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import Flow, Same, ask_all, same
from thinkcap.core.types import Answer, Mode, Question, Request, Sampling
from thinkcap.policies import stages
from thinkcap.policies.facts import Facts


def vote(
    question: Question,
    cap: int,
    *,
    samples: int = 5,
    temperature: float = 0.7,
    top_p: float = 0.95,
    each: int | None = None,
    mode: Mode = "nothink",
) -> Flow:
    """Draw several samples and take the answer most of them agree on.

        0                                                 cap
        |sample 1 |sample 2 |sample 3 |sample 4 |sample 5 |   in parallel, an equal share each

    The grader compares answers, so 1/2 and 0.5 are the same vote; a tie goes to the earliest sample.
    Use it with short answers without thinking, where single answers are noisy. It needs an answer kind.
    `samples` (5) of `each` tokens (an equal share) at `temperature` and `top_p`, in `mode` (nothink).
    """
    if samples < 1:
        raise ConfigError(f"vote needs at least one sample, not {samples}")
    drawn = Sampling(temperature, top_p)
    requests = [
        Request(question, mode, each or cap // samples, "sample", sampling=drawn, sample=i, final=True)
        for i in range(samples)
    ]
    completions = yield from ask_all(requests)
    found = [stages.read(question, c.answer).answer for c in completions]
    groups = yield from classes(found, question)
    if not groups:
        return Answer(None, "vote", notes={"votes": (), "agree": 0, "samples": samples})
    best = max(groups, key=len)
    notes = {"votes": tuple(len(g) for g in groups), "agree": len(best), "samples": samples}
    chosen = completions[best[0]]
    return Answer(chosen.answer, "vote", chosen, notes=notes)


def classes(answers: Sequence[str | None], question: Question) -> Generator[Same, Any, list[list[int]]]:
    """Indexes grouped by equivalence, in order of first appearance; no answer belongs to no class."""
    groups: list[list[int]] = []
    for index, answer in enumerate(answers):
        if answer is None:
            continue
        for group in groups:
            if (yield from same(answers[group[0]], answer, question)):
                group.append(index)
                break
        else:
            groups.append([index])
    return groups


def voting_with(other: Facts) -> Facts:
    """Samples first, then another policy: of what that one is, only how it answers remains."""
    return Facts(
        chain=("sample", *other.chain),
        then=other.then,
        may_be_empty=other.may_be_empty,
        needs_kind=True,
        answer_pass=other.answer_pass,
        adaptive=other.adaptive,
        votes=True,
    )


FACTS = {"vote": Facts(chain=("sample",), needs_kind=True, votes=True)}
