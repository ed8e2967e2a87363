"""What a profile's policies would do on traffic that was watched, as far as its study can tell.

    >>> foreseen(read([Path("thinkcap-journal")]).arms, Profile.from_file(path))[0].accuracy      # doctest: +SKIP

Each request gets the policy of its cap, and what the study measured of it there. This takes requests to be like
the study's questions, which only a shadow can check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from thinkcap.calibrate.profile import CapRule, Profile
from thinkcap.core.errors import DataError
from thinkcap.logs import UNJUDGED, Arm
from thinkcap.policies.registry import facts
from thinkcap.statistics.precision import proportion
from thinkcap.study.values import FREE, Price
from thinkcap.verdict.words import percent, points, times, tokens

_OURS = ("hold", "shadow")
"""Arms that a policy answered already."""


@dataclass(frozen=True)
class Foreseen:
    """All requests of one model whose cap is known."""

    model: str
    requests: int
    without_cap: int
    empty: int
    """Answers that were empty, by the server alone."""
    tokens: int
    """What the measured ones took, by the server alone, as far as it counted."""
    policies: tuple[tuple[str, int], ...]
    """How many requests each policy would have answered."""
    measured: int
    """Requests of whose policy the profile knows accuracy and tokens at their cap."""
    accuracy: tuple[float, float, float] | None
    """Value, low and high. All caps of a study share its questions, so their errors are added, not averaged."""
    tokens_each: float | None
    price: Price

    def sentences(self) -> list[str]:
        ways = ", ".join(f"{label} {count}" for label, count in self.policies)
        said = [
            f"{self.model or 'Unnamed model'}: for {times(self.requests, 'request')} with a cap, the profile "
            f"chooses {ways}. The server alone left {self.empty} of them without an answer."
        ]
        if self.accuracy is not None and self.tokens_each is not None:
            value, low, high = self.accuracy
            total = self.tokens_each * self.measured
            cost = "" if self.price == FREE else f", {self._money(total):,.2f} for output"
            said.append(
                f"In its study, these policies got {percent(value)} right ({points(low)} to {points(high)}) at "
                f"these caps, with {tokens(self.tokens_each)} on average. On this traffic that makes "
                f"{total:,.0f}{cost}; the server alone took {self.tokens:,}."
            )
            said.append(
                "This assumes that the requests are like the study's questions; "
                "`thinkcap serve --watch --shadow 1%` checks that."
            )
        if self.measured < self.requests:
            missing = self.requests - self.measured
            said.append(f"For {times(missing, 'request')} the profile does not say what its study measured.")
        if self.without_cap:
            said.append(f"{times(self.without_cap, 'request')} had no cap and are left out.")
        return said

    def _money(self, output: float) -> float:
        return float(self.price.of(fresh_input=0, cached_input=0, output=output))


def foreseen(arms: Iterable[Arm], profile: Profile, price: Price = FREE) -> tuple[Foreseen, ...]:
    groups: dict[str, list[Arm]] = {}
    for arm in arms:
        if "cap" in arm.extra and (arm.verdict == UNJUDGED).all() and arm.policy not in _OURS:
            groups.setdefault(arm.model, []).append(arm)
    found = [_foreseen(model, group, profile, price) for model, group in sorted(groups.items())]
    if not any(one.requests for one in found):
        raise DataError(
            "no request in this log has a cap, and a profile chooses by the cap; record traffic with "
            "`thinkcap serve --watch`"
        )
    return tuple(found)


def _foreseen(model: str, arms: list[Arm], profile: Profile, price: Price) -> Foreseen:
    caps = np.concatenate([arm.extra["cap"].astype(np.int64) for arm in arms])
    empty = np.concatenate([arm.extra["empty"].astype(np.int64) for arm in arms])
    spent = np.concatenate([np.zeros(a.n, dtype=np.int64) if a.tokens is None else a.tokens for a in arms])
    told, counts = np.unique(caps[caps > 0], return_counts=True)
    policies: Counter[str] = Counter()
    measured, took, sums = 0, 0, np.zeros(4)
    for cap, count in zip(told.tolist(), counts.tolist(), strict=True):
        rule = profile.rule(cap)
        label, evidence = _served(rule)
        policies[label] += count
        if evidence is not None:
            measured += count
            took += int(spent[caps == cap].sum())
            sums += count * np.asarray(evidence)
    value, low, high, each = (float(x) for x in sums / max(1, measured))
    return Foreseen(
        model,
        int(counts.sum()),
        int((caps <= 0).sum()),
        int(((empty == 1) & (caps > 0)).sum()),
        took,
        tuple(policies.most_common()),
        measured,
        (value, low, high) if measured else None,
        each if measured else None,
        price,
    )


def _served(rule: CapRule | None) -> tuple[str, tuple[float, float, float, float] | None]:
    """The policy of a request that declares no answer kind, and what was measured of it: accuracy with its
    interval, and tokens."""
    if rule is None:
        return "nothink", None
    if facts(rule.policy).needs_kind:
        return (rule.otherwise.label if rule.otherwise else "the default"), None
    known = [rule.evidence.get(name) for name in ("accuracy", "n", "tokens")]
    if not all(isinstance(x, (int, float)) and not isinstance(x, bool) and x >= 0 for x in known):
        return rule.policy.label, None
    accuracy, n, each = (float(x) for x in known if isinstance(x, (int, float)))
    if accuracy > 1 or n < 1:
        return rule.policy.label, None
    share = proportion(round(accuracy * n), int(n))
    return rule.policy.label, (accuracy, share.low or 0.0, share.high or 0.0, each)
