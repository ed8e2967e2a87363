"""short-m@k (arXiv 2505.17813): of several sampled thoughts the shortest few decide, the rest is cut short."""

from collections.abc import Sequence

from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import Flow, ask, first_of
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Answer, Completion, Question, Request, Sampling
from thinkcap.policies import stages
from thinkcap.policies.facts import Facts
from thinkcap.policies.vote import classes


def shortest(
    question: Question,
    cap: int,
    *,
    samples: int = 5,
    first: int = 3,
    temperature: float = 0.7,
    top_p: float = 0.95,
    parallel: bool = False,
    answer: int | None = None,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """Think several times, and let the shortest thoughts vote (short-m@k).

        0                                                        cap
        |thought 1 answer |thought 2 .. |thought 3 answer |...   |   the `first` shortest vote

    A thought that grows longer than the longest of the shortest so far is cut there. Ties go to the shortest.
    Use it where a model's short thoughts are its better ones and a single one is noisy. It needs an answer kind.
    `samples` (5; authors 5 to 10) at `temperature` and `top_p`, of which the `first` (3; authors 1 or 3) count,
    one after the other; `parallel` runs them side by side in equal shares and stops the rest when enough have
    ended. `answer` tokens are kept to close a thought where none ended.
    """
    if not 1 <= first <= samples:
        raise ConfigError(f"shortest needs first from 1 to samples ({samples}), not {first}")
    kept = min(max(16, cap // 16), max(1, cap // 2)) if answer is None else answer
    drawn = Sampling(temperature, top_p)

    def request(number: int, budget: int) -> Request:
        return Request(question, "think", budget, "sample", keep=kept, sampling=drawn, sample=number)

    found: list[Completion] = []
    if parallel:
        share = max(1, (cap - kept) // samples)
        found += yield from first_of([request(i, share) for i in range(samples)], first)
    else:
        left = cap - kept
        for number in range(samples):
            bar = _bar(found, first)
            share = left // (samples - number)
            found.append((yield from ask(request(number, share if bar is None else min(share, bar + kept)))))
            left -= found[-1].charged
    ended = sorted((c for c in found if c.answer is not None), key=lambda c: c.think_tokens)[:first]
    notes = {"samples": len(found), "ended": sum(c.answer is not None for c in found)}
    if not ended:
        longest = max(found, key=lambda c: c.tokens)
        rest = yield from ask(stages.in_band(question, longest, cap, prompts.close, "close"))
        return Answer(rest.text, "close", rest, notes=notes)
    answers = [stages.read(question, c.answer).answer for c in ended]
    groups = yield from classes(answers, question)
    # Those who ended are in order of their length: the first of equally large groups has the shortest thought.
    best = ended[max(groups, key=len)[0]] if groups else ended[0]
    return Answer(best.answer, "vote", best, notes={**notes, "votes": tuple(len(g) for g in groups)})


def _bar(found: Sequence[Completion], first: int) -> int | None:
    """The longest thought that would still count, once enough have ended."""
    lengths = sorted(c.think_tokens for c in found if c.answer is not None)
    return lengths[first - 1] if len(lengths) >= first else None


FACTS = {"shortest": Facts(chain=("sample", "close"), needs_kind=True, needs_nothink=False, votes=True)}
