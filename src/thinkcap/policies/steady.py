"""EAT, entropy after the closed thought (arXiv 2509.26522): stop when the next token's entropy no longer moves."""

from collections.abc import Iterable, Iterator

from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import Flow
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Question
from thinkcap.policies.facts import Facts
from thinkcap.policies.trials import PLACES, Thought, Trial


def steady(
    question: Question,
    cap: int,
    *,
    rate: float = 0.2,
    below: float = 1e-4,
    warm: int = 20,
    at: str = "paragraph",
    lead: str = "",
    answer: int | None = None,
    prompts: Prompts = PROMPTS,
) -> Flow:
    r"""Watch how open the answer still is, and stop when that no longer changes (EAT).

        0        \n\n     \n\n     \n\n                   cap - answer   cap
        |thought |1 token |1 token |1 token steady: answer                  stops early
        |thought |1 token |1 token |1 token ............. |</think>answer |   else

    At every paragraph end the thought is closed for one token; its entropy is measured, and it is taken back.
    Use it where thoughts have many paragraphs; a steady entropy says that the answer stays, not that it is right.
    It stops when the moving variance of the entropy (in nats, at temperature 1) falls `below` 1e-4, `rate` (0.2)
    the weight of the newest, after `warm` looks (20). `at`, `lead` as in `settle`, `answer` as in `close`.
    """
    if not 0 < rate <= 1:
        raise ConfigError(f"steady needs a rate above 0 and at most 1, not {rate}")
    thought = Thought(question, cap, answer, prompts, Trial.of(question, prompts, 1, lead, scored=True))
    places = PLACES.get(at, (at,))
    seen: list[float] = []
    while True:
        yield from thought.write(stop_at=places)
        if thought.full:
            break
        found = yield from thought.attempt()
        if found is None or not found.scores:
            break
        seen.append(found.scores.entropy[0])
        if len(seen) > warm and [*spreads(seen, rate)][-1] < below:
            return (yield from thought.finish(stopped=True, entropies=len(seen)))
    return (yield from thought.finish(entropies=len(seen)))


def spreads(values: Iterable[float], rate: float) -> Iterator[float]:
    """The moving variance after each value, around a moving mean that has moved already; 0 after the first."""
    mean: float | None = None
    spread = 0.0
    for value in values:
        if mean is None:
            mean = value
        else:
            mean = rate * value + (1 - rate) * mean
            spread = rate * (value - mean) ** 2 + (1 - rate) * spread
        yield spread


FACTS = {"steady": Facts(chain=("think",), then=("trial", "close"), may_be_empty=False, needs_nothink=False)}
