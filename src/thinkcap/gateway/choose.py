"""Which policy answers a request: the caller's, or what `thinkcap.calibrate.choice` says for this cap.

choice = choose(call, cap=512, card=engine.card, profile=None, threshold=256)
choice.spec.label, choice.by                                     # 'close', 'default'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from thinkcap.calibrate.choice import chosen
from thinkcap.calibrate.profile import Profile
from thinkcap.core.engine import EngineCard
from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest
from thinkcap.core.types import EMPTY
from thinkcap.gateway.call import Call
from thinkcap.gateway.effort import bounded, limit, watched
from thinkcap.gateway.refusal import Refusal
from thinkcap.policies.registry import (
    POLICIES,
    PolicySpec,
    as_spec,
    check,
    defaults_of,
    facts,
    options_of,
    wants_other,
)
from thinkcap.policies.stop import WAYS
from thinkcap.policies.syntax import read
from thinkcap.policies.think import PIPELINES

By = Literal["request", "profile", "default", "tools", "media"]
_MOST_CALLS = 64
_LONGEST_TEXT = 500
_NOTHINK, _THINK = PolicySpec("nothink"), PolicySpec("think")


@dataclass(frozen=True, slots=True)
class Choice:
    spec: PolicySpec
    by: By
    held_by: str = ""
    """With tools: what holds the thought, `ids`, a server's own field, `nothing`, or `off` where there is none."""
    budget: Mapping[str, int] = EMPTY
    """What bounds the thought by the server's own field."""
    most: int | None = None
    """Most tokens the policy may spend, if its profile measured it with fewer than the cap."""

    def limit_cap(self, cap: int) -> int:
        return cap if self.most is None else min(cap, self.most)

    @property
    def label(self) -> str:
        """What a caller may know of it: not where a table is on this machine."""
        return _public(self.spec).label if self.spec.options else self.spec.name


def calls_at_once(spec: PolicySpec) -> int:
    """How many calls it has under way at its busiest: its samples, or those of a policy inside it."""
    if not spec.options:
        return int(defaults_of(spec.name).get("samples") or 1)
    known = options_of(spec.name)
    options = {**defaults_of(spec.name), **spec.options}
    inside = [calls_at_once(as_spec(v)) for key, v in spec.options.items() if known.get(key) == "policy"]
    return max(int(options.get("samples") or 1), *inside, 1)


def _public(spec: PolicySpec) -> PolicySpec:
    def shown(key: str, value: Any) -> Any:
        if isinstance(value, PolicySpec):
            return _public(value)
        return Path(str(value)).name if key == "table" else value

    return PolicySpec(spec.name, MappingProxyType({k: shown(k, v) for k, v in spec.options.items()}))


def choose(
    call: Call,
    forced: str | None,
    cap: int,
    card: EngineCard,
    profile: Profile | None,
    threshold: int,
    budget_field: str = "",
) -> Choice:
    """`forced` is what stood after the `+` of the model's name, `budget_field` how the server bounds a thought."""
    if forced is not None or call.wishes.policy is not None:
        if call.thought is not None:
            raise Refusal(
                f"policy '{(forced or str(call.wishes.policy))[:80]}' shares out the cap itself, and a budget for "
                f"the thought was sent too; send only one of them",
                code="invalid_value",
                param="thinkcap",
            )
        return Choice(_from_request(call, forced, cap), "request")
    if call.wishes.options:
        raise Refusal("thinkcap.options need thinkcap.policy", code="invalid_value", param="thinkcap")
    if call.nothink and "nothink" in card.modes:
        return Choice(_NOTHINK, "request")
    if call.tools:
        return _with_tools(
            call, cap, card, chosen(cap, call.wishes.kind, card, profile, threshold)[0], budget_field
        )
    if card.transport == "ids" and call.media and "nothink" in card.modes:
        # Token ids hold text only; one plain call goes to the server as it came.
        return Choice(_NOTHINK, "media")
    spec, by, budget = chosen(cap, call.wishes.kind, card, profile, threshold)
    tokens = limit(call, cap, card.levels)
    if tokens is None or card.switch == "prompt" or (spec.name == "nothink" and call.thought is None):
        # An effort is the most a thought may take, no wish to think where the cap has no room for it.
        return Choice(watched(spec, cap, card), by) if by == "default" else Choice(spec, by, most=budget)
    return Choice(watched(bounded(tokens, cap, card, call.effort), cap, card), "request")


def _with_tools(call: Call, cap: int, card: EngineCard, spec: PolicySpec, budget_field: str) -> Choice:
    """Thought and call in one turn, as models learn it: the call has what the thought leaves of the cap."""
    always = "nothink" not in card.modes
    if not always and (card.switch == "prompt" or (spec.name == "nothink" and call.thought is None)):
        return Choice(_NOTHINK, "tools", "off")
    tokens = limit(call, cap, card.levels, share=1 / 2)
    if card.transport == "ids" and card.tools:
        return Choice(watched(bounded(tokens, cap, card, call.effort), cap, card), "tools", "ids")
    if budget_field and tokens:
        return Choice(_THINK, "tools", budget_field, MappingProxyType({budget_field: tokens}))
    return Choice(_THINK, "tools", "nothing") if always else Choice(_NOTHINK, "tools", "off")


def _from_request(call: Call, forced: str | None, cap: int) -> PolicySpec:
    word = forced if forced is not None else str(call.wishes.policy)
    if forced is not None and call.wishes.policy not in (None, forced):
        raise Refusal(
            f"the model's name asks for policy '{forced}' and thinkcap.policy for '{call.wishes.policy}'; send "
            f"only one of them",
            code="invalid_value",
            param="thinkcap",
        )
    spec = _bounded(_known(word, call.wishes.options or {}), cap)
    if facts(spec).needs_kind and call.wishes.kind is None:
        raise Refusal(
            f"policy '{spec.name}' reads and compares answers; set their kind with thinkcap.kind "
            f"(number, math, label or text)",
            code="kind_needed",
            param="thinkcap",
        )
    return spec


def _known(word: str, more: Mapping[str, Any]) -> PolicySpec:
    """Read without looking anything up: a request may name our own policies only, and import nothing."""
    try:
        written: PolicySpec = read(word, PolicySpec)
        written = PolicySpec(written.name, MappingProxyType({**written.options, **more}))
        _ours(written)
        spec = check(written)
    except ConfigError as err:
        raise Refusal(str(err), code="invalid_value", param="thinkcap") from err
    if wants_other(spec):
        raise Refusal(
            f"policy '{spec.label[:80]}' needs a second question and serves studies only",
            code="unsupported",
            param="thinkcap",
        )
    return spec


def _ours(spec: PolicySpec) -> None:
    """Every name that might be a policy is one of thinkcap's own, at any depth."""
    if spec.name not in POLICIES:
        seen = spec.name[:80]
        raise Refusal(f"unknown policy '{seen}'{nearest(seen, POLICIES)}", code="unknown_policy", param="thinkcap")
    for key, value in spec.options.items():
        if isinstance(value, PolicySpec):
            _ours(value)
        elif isinstance(value, str) and options_of(spec.name).get(key) == "policy":
            _ours(read(value, PolicySpec))


def _bounded(spec: PolicySpec, cap: int) -> PolicySpec:
    """Option values a stranger may send: of the right type, and small enough to be harmless."""
    known = options_of(spec.name)
    for key, value in spec.options.items():
        if isinstance(value, PolicySpec):
            _bounded(value, cap)
        elif wanted := _wanted(key, known[key], value, cap):
            raise Refusal(
                f"option '{key}' of policy '{spec.name}' is {str(value)[:80]!r}; wanted {wanted}",
                code="invalid_value",
                param="thinkcap",
            )
    return spec


def _wanted(key: str, kind: str, value: Any, cap: int) -> str:
    """What would have been right; nothing where it is. Types are checked already."""
    if kind == "int":
        most = _MOST_CALLS if key in ("samples", "rounds", "at_least", "weight") else cap
        return "" if 1 <= value <= most else f"a whole number from 1 to {most}"
    if kind == "float":
        most = 1 if key in ("share", "top_p") else 2
        return "" if 0 < value <= most else f"a number above 0, at most {most}"
    if key == "pipeline":
        return "" if value in PIPELINES else f"one of {', '.join(PIPELINES)}"
    if key == "how":
        return "" if value in WAYS else f"one of {', '.join(WAYS)}"
    if key == "table":
        return "nothing: a request names no files"
    if kind == "str":
        return "" if len(value) <= _LONGEST_TEXT else f"a text of at most {_LONGEST_TEXT} characters"
    return ""
