"""What a row of the paper is about: methods and budgets behind its printed name, and those of an arm of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from thinkcap.logs import Arm

_TASKS = {"bbh5": "bbh (5 tasks)"}
_STAGES = {"gsm8k": (256, 512, 128), "math500": (512, 1024, 256)}
"""First try, thinking and answer pass, where a table does not print them."""
_PROJECTED = ("27b-full", "27b-both-modes", "deepseek-gsm8k", "deepseek-math500", "routing_baselines")
"""Tables whose cut chains were read by a forced answer; the others guess."""
_BOTH = ("qwen3-32b-a800", "math500-tax-full", "bbh-full")


@dataclass(frozen=True)
class Way:
    """A method with every budget that belongs to it; None is not told."""

    policy: str
    budgets: tuple[int | None, ...]
    pipeline: str | None = ""
    """How a cut chain is read: none, heuristic or projection; empty where no chain is read."""

    def agrees(self, other: Way) -> bool:
        told = self.pipeline is None or other.pipeline is None or self.pipeline == other.pipeline
        return told and (self.policy, self.budgets) == (other.policy, other.budgets)


def way_of(arm: Arm) -> Way:
    name, _, pipeline = arm.policy.partition("[")
    if name == "nothink":
        return Way("nothink", (arm.budget,))
    if name == "think":
        # A run of ours that guesses or projects says so; another tool's log says nothing.
        ours = "none" if "grader" in arm.provenance else None
        return Way("think", (arm.stages.think or arm.budget,), pipeline.rstrip("]") or ours)
    if name == "generous":
        return Way(name, (arm.budget,))
    if name in ("vote", "sc", "gate"):
        samples, each = (_option(arm, key) for key in ("samples", "each"))
        if each is None and arm.budget is not None and samples and name != "gate":
            each = arm.budget // samples
        return Way("gate" if name == "gate" else "vote", (samples or 5, each))
    first = _option(arm, "first") or arm.stages.first
    think = _option(arm, "think") or _option(arm, "second") or arm.stages.think
    if name.startswith("town"):
        return Way(name, (first, think))
    answer = _option(arm, "answer") or arm.stages.answer
    if name == "mrsd" and arm.budget and first and think and answer:
        return Way(name, (first, think, answer, (arm.budget - first) // (think + answer)))
    return Way(name, (first, think, answer))


def _option(arm: Arm, name: str) -> int | None:
    value = arm.options.get(name)
    return value if isinstance(value, int) else None


Configured = tuple[str, str, frozenset[Way], str | None, Mapping[str, Any]]
"""Model, task, what was compared, the row's role in its table, and its figures."""


def configurations(table: str, row: Mapping[str, Any]) -> Iterator[Configured]:
    """What a printed row is about; nothing where its name does not say."""
    model, task = str(row.get("model", "")), str(row.get("benchmark", ""))
    if table == "main-results":
        for prefix, where in (("gsm8k", "gsm8k"), ("math", "math500")):
            figures = {"acc": row[f"{prefix}_acc"], "ci": row[f"{prefix}_ci"], "avg_tok": row[f"{prefix}_tok"]}
            way = _named(str(row["method"]), where, row, "heuristic")
            # The pilot's TOWN on MATH-500 was run with a first budget of 1024, and its second is not printed.
            if way is not None and (way.policy, where) != ("town", "math500"):
                yield model, where, frozenset({way}), None, figures | {"n": row.get("n")}
        return
    reading = "projection" if table in _PROJECTED else "heuristic"
    if table == "math500-level":
        for name in (n for n in row if n.startswith("think@")):
            ways = frozenset({Way("think", (int(name[6:]),), reading)})
            yield model, task, ways, None, {"acc": row[name], "n": row.get("n")}
        return
    found, role = _compared(table, task, row, reading)
    if found:
        yield model, _TASKS.get(task, task), frozenset(found), role, row


def _compared(table: str, task: str, row: Mapping[str, Any], reading: str) -> tuple[set[Way], str | None]:
    budget = row.get("budget")

    def think(b: Any) -> Way:
        return Way("think", (b,), reading)

    if table in _BOTH:
        return {Way("nothink", (budget,)), think(budget)}, None
    if table in ("town-grid", "town-ablation"):
        return {Way("nothink", (row["B1"],)), think(row["B2"])}, None
    if table == "routing_baselines":
        return {Way("nothink", (256,)), think(512)}, str(row["method"])
    if table == "efficiency-frontier":
        return {think(b) for b in (128, 256, 512)}, None
    if table == "27b-multiseed":
        stages = (512, row["B_think"], row["B_answer"])
        return {Way("iris", stages), Way("town", stages[:2])}, None
    if table == "bthink-ablation":
        return {Way("iris", (512, row["B_think"], 256))}, None
    if table == "improved-iris":
        # The answer budget of the improved GSM8K run is not printed.
        base = (512, row["B2"], 256)
        return ({Way("iris", base), Way("iris_plus", (*base[:2], 512))} if task == "math500" else set()), None
    if table in ("theory-verification", "token-utilization"):
        return {think(budget)}, None
    names = ("config", "method", "mode") if table != "failure-modes" else ("method",)
    name = next((str(row[n]) for n in names if n in row), "think")
    way = _named(name, task, row, reading)
    if way is None:
        return set(), None
    if table == "gsm8k-mrsd-full" and way.policy != "mrsd":
        refined = _named("mrsd", task, row, reading)
        return {way, *([refined] if refined else [])}, None
    if table == "fairness" and name != "nothink@256":
        return {way, Way("nothink", (256,))}, None
    return {way}, None


def _named(name: str, task: str, row: Mapping[str, Any], reading: str) -> Way | None:
    """`town(256->512)`, `iris+@4096`, `sc@5 nothink b1024`, `nothink@512(pilot)`, `think` beside a `budget`."""
    text = name.lower().replace("-single", "")
    default = _STAGES.get(task)
    first, second, answer = default or (None, None, None)
    first, second = row.get("B1", first), row.get("B_think", second)
    answer = row.get("B_answer", answer)
    if text == "think@256+nothink@256":
        return Way("two_pass", (None, 256, 256))
    if generous := re.fullmatch(r"think@(\d+)_generous", text):
        return Way("generous", (int(generous[1]),))
    if votes := re.fullmatch(r"sc@(\d) nothink b(\d+)", text):
        return Way("vote", (int(votes[1]), int(votes[2])))
    if text == "sc@5+iris+ gate":
        return Way("gate", (5, 1024))
    if plain := re.match(r"(nothink|think)(?:@(\d+|b1|b_think))?(?:\(.*\))?$", text):
        at = {"b1": first, "b_think": second}.get(plain[2]) if plain[2] in ("b1", "b_think") else plain[2]
        b = int(at) if at is not None else row.get("budget")
        return Way(plain[1], (b,), reading if plain[1] == "think" else "")
    if staged := re.match(r"(town|iris|mrsd)(\+?)(?:@(\d+))?(?:\(([\d>/-]+)\)|\(3-round\))?$", text):
        policy = staged[1] + ("_plus" if staged[2] else "")
        told = [int(n) for n in re.findall(r"\d+", staged[4] or "")]
        if told:
            first, second = told[:2]
            answer = told[2] if len(told) > 2 else answer
        if staged[3] and task != "gsm8k":
            second = int(staged[3])
        if policy.startswith("town"):
            return Way(policy, (first, second))
        budgets = (first, second, 512 if policy == "iris_plus" else answer)
        return Way(policy, (*budgets, 3) if policy == "mrsd" else budgets)
    return None
