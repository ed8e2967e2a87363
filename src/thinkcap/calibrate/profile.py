"""What a study taught about one model: which policy to use from which cap on. A TOML file people can edit.

    model = "Qwen/Qwen3-8B"

    [[cap]]
    at_least = 64
    policy = "nothink"

    [[cap]]
    at_least = 512
    policy = "iris(first=96)"
    otherwise = "close"          # for requests that declare no answer kind, where the policy needs one

    [[cap]]
    at_least = 768
    policy = "split"
    budget = 512                 # the policy was measured with 512 tokens and spends at most these

`otherwise_budget` is the same for `otherwise`. Keys a study adds (does, accuracy, lower_bound, close_lower_bound,
n, tokens, stages) give its reasons; the gateway ignores them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from msgspec import Meta

from thinkcap.allocate.file import Allocation
from thinkcap.core.errors import ConfigError
from thinkcap.core.types import EMPTY
from thinkcap.model import pebble_profile
from thinkcap.policies.registry import PolicySpec, facts, parse, wants_other
from thinkcap.settings import Read, Text, inside, load, table_of

RIVAL = "close"
"""What the gateway does without a profile, where a cap leaves room to think: a profile must not be worse."""


def _policy(value: Any) -> PolicySpec:
    if not isinstance(value, str):
        raise ConfigError(f"wanted a policy by name, saw {value!r}")
    return parse(value)


ByName = Annotated[PolicySpec, Read(_policy, "a policy by name")]
_Budget = Annotated[int, Meta(ge=1, description="a number of tokens")]
_REASONS = (
    *("does", "accuracy", "lower_bound", f"{RIVAL}_lower_bound", "otherwise_lower_bound", "n", "tokens", "stages"),
)
"""Keys of an entry that a study adds. They may be edited, so they may be anything."""


@dataclass(frozen=True)
class CapRule:
    """From `at_least` tokens up to the next rule."""

    at_least: Annotated[int, Meta(ge=1, description="a number of tokens")]
    policy: ByName
    otherwise: ByName | None = None
    budget: _Budget | None = None
    """Most tokens that the policy may spend if the cap is larger: the budget it was measured with."""
    otherwise_budget: _Budget | None = None
    evidence: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        for spec in (self.policy, self.otherwise):
            if spec is not None and wants_other(spec):
                raise ConfigError(
                    f"policy '{spec.name}' needs a second question; it serves studies, not a gateway"
                )
        if self.otherwise is not None and facts(self.otherwise).needs_kind:
            raise ConfigError(
                f"otherwise = '{self.otherwise.label}' needs an answer kind itself; wanted one that does not"
            )
        if self.otherwise is None and self.otherwise_budget is not None:
            raise ConfigError(
                f"otherwise_budget = {self.otherwise_budget} needs a policy; add `otherwise`, or leave it out"
            )


def _entries(value: Any) -> tuple[CapRule, ...]:
    """The [[cap]] tables of a file."""
    if not isinstance(value, Sequence) or not all(isinstance(entry, Mapping) for entry in value):
        raise ConfigError(f"wanted [[cap]] tables, saw {value!r}")
    rules = []
    for entry in value:
        with inside(f"at_least = {entry.get('at_least')}"):
            plain = {key: given for key, given in entry.items() if key not in _REASONS}
            reasons = {key: given for key, given in entry.items() if key in _REASONS}
            rules.append(load(CapRule, plain | {"evidence": reasons}))
    return tuple(rules)


@dataclass(frozen=True)
class Profile:
    model: Text
    cap: Annotated[tuple[CapRule, ...], Read(_entries, "[[cap]] tables")]
    fingerprint: str = ""
    prompts: str = ""
    study: str = ""
    level: Annotated[float, Meta(gt=0, lt=1)] = 0.95

    @property
    def rules(self) -> tuple[CapRule, ...]:
        return self.cap

    def __post_init__(self) -> None:
        caps = [rule.at_least for rule in self.rules]
        if caps != sorted(set(caps)):
            raise ConfigError(f"a profile's caps must grow from entry to entry, saw {caps}")

    def rule(self, cap: int) -> CapRule | None:
        """The rule of the largest measured cap that is not above this one; None below them all."""
        return next((rule for rule in reversed(self.rules) if rule.at_least <= cap), None)

    def doubts(self) -> tuple[str, ...]:
        """Where this profile may be worse than none, a sentence each."""
        found = []
        silent = {
            spec.label
            for rule in self.rules
            for spec in (rule.policy, rule.otherwise)
            if spec is not None and facts(spec).may_be_empty
        }
        if silent:
            found.append(f"{', '.join(sorted(silent))} can use up the cap without an answer; such requests fail")
        unknown = [
            rule.at_least
            for rule in self.rules
            if "n" in rule.evidence and "does" not in rule.evidence and f"{RIVAL}_lower_bound" not in rule.evidence
        ]
        if unknown:
            caps = ", ".join(map(str, unknown))
            found.append(
                f"the study did not measure {RIVAL}, which needs no profile, at caps {caps}; there this profile "
                f"may be worse than none. Add --policy {RIVAL} to the study and calibrate again"
            )
        return tuple(found)

    @classmethod
    def from_file(cls, path: Path) -> Profile:
        table = table_of(path, "profile", "make one with thinkcap calibrate")
        with inside(f"profile '{path}'"):
            found = cls.from_mapping(table)
            return replace(found, cap=tuple(_beside(rule, path.parent) for rule in found.rules))

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> Profile:
        return load(cls, table)

    def to_toml(self) -> str:
        """With a line of reason above every entry; `from_mapping` reads it back."""
        import tomli_w

        top = {
            name: value
            for name in ("model", "fingerprint", "prompts", "study", "level")
            if (value := getattr(self, name))
        }
        lines = [
            "# Which policy the gateway uses from which cap on; edit freely.",
            "# A cap between two entries takes the lower one's policy; below the first, no thinking.",
            "# A policy with a `budget` spends at most that: it did best with fewer tokens than the cap allows.",
            tomli_w.dumps(top),
        ]
        for rule in self.rules:
            entry: dict[str, Any] = {"at_least": rule.at_least, "policy": rule.policy.label}
            if rule.budget is not None:
                entry["budget"] = rule.budget
            if rule.otherwise is not None:
                entry["otherwise"] = rule.otherwise.label
            if rule.otherwise_budget is not None:
                entry["otherwise_budget"] = rule.otherwise_budget
            stages = rule.evidence.get("stages", {})
            plain = {key: value for key, value in rule.evidence.items() if key != "stages"}
            lines += ["[[cap]]", tomli_w.dumps({**entry, **plain}).rstrip("\n")]
            if stages:
                # On one line: a table of its own would hide where the entry ends.
                inside = ", ".join(f"{json.dumps(stage)} = {budget}" for stage, budget in stages.items())
                lines.append(f"stages = {{ {inside} }}")
            lines.append("")
        return "\n".join(lines)


def profile_of(model: str, file: Path | None = None) -> Profile | None:
    """The profile in this file; else the one that comes with the model, if it is the bundled one."""
    if file is None and model == "bundled":
        file = pebble_profile()
    return Profile.from_file(file) if file else None


def _beside(rule: CapRule, folder: Path) -> CapRule:
    """An allocation's file is named as seen from the profile, and must be there before the first request."""
    table = rule.policy.options.get("table")
    if table is None:
        return rule
    path = folder / str(table)
    Allocation.from_file(path)
    options = MappingProxyType({**rule.policy.options, "table": str(path)})
    return replace(rule, policy=replace(rule.policy, options=options))
