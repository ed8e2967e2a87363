"""From a finished study to a profile: a policy for every cap that was measured.

`statistics.choice` chooses, as it does for the advice of a diagnosis: among policies measured on the same
questions and within their budgets, the one whose accuracy has the best lower bound. A policy measured at a smaller
budget is a candidate at every larger one, where it runs with the smaller budget.

A policy that the cap can leave without an answer is no candidate. Where nothing is left to weigh against answering
at once, the study cannot say whether thinking pays, and the cap gets no rule: the gateway's default serves it.

    found = calibrate(Path("runs/mine"))
    Path("profile.toml").write_text(found.profile.to_toml())
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from thinkcap.allocate.file import Allocation
from thinkcap.calibrate.profile import RIVAL, CapRule, Profile
from thinkcap.core.errors import ConfigError, DataError
from thinkcap.core.names import nearest
from thinkcap.diagnose.candidates import make_candidates
from thinkcap.diagnose.runs import configurations
from thinkcap.diagnose.summary import load_summary
from thinkcap.logs import Arm, read
from thinkcap.policies.registry import PolicySpec, facts, parse, wants_other
from thinkcap.statistics.choice import Exclusion, QuestionGroup, Scored, recommend
from thinkcap.study.columns import MOST_BYTES


@dataclass(frozen=True)
class StudyProfile:
    profile: Profile
    excluded: tuple[Exclusion, ...]
    """Configurations that the profile could not choose."""


def calibrate(folder: Path, *, tasks: Sequence[str] = (), level: float = 0.95) -> StudyProfile:
    """`tasks` narrows to questions like those the gateway will see; none means all of the study."""
    if not 0.5 <= level < 1:
        raise ConfigError(f"level is {level}; wanted a confidence from 0.5 to below 1, such as 0.95")
    summary = load_summary(folder)
    found = configurations(read([folder], memory=MOST_BYTES).arms)
    known = sorted({configuration.arm.task for configuration in found})
    for task in tasks:
        if task not in known:
            raise ConfigError(f"the study has no task '{task}'{nearest(task, known)}")
    measured: dict[str, list[Arm]] = {}
    for arm in (configuration.arm for configuration in found):
        if arm.budget is not None and arm.task in (tasks or known) and _servable(parse(arm.method)):
            measured.setdefault(arm.name, []).append(arm)
    recommended = recommend(make_candidates(measured.values()), level)
    rules = _rules(recommended.groups[0], measured) if recommended.groups else []
    if not rules:
        raise DataError(
            f"'{folder}' measured no policy that thinks, is sure to answer and keeps its budget, so it cannot say "
            f"when thinking pays; run the study with --policy nothink,think,close,split"
        )
    return StudyProfile(_profile(rules, summary, folder, level), recommended.excluded)


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
        rules.append(CapRule(choice.cap, auto, evidence=evidence))
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


def _rules(group: QuestionGroup, measured: Mapping[str, Sequence[Arm]]) -> list[CapRule]:
    """For every budget from the first at which a policy that thinks was measured."""
    specs = {one.method: parse(one.method) for one in group.scored}
    thinking = [one.budget for one in group.scored if facts(specs[one.method]).then]
    free = {choice.budget: choice for choice in group.choose(_without_kind(specs))}
    rival = {one.budget: one for one in group.scored if specs[one.method] == PolicySpec(RIVAL)}
    rules = []
    otherwise = None
    for choice in group.choose():
        cap, best = choice.budget, group.widen(choice)
        otherwise = free.get(cap, otherwise)
        if not thinking or cap < min(thinking):
            continue
        evidence = _evidence(best, measured[best.name])
        if cap in rival:
            evidence[f"{RIVAL}_lower_bound"] = round(rival[cap].lower_bound, 4)
        rule = CapRule(cap, specs[best.method], None, _smaller(best, cap), evidence=evidence)
        if facts(rule.policy).needs_kind and otherwise is not None:
            other = group.widen(otherwise)
            evidence["otherwise_lower_bound"] = round(other.lower_bound, 4)
            rule = replace(rule, otherwise=specs[other.method], otherwise_budget=_smaller(other, cap))
        rules.append(rule)
    return rules


def _without_kind(specs: Mapping[str, PolicySpec]) -> list[str]:
    return [method for method, spec in specs.items() if not facts(spec).needs_kind]


def _smaller(chosen: Scored, cap: int) -> int | None:
    """The budget to run it with, if that is not the cap itself."""
    return chosen.budget if chosen.budget < cap else None


def _evidence(chosen: Scored, arms: Sequence[Arm]) -> dict[str, Any]:
    stages = max((arm.stages for arm in arms), key=lambda s: s.told)
    budgets = {"probe": stages.first, "think": stages.think, "answer": stages.answer}
    granted = {stage: budget for stage, budget in budgets.items() if budget}
    return {
        "accuracy": round(chosen.accuracy, 4),
        "lower_bound": round(chosen.lower_bound, 4),
        "n": chosen.n,
        **({} if chosen.mean_cost is None else {"tokens": round(chosen.mean_cost, 1)}),
        # Write one of these into the policy to fix it; a vote has none.
        **({"stages": granted} if granted else {}),
    }
