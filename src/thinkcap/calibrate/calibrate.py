"""From a finished study to a profile: a policy for every cap that was measured.

Runs meet in `diagnose/pairs`, here as everywhere: a policy that a comparison of the study shows to be clearly
worse than another at its cap is out. Of the rest the one whose accuracy has the best lower bound wins, not the one
with the best accuracy: among many policies on few questions the best-looking one is often lucky. Equal bounds go
to the policy that spends less.

A policy that the cap can leave without an answer is no candidate. Where nothing is left to weigh against answering
at once, the study cannot say whether thinking pays, and the cap gets no rule: the gateway's default serves it.

    profile = calibrate(Path("runs/mine"))
    Path("profile.toml").write_text(profile.to_toml())
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from thinkcap.allocate.file import Allocation
from thinkcap.calibrate.profile import RIVAL, CapRule, Profile
from thinkcap.core.errors import ConfigError, DataError
from thinkcap.core.names import nearest
from thinkcap.diagnose.pairs import Comparison, compare
from thinkcap.diagnose.runs import configurations
from thinkcap.diagnose.summary import load_summary
from thinkcap.logs import Arm, read
from thinkcap.policies.registry import PolicySpec, facts, parse, wants_other
from thinkcap.statistics.arrays import distinct
from thinkcap.statistics.clusters import repeated
from thinkcap.statistics.precision import accuracy
from thinkcap.study.columns import MOST_BYTES


@dataclass(frozen=True)
class _Way:
    """One policy at one cap, over all tasks and seeds."""

    spec: PolicySpec
    arms: Sequence[Arm]
    level: float

    @property
    def name(self) -> str:
        return self.arms[0].name

    @property
    def n(self) -> int:
        return sum(arm.n for arm in self.arms)

    @property
    def tokens(self) -> float:
        return sum(int(arm.lengths.sum()) for arm in self.arms) / self.n

    @property
    def right(self) -> int:
        return sum(int(arm.right.sum()) for arm in self.arms)

    @property
    def low(self) -> float:
        """Of all tasks together; answers of several seeds to one question stay together."""
        right = np.concatenate([arm.right for arm in self.arms])
        codes = [np.full(arm.n, at, dtype=np.int64) for at, arm in enumerate(self.arms)]
        asked = distinct([np.concatenate(codes), np.concatenate([arm.question for arm in self.arms])])[1]
        return accuracy(right, repeated(asked), self.level).low or 0.0

    def evidence(self) -> dict[str, Any]:
        stages = max((arm.stages for arm in self.arms), key=lambda s: s.told)
        budgets = {"probe": stages.first, "think": stages.think, "answer": stages.answer}
        granted = {stage: budget for stage, budget in budgets.items() if budget}
        return {
            "accuracy": round(self.right / self.n, 4),
            "lower_bound": round(self.low, 4),
            "n": self.n,
            "tokens": round(self.tokens, 1),
            # Write one of these into the policy to fix it; a vote has none.
            **({"stages": granted} if granted else {}),
        }


def calibrate(folder: Path, *, tasks: Sequence[str] = (), level: float = 0.95) -> Profile:
    """`tasks` narrows to questions like those the gateway will see; none means all of the study."""
    if not 0.5 <= level < 1:
        raise ConfigError(f"level is {level}; wanted a confidence from 0.5 to below 1, such as 0.95")
    summary = load_summary(folder)
    found = configurations(read([folder], memory=MOST_BYTES).arms)
    known = sorted({configuration.arm.task for configuration in found})
    for task in tasks:
        if task not in known:
            raise ConfigError(f"the study has no task '{task}'{nearest(task, known)}")
    # One family, that of the whole study, whatever part of it is asked for: so every p is the one diagnose prints.
    made = [c for c in compare(found).made if c.clear and c.task in (tasks or known)]
    caps: dict[int, dict[str, list[Arm]]] = {}
    for arm in (configuration.arm for configuration in found):
        if arm.budget is not None and arm.task in (tasks or known) and _servable(parse(arm.method)):
            caps.setdefault(arm.budget, {}).setdefault(arm.method, []).append(arm)
    rules = []
    for cap, arms in sorted(caps.items()):
        ways = [_Way(parse(method), same, level) for method, same in arms.items()]
        if any(facts(way.spec).then for way in ways):
            rules.append(_rule(cap, ways, made))
    if not rules:
        raise DataError(
            f"'{folder}' measured no policy that thinks and is sure to answer, so it cannot say when thinking "
            f"pays; run the study with --policy nothink,think,close,split"
        )
    return _profile(rules, summary, folder, level)


def calibrate_auto(
    folder: Path, file: str, *, price: float = 0.0001, margin: float = 0.01, risk: float = 0.1, level: float = 0.95
) -> tuple[Profile, Allocation]:
    """A profile that hands every cap to `auto`, and the allocation it reads from `file` beside the profile."""
    from thinkcap.allocate.envelope import fit
    from thinkcap.allocate.split import lower
    from thinkcap.calibrate.allocation import load

    measured = load([folder])
    servable = [name for name in measured.fixed if _servable(parse(name)) and not facts(parse(name)).needs_kind]
    found = fit(measured, price=price, margin=margin, risk=risk, level=level, servable=servable)
    auto = PolicySpec("auto", MappingProxyType({"table": file}))
    rules = []
    for choice in found.choices:
        outcome = found.outcome(measured, choice.cap)
        evidence = {
            "does": choice.spending.policy,
            "accuracy": round(float(outcome.right.mean()), 4),
            "lower_bound": round(lower(outcome.right, level), 4),
            "n": measured.n,
            "tokens": round(float(outcome.tokens.mean()), 1),
        }
        rules.append(CapRule(choice.cap, auto, None, evidence))
    profile = _profile(rules, load_summary(folder), folder, level)
    source = {"model": profile.model, "study": profile.study, "prompts": profile.prompts}
    return profile, found.allocation(source)


def _profile(rules: Iterable[CapRule], summary: Mapping[str, Any], folder: Path, level: float) -> Profile:
    about: Mapping[str, Any] = summary.get("provenance", {})
    card: Mapping[str, Any] = about.get("engine", {})
    named = (str(card.get("fingerprint", "")), str(about.get("prompts", "")), folder.name, level)
    return Profile(str(card.get("model", "")), tuple(rules), *named)


def _servable(spec: PolicySpec) -> bool:
    return not wants_other(spec) and not facts(spec).may_be_empty


def _rule(cap: int, ways: Sequence[_Way], clear: Iterable[Comparison]) -> CapRule:
    best = _surest(ways, clear)
    evidence = best.evidence()
    for way in ways:
        if way.spec == PolicySpec(RIVAL):
            evidence[f"{RIVAL}_lower_bound"] = round(way.low, 4)
    free = [way for way in ways if not facts(way.spec).needs_kind]
    if best in free or not free:
        return CapRule(cap, best.spec, None, evidence)
    otherwise = _surest(free, clear)
    evidence["otherwise_lower_bound"] = round(otherwise.low, 4)
    return CapRule(cap, best.spec, otherwise.spec, evidence)


def _surest(ways: Sequence[_Way], clear: Iterable[Comparison]) -> _Way:
    names = {way.name for way in ways}
    better = {
        (c.first, c.second) if c.difference > 0 else (c.second, c.first)
        for c in clear
        if names >= {c.first, c.second}
    }
    # Worse on one task and better on another is not worse.
    worse = {second for first, second in better if (second, first) not in better}
    return max((w for w in ways if w.name not in worse or worse == names), key=lambda w: (w.low, -w.tokens))
