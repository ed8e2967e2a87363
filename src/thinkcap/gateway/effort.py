"""How much of a cap a thought may take: a number of tokens, or an effort, which is a share of the cap.

limit(call, cap=1000)                    # 500 for an effort of medium, 200 for a budget of 200
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from thinkcap.core.engine import EngineCard
from thinkcap.gateway.call import Call, Effort
from thinkcap.policies.registry import PolicySpec

SHARES: Mapping[Effort, float] = {
    "minimal": 1 / 16,
    "low": 1 / 4,
    "medium": 1 / 2,
    "high": 3 / 4,
    "xhigh": 7 / 8,
    "max": 1.0,
}
"""More effort never allows fewer tokens."""

_CLOSE = PolicySpec("close")
_LONG = 1024
"""Tokens from which a thought may be worth watching."""


def _kept(cap: int) -> int:
    """As much as the policy `close` keeps for an answer."""
    return min(max(32, cap // 8), max(1, cap // 2))


def limit(call: Call, cap: int, levels: Sequence[str] = (), share: float | None = None) -> int | None:
    """Most tokens of a thought under this cap, an answer's room left; None where nobody set any.

    An effort is a share of the cap where the model has no `levels` of its own. `share` is what a thought may take
    where the caller does not say.
    """
    kept = call.wishes.answer_tokens
    wanted = None if levels or call.effort is None else SHARES.get(call.effort)
    if call.effort is None and call.thought is None:
        wanted = share
    if call.thought is None and call.effort is None and wanted is None and kept is None:
        return None
    most = [cap - (kept if kept is not None else _kept(cap))]
    if call.thought is not None:
        most.append(call.thought)
    if wanted is not None:
        most.append(max(1, int(cap * wanted)))
    return max(0, min(most))


def level(effort: Effort | None, levels: Sequence[str]) -> str:
    """The model's own level for an effort: of the same name, else as far up its scale; none where it has none."""
    if effort is None or not levels:
        return ""
    if effort in levels:
        return effort
    place = tuple(SHARES).index(effort) / (len(SHARES) - 1)
    return levels[round(place * (len(levels) - 1))]


def watched(spec: PolicySpec, cap: int, card: EngineCard) -> PolicySpec:
    """A long thought is looked at on its way and ended where it repeats itself; by ids that costs no token."""
    if spec.name != _CLOSE.name or card.transport != "ids" or spec.options.keys() - {"reserve"}:
        return spec
    kept = int(spec.options.get("reserve") or _kept(cap))
    return PolicySpec("stop", MappingProxyType({"answer": kept})) if cap - kept > _LONG else spec


def bounded(tokens: int | None, cap: int, card: EngineCard, effort: Effort | None = None) -> PolicySpec:
    """The policy whose thought ends after this many tokens and whose answer gets the rest of the cap."""
    if not tokens:
        return PolicySpec("nothink") if "nothink" in card.modes else _CLOSE
    if card.prefills or "nothink" not in card.modes:
        own = level(effort, card.levels)
        return PolicySpec(
            _CLOSE.name, MappingProxyType({"reserve": cap - tokens, **({"effort": own} if own else {})})
        )
    return PolicySpec("split", MappingProxyType({"think": tokens, "answer": cap - tokens}))
