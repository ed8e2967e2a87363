"""How much of a cap a thought may take: a number of tokens, or an effort, which is a share of the cap.

limit(call, cap=1000)                    # 500 for an effort of medium, 200 for a budget of 200
"""

from __future__ import annotations

from collections.abc import Mapping
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


def limit(call: Call, cap: int) -> int | None:
    """Most tokens of a thought under this cap, an answer's room left; None where nobody set any."""
    share = SHARES.get(call.effort) if call.effort else None
    if call.thought is None and share is None:
        return None
    # As much as the policy `close` keeps for an answer.
    kept = min(max(32, cap // 8), max(1, cap // 2))
    most = [cap - kept]
    if call.thought is not None:
        most.append(call.thought)
    if share is not None:
        most.append(max(1, int(cap * share)))
    return min(most)


def bounded(tokens: int, cap: int, card: EngineCard) -> PolicySpec:
    """The policy whose thought ends after so many tokens and whose answer has the rest of the cap."""
    if tokens < 1:
        return PolicySpec("nothink") if "nothink" in card.modes else PolicySpec("close")
    if card.prefills or "nothink" not in card.modes:
        return PolicySpec("close", MappingProxyType({"reserve": cap - tokens}))
    return PolicySpec("split", MappingProxyType({"think": tokens, "answer": cap - tokens}))
