"""Shadows in words: what a policy would have answered, beside what was sent."""

from __future__ import annotations

from collections.abc import Iterator

from thinkcap.diagnose.document import named
from thinkcap.diagnose.shadow import Shadowed
from thinkcap.verdict.words import Sentence, percent, points, times


def beside(found: Shadowed) -> Iterator[Sentence]:
    policies = " or ".join(found.policies) or "The policy"
    empty = found.empty
    yield Sentence(
        f"{found.model or 'Unnamed model'}: {policies} ran beside {times(found.pairs, 'answer')}. Of the answers "
        f"sent, {found.sent_empty} were empty; of the policy's, {found.shadow_empty}: a difference of "
        f"{points(empty.test.difference)} points ({points(empty.low)} to {points(empty.high)}).",
        named(found, "pairs", "sent_empty", "shadow_empty", low=empty.low, high=empty.high),
    )
    if found.tokens is not None:
        t = found.tokens
        yield Sentence(
            f"The answers sent took {t.sent:,.0f} tokens on average, the policy's {t.shadow:,.0f}: "
            f"{t.shadow - t.sent:+,.0f} ({t.low:+,.0f} to {t.high:+,.0f}).",
            named(t, "pairs", "sent", "shadow", "low", "high"),
        )
    same = found.same
    if same.n:
        yield Sentence(
            f"Where both gave an answer, {same.k} of {same.n} agree ({percent(same.value)}; "
            f"{points(same.low or 0)} to {points(same.high or 0)}). Nobody has judged which one is right.",
            {"same": same.k, "n": same.n},
        )
