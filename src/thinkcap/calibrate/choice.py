"""Which policy answers where nobody named one: the profile's for this cap, or the default that needs no study.

The default: no thinking below `threshold` tokens, where a thought would leave no room; from there on `close`,
which keeps a share of the cap for the answer. A model that cannot be kept from thinking always gets `close`; one
that has no thinking mode of its own is asked nothing about it; a server that cannot continue an assistant's
turn gets `iris` in place of `close`.

    found = chosen(512, None, engine.card, profile)
    found.spec.label, found.by, found.budget                         # 'close', 'default', 512
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from thinkcap.calibrate.profile import Profile
from thinkcap.core.engine import EngineCard
from thinkcap.core.types import Kind
from thinkcap.policies.registry import PolicySpec, facts

THRESHOLD = 256
_NOTHINK, _CLOSE, _IRIS = PolicySpec("nothink"), PolicySpec("close"), PolicySpec("iris")


class ServedPolicy(NamedTuple):
    spec: PolicySpec
    by: Literal["profile", "default"]
    budget: int
    """What it may spend: the cap, or less if the profile says that it was measured with less."""


def chosen(
    cap: int, kind: Kind | None, card: EngineCard, profile: Profile | None, threshold: int = THRESHOLD
) -> ServedPolicy:
    rule = profile.rule(cap) if profile else None
    if rule is not None:
        if kind is not None or not facts(rule.policy).needs_kind:
            return ServedPolicy(rule.policy, "profile", min(cap, rule.budget or cap))
        if rule.otherwise is not None:
            return ServedPolicy(rule.otherwise, "profile", min(cap, rule.otherwise_budget or cap))
    return ServedPolicy(_default(cap, card, threshold), "default", cap)


def _default(cap: int, card: EngineCard, threshold: int) -> PolicySpec:
    if "nothink" not in card.modes:
        return _CLOSE
    if cap < threshold or card.switch == "prompt":
        return _NOTHINK
    return _CLOSE if card.prefills else _IRIS
