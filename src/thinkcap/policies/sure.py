"""DEER, dynamic early exit (arXiv 2504.15895): at each turn of the thought try an answer; if sure of it, stop."""

import math

from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import Flow
from thinkcap.core.names import nearest
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.scores import Scores
from thinkcap.core.types import Question
from thinkcap.policies.facts import Facts
from thinkcap.policies.trials import PLACES, Thought, Trial

MEANS = ("geometric", "arithmetic", "least")


def sure(
    question: Question,
    cap: int,
    *,
    over: float = 0.95,
    at: str = "Wait",
    trial: int = 12,
    tries: int = 10,
    mean: str = "geometric",
    finish: str = "close",
    lead: str = "",
    answer: int | None = None,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """Try an answer at every turn of the thought, and stop when the model is sure of it (DEER).

        0            Wait           Wait                  cap - answer   cap
        |thought ....|(trial)....... |(trial) sure: answer                  stops early
        |thought ....|(trial)....... |(trial)............ |</think>answer |   else

    Trials are hidden and taken back, but their tokens are charged; the authors do not count them.
    Use it where thoughts say `Wait` and go on long after the answer is there; `at` is another word, or a place as
    in `settle`.
    Sure means that the `mean` of the trial's token probabilities is above `over`: geometric (the default),
    arithmetic (the authors' for R1) or least. `trial` tokens each (12; authors 20), at most `tries` (10). `lead`
    replaces what begins a trial: the thought closed and the answer form's own beginning. `answer` as in `close`.
    `finish=close` lets the model answer once more after the thought, as the authors do; `trial` gives the trial
    it was sure of; `last` gives the last trial that could be read where the cap comes first, too.
    """
    if mean not in MEANS:
        raise ConfigError(f"unknown mean '{mean}'{nearest(mean, MEANS)}")
    asked = Trial.of(question, prompts, trial, lead, scored=True)
    thought = Thought(question, cap, answer, prompts, asked, finish)
    places = PLACES.get(at, (at,))
    seen: list[float] = []
    while thought.trials < tries:
        yield from thought.write(stop_at=places)
        if thought.full:
            break
        found = yield from thought.attempt()
        if found is None:
            break
        seen.append(round(confidence(found.scores, mean), 4))
        if seen[-1] > over:
            return (yield from thought.finish(stopped=True, sure=tuple(seen)))
    return (yield from thought.finish(sure=tuple(seen)))


def confidence(scores: Scores | None, mean: str) -> float:
    """Of the tokens of a trial; 0 where there is none."""
    if not scores:
        return 0.0
    if mean == "geometric":
        return math.exp(sum(scores.chosen) / len(scores))
    chances = [math.exp(value) for value in scores.chosen]
    return min(chances) if mean == "least" else sum(chances) / len(chances)


FACTS = {"sure": Facts(chain=("think",), then=("trial", "close"), may_be_empty=False, needs_nothink=False)}
