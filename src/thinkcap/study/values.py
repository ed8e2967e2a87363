"""The values of a study file that have a notation of their own: budgets, policies, names, seeds, prices.

>>> parse_budgets("64:128:32")
(64, 96, 128)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta

from thinkcap.core.errors import ConfigError
from thinkcap.core.prompts import Prompts
from thinkcap.core.types import EMPTY
from thinkcap.policies.registry import PolicySpec, parse_list
from thinkcap.settings import Read

Money = Annotated[float, Meta(ge=0, le=1e9)]


@dataclass(frozen=True)
class Price:
    """Money per million tokens."""

    input: Money = 0.0
    cached: Money = 0.0
    output: Money = 0.0

    def of(self, *, fresh_input: float, cached_input: float, output: float) -> float:
        return (fresh_input * self.input + cached_input * self.cached + output * self.output) / 1e6


FREE = Price()


@dataclass(frozen=True)
class PolicyPlan:
    """A policy with budgets of its own, or the study's where it has none."""

    spec: PolicySpec
    budgets: tuple[int, ...] = ()


_RANGE = re.compile(r"(\d+):(\d+):(\d+)")


def parse_budgets(text: str) -> tuple[int, ...]:
    """`64,128,256` or `64:1024:64` (from, to, step), or both mixed; sorted, without repeats."""
    budgets: set[int] = set()
    for part in (p.strip() for p in text.split(",")):
        if span := _RANGE.fullmatch(part):
            low, high, step = map(int, span.groups())
            if step == 0 or low > high:
                raise ConfigError(f"cannot read budgets '{part}'; wanted from:to:step such as 64:1024:64")
            budgets.update(range(low, high + 1, step))
        elif part.isdecimal():
            budgets.add(int(part))
        else:
            raise ConfigError(
                f"cannot read budgets '{text}' at '{part}'; wanted whole numbers, 64,128,256 or 64:1024:64"
            )
    if not budgets or min(budgets) < 1:
        raise ConfigError(f"budgets must be at least 1 token, saw '{text}'")
    return tuple(sorted(budgets))


def _budgets(value: Any) -> tuple[int, ...]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return parse_budgets(",".join(str(v) for v in value))
    return parse_budgets(str(value))


def policy_plans(value: Any) -> tuple[PolicyPlan, ...]:
    if isinstance(value, str):
        return tuple(PolicyPlan(spec) for spec in parse_list(value))
    if not isinstance(value, Sequence):
        raise ConfigError(f"wanted names or tables of policies, saw {type(value).__name__}")
    plans = []
    for entry in value:
        if isinstance(entry, PolicyPlan):
            plans.append(entry)
        elif isinstance(entry, str):
            plans += [PolicyPlan(spec) for spec in parse_list(entry)]
        elif isinstance(entry, Mapping) and isinstance(entry.get("name"), str):
            spec = PolicySpec.from_table({k: v for k, v in entry.items() if k != "budgets"})
            plans.append(PolicyPlan(spec, _budgets(entry["budgets"]) if "budgets" in entry else ()))
        else:
            raise ConfigError(f"cannot read policy {entry!r}; wanted a name or a table with a 'name'")
    return tuple(plans)


def _words(value: Any) -> tuple[str, ...]:
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, Sequence) or not words or not all(isinstance(w, str) and w.strip() for w in words):
        raise ConfigError(f"wanted one or more names, saw {value!r}")
    return tuple(w.strip() for w in words)


def _seeds(value: Any) -> tuple[int, ...]:
    parts = str(value).split(",") if isinstance(value, str | int) else value
    try:
        seeds = tuple(int(p) for p in parts)
    except (TypeError, ValueError):
        raise ConfigError(f"wanted whole numbers such as 1,2,3, saw {value!r}") from None
    if not seeds or len(set(seeds)) != len(seeds):
        raise ConfigError(f"wanted different seeds, saw {value!r}")
    return seeds


def _prompts(value: Any) -> Prompts:
    return value if isinstance(value, Prompts) else Prompts.from_mapping(value or EMPTY)


Budgets = Annotated[tuple[int, ...], Read(_budgets)]
Names = Annotated[tuple[str, ...], Read(_words)]
Seeds = Annotated[tuple[int, ...], Read(_seeds)]
Plans = Annotated[tuple[PolicyPlan, ...], Read(policy_plans)]
Texts = Annotated[Prompts, Read(_prompts)]
QuestionCount = Annotated[int, Meta(ge=0, description="a number of questions")]
