"""From a finished study to a profile: a policy for every cap that was measured.

The policy with the best lower end of its Wilson interval wins, not the one with the best accuracy: among many
policies on few questions the best-looking one is often lucky. Equal ends go to the policy that spends less.

A policy that the cap can leave without an answer is no candidate. Where nothing is left to weigh against answering
at once, the study cannot say whether thinking pays, and the cap gets no rule: the gateway's default serves it.

    profile = calibrate(Path("runs/mine"))
    Path("profile.toml").write_text(profile.to_toml())
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from thinkcap.allocate.file import Allocation
from thinkcap.calibrate.profile import RIVAL, Profile, Rule
from thinkcap.core.errors import ConfigError, DataError
from thinkcap.core.names import nearest
from thinkcap.diagnose.summary import load_summary
from thinkcap.policies.registry import PolicySpec, facts, parse, wants_other
from thinkcap.statistics.precision import wilson
from thinkcap.study.rows import read_parquet


@dataclass
class _Cell:
    """What one policy did at one cap, over all tasks and seeds."""

    right: int = 0
    graded: int = 0
    tokens: int = 0
    budgets: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def low(self, level: float) -> float:
        return wilson(self.right, self.graded, level).low or 0.0

    def evidence(self, level: float) -> dict[str, Any]:
        return {
            "accuracy": round(self.right / self.graded, 4),
            "lower_bound": round(self.low(level), 4),
            "n": self.graded,
            "tokens": round(self.tokens / self.graded, 1),
            # The usual budget of each stage, as the driver granted it; write one into the policy to fix it.
            "stages": {stage: statistics.mode(seen) for stage, seen in self.budgets.items()},
        }


def calibrate(folder: Path, *, tasks: Sequence[str] = (), level: float = 0.95) -> Profile:
    """`tasks` narrows to questions like those the gateway will see; none means all of the study."""
    if not 0.5 <= level < 1:
        raise ConfigError(f"level is {level}; wanted a confidence from 0.5 to below 1, such as 0.95")
    summary = load_summary(folder)
    cells = _cells(read_parquet(folder / "rows.parquet"), tasks)
    rules = []
    for cap in sorted({budget for _, budget in cells}):
        measured = {label: cell for (label, budget), cell in cells.items() if budget == cap}
        if any(facts(parse(label)).then for label in measured):
            rules.append(_rule(cap, measured, level))
    if not rules:
        raise DataError(
            f"'{folder}' measured no policy that thinks and is sure to answer, so it cannot say when thinking "
            f"pays; run the study with --policy nothink,think,close,split"
        )
    about: Mapping[str, Any] = summary.get("provenance", {})
    card: Mapping[str, Any] = about.get("engine", {})
    return Profile(
        str(card.get("model", "")),
        tuple(rules),
        fingerprint=str(card.get("fingerprint", "")),
        prompts=str(about.get("prompts", "")),
        study=folder.name,
        level=level,
    )


def _servable(spec: PolicySpec) -> bool:
    return not wants_other(spec) and not facts(spec).may_be_empty


def calibrate_auto(
    folder: Path, file: str, *, price: float = 0.0001, margin: float = 0.01, risk: float = 0.1, level: float = 0.95
) -> tuple[Profile, Allocation]:
    """A profile that hands every cap to `auto`, and the allocation it reads from `file` beside the profile."""
    from thinkcap.allocate.envelope import fit
    from thinkcap.allocate.split import lower
    from thinkcap.calibrate.allocation import load

    about = load_summary(folder).get("provenance", {})
    card: Mapping[str, Any] = about.get("engine", {})
    measured = load([folder])
    servable = [name for name in measured.fixed if _servable(parse(name)) and not facts(parse(name)).needs_kind]
    found = fit(measured, price=price, margin=margin, risk=risk, level=level, servable=servable)
    source = {"model": str(card.get("model", "")), "study": folder.name, "prompts": str(about.get("prompts", ""))}
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
        rules.append(Rule(choice.cap, PolicySpec("auto", MappingProxyType({"table": file})), None, evidence))
    profile = Profile(
        source["model"],
        tuple(rules),
        fingerprint=str(card.get("fingerprint", "")),
        prompts=source["prompts"],
        study=folder.name,
        level=level,
    )
    return profile, found.allocation(source)


def _cells(columns: Mapping[str, Any], tasks: Sequence[str]) -> dict[tuple[str, int], _Cell]:
    known = sorted(set(columns["task"]))
    for task in tasks:
        if task not in known:
            raise ConfigError(f"the study has no task '{task}'{nearest(task, known)}")
    servable = {label for label in set(columns["policy"]) if _servable(parse(label))}
    cells: dict[tuple[str, int], _Cell] = defaultdict(_Cell)
    names = ("task", "policy", "budget", "verdict", "tokens_charged", "stages")
    for task, label, budget, verdict, tokens, stages in zip(*(columns[n] for n in names), strict=True):
        if label not in servable or verdict is None or (tasks and task not in tasks):
            continue
        cell = cells[label, int(budget)]
        cell.graded += 1
        cell.right += verdict == "right"
        cell.tokens += int(tokens)
        for stage in json.loads(stages):
            cell.budgets[str(stage[0])].append(int(stage[1]))
    return dict(cells)


def _rule(cap: int, measured: Mapping[str, _Cell], level: float) -> Rule:
    def surest(labels: Sequence[str]) -> str:
        return max(labels, key=lambda label: (measured[label].low(level), -measured[label].tokens))

    best = surest(list(measured))
    evidence = measured[best].evidence(level)
    if RIVAL in measured:
        evidence[f"{RIVAL}_lower_bound"] = round(measured[RIVAL].low(level), 4)
    otherwise = None
    if facts(parse(best)).needs_kind:
        free = [label for label in measured if not facts(parse(label)).needs_kind]
        if free:
            otherwise = parse(surest(free))
            evidence["otherwise_lower_bound"] = round(measured[otherwise.label].low(level), 4)
    return Rule(cap, parse(best), otherwise, evidence)
