"""What a study taught about one model: which policy to use from which cap on. A TOML file people can edit.

    model = "Qwen/Qwen3-8B"

    [[cap]]
    at_least = 64
    policy = "nothink"

    [[cap]]
    at_least = 512
    policy = "iris(first=96)"
    otherwise = "close"          # for requests that declare no answer kind, where the policy needs one

Keys a study adds (does, accuracy, lower_bound, close_lower_bound, n, tokens, stages) say why; the gateway reads
only the three above.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from thinkcap.allocate.file import Allocation
from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest
from thinkcap.model import pebble_profile
from thinkcap.policies.registry import PolicySpec, facts, parse, wants_other

_TOP = ("model", "fingerprint", "prompts", "study", "level", "cap")
_ENTRY = ("at_least", "policy", "otherwise")
RIVAL = "close"
"""What the gateway does without a profile, where a cap leaves room to think: a profile must not be worse."""
_EVIDENCE = (
    *("does", "accuracy", "lower_bound", f"{RIVAL}_lower_bound", "otherwise_lower_bound"),
    *("n", "tokens", "stages"),
)


@dataclass(frozen=True)
class Rule:
    """From `at_least` tokens up to the next rule."""

    at_least: int
    policy: PolicySpec
    otherwise: PolicySpec | None = None
    evidence: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

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


@dataclass(frozen=True)
class Profile:
    model: str
    rules: tuple[Rule, ...]
    fingerprint: str = ""
    prompts: str = ""
    study: str = ""
    level: float = 0.95

    def __post_init__(self) -> None:
        caps = [rule.at_least for rule in self.rules]
        if caps != sorted(set(caps)):
            raise ConfigError(f"a profile's caps must grow from entry to entry, saw {caps}")

    def rule(self, cap: int) -> Rule | None:
        """The rule of the largest measured cap that is not above this one; None below them all."""
        found = None
        for rule in self.rules:
            if rule.at_least > cap:
                break
            found = rule
        return found

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
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as err:
            raise ConfigError(
                f"cannot read profile '{path}': {err.strerror}; make one with thinkcap calibrate"
            ) from err
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
            raise ConfigError(f"profile '{path}' is not TOML: {err}") from err
        try:
            found = cls.from_mapping(table)
            return replace(found, rules=tuple(_beside(rule, path.parent) for rule in found.rules))
        except ConfigError as err:
            raise ConfigError(f"profile '{path}': {err}") from err

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> Profile:
        for key in table:
            if key not in _TOP:
                raise ConfigError(f"unknown key '{key}'{nearest(key, _TOP)}")
        model = table.get("model")
        entries = table.get("cap")
        if not isinstance(model, str) or not isinstance(entries, Sequence) or isinstance(entries, str):
            raise ConfigError("wanted a text `model` and one or more tables [[cap]]")
        texts = {key: str(table[key]) for key in ("fingerprint", "prompts", "study") if key in table}
        return cls(model, tuple(_rule(entry) for entry in entries), level=float(table.get("level", 0.95)), **texts)

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
            tomli_w.dumps(top),
        ]
        for rule in self.rules:
            entry: dict[str, Any] = {"at_least": rule.at_least, "policy": rule.policy.label}
            if rule.otherwise is not None:
                entry["otherwise"] = rule.otherwise.label
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


def _beside(rule: Rule, folder: Path) -> Rule:
    """An allocation's file is named as seen from the profile, and must be there before the first request."""
    table = rule.policy.options.get("table")
    if table is None:
        return rule
    path = folder / str(table)
    Allocation.from_file(path)
    options = MappingProxyType({**rule.policy.options, "table": str(path)})
    return replace(rule, policy=replace(rule.policy, options=options))


def _rule(entry: Any) -> Rule:
    if not isinstance(entry, Mapping):
        raise ConfigError(f"[[cap]] must be a table, saw {entry!r}")
    for key in entry:
        if key not in (*_ENTRY, *_EVIDENCE):
            raise ConfigError(f"unknown key '{key}' in [[cap]]{nearest(key, (*_ENTRY, *_EVIDENCE))}")
    at_least, policy, otherwise = (entry.get(key) for key in _ENTRY)
    if isinstance(at_least, bool) or not isinstance(at_least, int) or at_least < 1:
        raise ConfigError(f"[[cap]] needs at_least, a number of tokens from 1 on; saw {at_least!r}")
    if not isinstance(policy, str) or not isinstance(otherwise, str | None):
        raise ConfigError(f"[[cap]] at_least = {at_least} needs a policy by name; saw {policy!r}, {otherwise!r}")
    evidence = {key: value for key, value in entry.items() if key in _EVIDENCE}
    return Rule(at_least, parse(policy), parse(otherwise) if otherwise else None, evidence)
