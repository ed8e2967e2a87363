"""Which policy answers a request: the caller's, the profile's for this cap, or the default that needs none.

The default: no thinking below `threshold` tokens, where a thought would leave no room; from there on `close`,
which keeps a share of the cap for the answer. A model that cannot be kept from thinking always gets `close`; one
that has no thinking mode of its own is asked nothing about it; a server that lets nobody begin the assistant's
turn gets `iris` in place of `close`.

    choice = choose(call, cap=512, card=engine.card, profile=None, threshold=256)
    choice.spec.label, choice.by                                     # 'close', 'default'
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from thinkcap.calibrate.profile import NEEDS_KIND, Profile
from thinkcap.core.engine import EngineCard
from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest
from thinkcap.gateway.refusal import Refusal
from thinkcap.gateway.wire import Call
from thinkcap.policies.registry import POLICIES, PolicySpec, parse, wants_other

By = Literal["request", "profile", "default", "tools", "media"]
SINGLE = frozenset({"nothink", "think"})
"""Policies of one call, which carry tools themselves."""
_MOST_CALLS = 64
_NOTHINK, _CLOSE, _IRIS = PolicySpec("nothink"), PolicySpec("close"), PolicySpec("iris")


@dataclass(frozen=True, slots=True)
class Choice:
    spec: PolicySpec
    by: By

    @property
    def label(self) -> str:
        """What a caller may know of it: where a table lies on this machine is nobody's business."""
        table = self.spec.options.get("table")
        if table is None:
            return self.spec.label
        options = MappingProxyType({**self.spec.options, "table": Path(str(table)).name})
        return replace(self.spec, options=options).label


def choose(
    call: Call, forced: str | None, cap: int, card: EngineCard, profile: Profile | None, threshold: int
) -> Choice:
    """`forced` is what stood after the `+` of the model's name."""
    if forced is not None or call.wishes.policy is not None:
        return Choice(_from_request(call, forced, cap), "request")
    if call.wishes.options:
        raise Refusal("thinkcap.options need thinkcap.policy", code="invalid_value", param="thinkcap")
    if call.nothink and "nothink" in card.modes:
        return Choice(_NOTHINK, "request")
    if call.asked.tools and "nothink" in card.modes:
        # Passes that think without knowing the tools would mislead the one that calls them.
        return Choice(_NOTHINK, "tools")
    if card.transport == "ids" and call.media and "nothink" in card.modes:
        # Token ids hold text only; one plain call goes to the server as it came.
        return Choice(_NOTHINK, "media")
    rule = profile.rule(cap) if profile else None
    if rule is not None:
        if rule.policy.name not in NEEDS_KIND or call.wishes.kind is not None:
            return Choice(rule.policy, "profile")
        if rule.otherwise is not None:
            return Choice(rule.otherwise, "profile")
    return Choice(_default(cap, card, threshold), "default")


def _default(cap: int, card: EngineCard, threshold: int) -> PolicySpec:
    if "nothink" not in card.modes:
        return _CLOSE
    if cap < threshold or card.switch == "prompt":
        return _NOTHINK
    return _CLOSE if card.prefills else _IRIS


def _from_request(call: Call, forced: str | None, cap: int) -> PolicySpec:
    word = forced if forced is not None else str(call.wishes.policy)
    if forced is not None and call.wishes.policy not in (None, forced):
        raise Refusal(
            f"the model's name asks for policy '{forced}', thinkcap.policy for '{call.wishes.policy}'; send one",
            code="invalid_value",
            param="thinkcap",
        )
    spec = _known(word)
    given = {**spec.options, **(call.wishes.options or {})}
    spec = PolicySpec(spec.name, MappingProxyType(_checked(spec.name, given, cap)))
    if spec.name in NEEDS_KIND and call.wishes.kind is None:
        raise Refusal(
            f"policy '{spec.name}' reads and compares answers; say how with thinkcap.kind (number, math or label)",
            code="kind_needed",
            param="thinkcap",
        )
    return spec


def _known(word: str) -> PolicySpec:
    """By a name of ours only: a request may not make the gateway import a module."""
    name = word.partition("(")[0].strip()
    if name not in POLICIES:
        raise Refusal(
            f"unknown policy '{name[:80]}'{nearest(name[:80], POLICIES)}", code="unknown_policy", param="thinkcap"
        )
    try:
        spec = parse(word)
    except ConfigError as err:
        raise Refusal(str(err), code="invalid_value", param="thinkcap") from err
    if wants_other(spec):
        raise Refusal(
            f"policy '{name}' needs a second question and serves studies only",
            code="unsupported",
            param="thinkcap",
        )
    return spec


def _checked(name: str, given: Mapping[str, Any], cap: int) -> dict[str, Any]:
    """Option values a stranger may send: of the right type, and small enough to be harmless."""
    known = _annotations(name)
    for key, value in given.items():
        if key not in known:
            raise Refusal(
                f"policy '{name}' has no option '{key[:80]}'{nearest(key[:80], known)}",
                code="invalid_value",
                param="thinkcap",
            )
        wanted = _wanted(key, known[key], value, cap)
        if wanted:
            raise Refusal(
                f"option '{key}' of policy '{name}' is {str(value)[:80]!r}; wanted {wanted}",
                code="invalid_value",
                param="thinkcap",
            )
    return dict(given)


def _wanted(key: str, annotation: str, value: Any, cap: int) -> str:
    """What would have been right; nothing where it is."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if annotation.startswith("int"):
        most = _MOST_CALLS if key in ("samples", "rounds", "at_least", "weight") else cap
        return (
            "" if number and isinstance(value, int) and 1 <= value <= most else f"a whole number from 1 to {most}"
        )
    if annotation == "float":
        most = 1 if key in ("share", "top_p") else 2
        return "" if number and 0 < value <= most else f"a number above 0, at most {most}"
    if annotation == "Mode":
        return "" if value in ("think", "nothink") else "think or nothink"
    if key == "pipeline":
        return "" if value in ("none", "heuristic", "projection") else "none, heuristic or projection"
    # The policy another one falls back to: by a plain name of ours.
    plain = isinstance(value, str) and value in POLICIES and not wants_other(PolicySpec(value))
    return "" if plain else "the name of a policy"


@lru_cache(maxsize=64)
def _annotations(name: str) -> Mapping[str, str]:
    bound = PolicySpec(name).bind()
    assert isinstance(bound, partial)
    found = list(inspect.signature(bound.func).parameters.values())[2:]
    kinds = {p.name: p.annotation if isinstance(p.annotation, str) else _said(p.annotation) for p in found}
    return {key: kind for key, kind in kinds.items() if kind not in ("Prompts", "Question")}


def _said(annotation: Any) -> str:
    if isinstance(annotation, type):
        return annotation.__name__
    return "Mode" if "nothink" in str(annotation) else str(annotation)
