"""Which policy answers where nobody named one: the profile's for this cap, or the default that needs no study.

The default: no thinking below `threshold` tokens, where a thought would leave no room; from there on `close`,
which keeps a share of the cap for the answer. A model that cannot be kept from thinking always gets `close`; one
that has no thinking mode of its own is asked nothing about it; a server that cannot continue an assistant's
turn gets `iris` in place of `close`.

    spec, by = chosen(512, None, engine.card, profile)
    spec.label, by                                                   # 'close', 'default'
"""

from __future__ import annotations

from typing import Literal

from thinkcap.calibrate.profile import Profile
from thinkcap.core.engine import EngineCard
from thinkcap.core.types import Kind
from thinkcap.policies.registry import PolicySpec, facts

THRESHOLD = 256
_NOTHINK, _CLOSE, _IRIS = PolicySpec("nothink"), PolicySpec("close"), PolicySpec("iris")


def chosen(
    cap: int, kind: Kind | None, card: EngineCard, profile: Profile | None, threshold: int = THRESHOLD
) -> tuple[PolicySpec, Literal["profile", "default"]]:
    rule = profile.rule(cap) if profile else None
    if rule is not None:
        if kind is not None or not facts(rule.policy).needs_kind:
            return rule.policy, "profile"
        if rule.otherwise is not None:
            return rule.otherwise, "profile"
    return _default(cap, card, threshold), "default"


def _default(cap: int, card: EngineCard, threshold: int) -> PolicySpec:
    if "nothink" not in card.modes:
        return _CLOSE
    if cap < threshold or card.switch == "prompt":
        return _NOTHINK
    return _CLOSE if card.prefills else _IRIS
