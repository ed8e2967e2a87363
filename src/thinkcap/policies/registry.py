"""From a word such as `iris`, `town(first=64)` or `my.module:mine` to a policy ready to run.

>>> parse("town(first=64, second=128)").label
'town(first=64,second=128)'
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any

from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import Flow, Policy
from thinkcap.core.names import nearest, resolve
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import EMPTY, Question

POLICIES: Mapping[str, str] = MappingProxyType(
    {
        "nothink": "thinkcap.policies.nothink:nothink",
        "think": "thinkcap.policies.think:think",
        "think[heuristic]": "thinkcap.policies.think:think_heuristic",
        "think[projection]": "thinkcap.policies.think:think_projection",
        "close": "thinkcap.policies.close:close",
        "generous": "thinkcap.policies.close:generous",
        "split": "thinkcap.policies.split:split",
        "town": "thinkcap.policies.town:town",
        "town_plus": "thinkcap.policies.town:town_plus",
        "iris": "thinkcap.policies.iris:iris",
        "iris_plus": "thinkcap.policies.iris:iris_plus",
        "mrsd": "thinkcap.policies.mrsd:mrsd",
        "vote": "thinkcap.policies.vote:vote",
        "gate": "thinkcap.policies.gate:gate",
        "weighted_vote": "thinkcap.policies.weighted_vote:weighted_vote",
        "two_pass": "thinkcap.policies.controls:two_pass",
        "no_trace": "thinkcap.policies.controls:no_trace",
        "placebo": "thinkcap.policies.controls:placebo",
        "stop": "thinkcap.policies.stop:stop",
        "auto": "thinkcap.policies.auto:auto",
    }
)

ADAPTIVE = frozenset({"mrsd"})
"""Policies whose later requests depend on the budget through an earlier answer: no row is `derived`."""


@dataclass(frozen=True)
class PolicySpec:
    """A policy by name with its options."""

    name: str
    options: Mapping[str, Any] = EMPTY

    @property
    def label(self) -> str:
        inside = ",".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.name}({inside})" if inside else self.name

    def bind(self, prompts: Prompts = PROMPTS, other: Question | None = None) -> Policy:
        """The policy with its options and, where it takes them, the prompts and another question."""
        function = _function(self.name)
        _check(self)
        known = _options(self.name)
        given: dict[str, Any] = dict(self.options)
        if "prompts" in known:
            given.setdefault("prompts", prompts)
        if wants_other(self):
            if other is None:
                raise ConfigError(f"policy '{self.name}' needs a second question; run it in a study")
            given["other"] = other
        return partial(function, **given)


def wants_other(spec: PolicySpec) -> bool:
    return _options(spec.name).get("other") == "Question"


def policy(word: str, prompts: Prompts = PROMPTS) -> Policy:
    return parse(word).bind(prompts)


_SPEC = re.compile(r"(?P<name>[^()]+?)\s*(?:\((?P<options>.*)\))?\s*", re.DOTALL)


def parse(word: str) -> PolicySpec:
    match = _SPEC.fullmatch(word.strip())
    if not match:
        raise ConfigError(f"cannot read policy '{word}'; wanted a name such as iris or iris(first=64,answer=32)")
    options: dict[str, Any] = {}
    for part in (match["options"] or "").split(","):
        if not part.strip():
            continue
        key, equals, value = part.partition("=")
        if not equals:
            raise ConfigError(f"cannot read '{part.strip()}' in policy '{word}'; wanted option=value")
        options[key.strip()] = _value(value.strip())
    spec = PolicySpec(match["name"], MappingProxyType(options))
    _check(spec)
    return spec


def _check(spec: PolicySpec) -> None:
    """Refuses options the policy does not take, and values it would only stumble over once it runs."""
    known = {key: kind for key, kind in _options(spec.name).items() if kind not in _OURS}
    for key, value in spec.options.items():
        if key not in known:
            raise ConfigError(f"policy '{spec.name}' has no option '{key}'{nearest(key, known)}")
        kind = known[key].removesuffix(" | None")
        # Kinds of a stranger's policy beyond these are its own affair.
        wanted, fits = _KINDS.get(kind, ("", lambda _: True))
        if not fits(value):
            raise ConfigError(f"policy '{spec.name}': option '{key}' must be {wanted}, saw '{value}'")


_OURS = frozenset({"Prompts", "Question"})
"""What a study hands to a policy; not for a person to write."""
_KINDS: Mapping[str, tuple[str, Callable[[Any], bool]]] = MappingProxyType(
    {
        "int": ("a whole number of at least 0", lambda v: type(v) is int and v >= 0),
        "float": ("a number", lambda v: type(v) in (int, float) and math.isfinite(v)),
        "bool": ("true or false", lambda v: type(v) is bool),
        "str": ("a word", lambda v: isinstance(v, str)),
    }
)


def parse_list(text: str) -> list[PolicySpec]:
    """`a,b(c=1,d=2)` or `all`: commas inside parentheses belong to the options."""
    if text.strip() == "all":
        return [PolicySpec(name) for name in POLICIES]
    words = [w.strip() for w in re.split(r",(?![^()]*\))", text)]
    specs = [parse(word) for word in words if word]
    if not specs:
        raise ConfigError("no policy named; wanted for instance --policy nothink,think,iris or --policy all")
    return specs


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)


@lru_cache(maxsize=128)
def _function(name: str) -> Any:
    function = resolve(name, POLICIES, "policy")
    if not callable(function):
        raise ConfigError(f"policy '{name}' is not callable; wanted a function (question, cap) -> flow")
    return function


@lru_cache(maxsize=128)
def _options(name: str) -> Mapping[str, str]:
    """Option names with their annotations, as written."""
    parameters = list(inspect.signature(_function(name)).parameters.values())
    if len(parameters) < 2:
        raise ConfigError(f"policy '{name}' must take a question and a cap; see 'write your own policy'")
    return {p.name: _annotation(p) for p in parameters[2:]}


def _annotation(parameter: inspect.Parameter) -> str:
    kind = parameter.annotation
    return kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))


__all__ = ["ADAPTIVE", "POLICIES", "Flow", "PolicySpec", "parse", "parse_list", "policy"]
