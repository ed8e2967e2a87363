"""DeepConf (arXiv 2508.15260), offline and online: sampled thoughts weighed by their least sure stretch."""

from collections.abc import Sequence

from msgspec.structs import replace

from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import Flow, ask, ask_all
from thinkcap.core.names import nearest
from thinkcap.core.scores import Scores, Unsure, sliding
from thinkcap.core.types import Answer, Completion, Question, Request, Sampling
from thinkcap.policies import stages
from thinkcap.policies.facts import Facts
from thinkcap.policies.vote import classes

WAYS = ("tail", "bottom", "lowest", "mean")
_WINDOW = 2048
"""The authors' window; ours shrinks with the share of a sample."""


def trust(
    question: Question,
    cap: int,
    *,
    samples: int = 16,
    keep: float = 0.1,
    by: str = "tail",
    window: int | None = None,
    temperature: float = 0.6,
    top_p: float = 0.95,
) -> Flow:
    """Think many times, keep the surest thoughts and let them vote by weight (DeepConf, offline).

        0                                                        cap
        |thought 1 answer |thought 2 answer |... |thought 16 answer |   the surest `keep` vote

    Use it where many samples are affordable and some wander. It needs an answer kind and log probabilities.
    `samples` (16; authors 512) at `temperature` and `top_p`; the share `keep` (0.1) with the highest score votes.
    `by` says how a thought is scored: its tail, the bottom tenth of its windows, its lowest window, or its mean.
    `window` is a quarter of a sample's share and at most 2,048 tokens (the authors').
    """
    if by not in WAYS:
        raise ConfigError(f"unknown way to score '{by}'{nearest(by, WAYS)}")
    each, span = _shares(cap, samples, window)
    found = yield from ask_all([_sample(question, each, i, temperature, top_p) for i in range(samples)])
    scored = [(score(c.scores, by, span), c) for c in found if c.answer is not None and c.scores]
    return (yield from _decided(question, scored, keep, samples))


def trust_stop(
    question: Question,
    cap: int,
    *,
    samples: int = 32,
    first: int = 16,
    keep: float = 0.9,
    enough: float = 0.95,
    window: int | None = None,
    temperature: float = 0.6,
    top_p: float = 0.95,
) -> Flow:
    """Learn from a few thoughts how sure to be, and cut others that fall below (DeepConf, online).

        0                                                        cap
        |thought 1 .. |.. |thought 16 |thought 17 ..unsure |thought 18 .. |   cut ones do not vote

    Use it as `trust`, where most samples can be stopped early. It needs an answer kind and log probabilities.
    The `first` (16) of `samples` (32; authors 256) run whole and set the bar that the share `keep` of them passes
    (0.9; the authors also 0.1). No further ones are drawn once the leading answer has the share `enough` (0.95) of
    the weight. `window`, `temperature` and `top_p` as in `trust`.
    """
    if not 1 <= first <= samples:
        raise ConfigError(f"trust_stop needs first from 1 to samples ({samples}), not {first}")
    each, span = _shares(cap, samples, window)
    warm = yield from ask_all([_sample(question, each, i, temperature, top_p) for i in range(first)])
    bar = _percentile([score(c.scores, "lowest", span) for c in warm if c.scores], 1 - keep)
    scored = [(score(c.scores, "lowest", span), c) for c in warm if c.answer is not None and c.scores]
    scored = [(value, c) for value, c in scored if value >= bar]
    drawn, cut = first, 0
    while drawn < samples:
        groups = yield from classes([stages.read(question, c.answer).answer for _, c in scored], question)
        weights = [sum(scored[i][0] for i in group) for group in groups]
        if weights and max(weights) >= enough * sum(weights):
            break
        wary = replace(_sample(question, each, drawn, temperature, top_p), unsure=Unsure(span, bar))
        found = yield from ask(wary)
        drawn += 1
        cut += found.finish == "unsure"
        if found.finish != "unsure" and found.answer is not None and found.scores:
            scored.append((score(found.scores, "lowest", span), found))
    return (yield from _decided(question, scored, 1.0, drawn, cut=cut))


def score(scores: Scores | None, by: str, window: int) -> float:
    """How peaked the distributions of a thought were: of its windows, or as a whole where it has no full one."""
    peaks = [-value for value in scores.mean] if scores else []
    if not peaks:
        return 0.0
    if by == "mean" or len(peaks) <= window:
        return sum(peaks) / len(peaks)
    if by == "tail":
        return sum(peaks[-window:]) / window
    groups = sorted(sliding([-peak for peak in peaks], window))
    if by == "lowest":
        return groups[0]
    tenth = groups[: max(1, len(groups) // 10)]
    return sum(tenth) / len(tenth)


def _decided(
    question: Question, scored: Sequence[tuple[float, Completion]], keep: float, samples: int, cut: int = 0
) -> Flow:
    """The answer with the most weight among the surest; the surest alone where nothing can be read."""
    notes: dict[str, object] = {"samples": samples, "ended": len(scored), "cut": cut}
    if not scored:
        return Answer(None, "vote", notes=notes)
    bar = _percentile([value for value, _ in scored], 1 - keep)
    kept = [(value, c) for value, c in scored if value >= bar] or [max(scored, key=lambda pair: pair[0])]
    groups = yield from classes([stages.read(question, c.answer).answer for _, c in kept], question)
    notes["votes"] = tuple(len(g) for g in groups)
    best = max(groups, key=lambda g: sum(kept[i][0] for i in g))[0] if groups else 0
    return Answer(kept[best][1].answer, "vote", kept[best][1], notes=notes)


def _sample(question: Question, budget: int, number: int, temperature: float, top_p: float) -> Request:
    drawn = Sampling(temperature, top_p)
    return Request(question, "think", budget, "sample", sampling=drawn, sample=number, scored=True)


def _shares(cap: int, samples: int, window: int | None) -> tuple[int, int]:
    if samples < 1:
        raise ConfigError(f"this policy needs at least one sample, not {samples}")
    each = max(1, cap // samples)
    return each, window or max(1, min(_WINDOW, each // 4))


def _percentile(values: Sequence[float], share: float) -> float:
    """With linear interpolation between neighbours, as numpy's."""
    if not values:
        return 0.0
    ordered = sorted(values)
    # Rounded, since 1 - 0.7 is a little more than 0.3.
    place = round(min(max(share, 0.0), 1.0) * (len(ordered) - 1), 9)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


FACTS = {
    "trust": Facts(chain=("sample",), needs_kind=True, needs_nothink=False, votes=True),
    "trust_stop": Facts(chain=("sample",), needs_kind=True, needs_nothink=False, votes=True),
}
