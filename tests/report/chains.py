"""A scripted model with plausible habits, so that a whole study runs in a second: harder questions get longer
chains, quick answers are less often right, an answer pass reads the result once most of the chain is there.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from random import Random

from thinkcap.api import Studied as Result
from thinkcap.api import run_study as run
from thinkcap.core.errors import EngineTimeout
from thinkcap.core.sync import wait
from thinkcap.engines.scripted import QUIET, ScriptedEngine
from thinkcap.study.config import StudyConfig
from thinkcap.tasks import Task, load

HOSTILE = "</script><script>window.harmed = true</script><img src=x onerror='window.harmed = true'> <b>not bold"
"""What a model may well write; a page must show it and do nothing."""

_STEPS = ("so far", "carry on with", "that leaves", "check again", "which gives", "now take")


def engine(
    task: Task, *, quick: float = 0.8, slow: float = 0.96, name: str = "a", failing: bool = False
) -> ScriptedEngine:
    known = {str(q.messages[0]["content"]): q for q in task.questions}

    def script(prompt: str) -> str | EngineTimeout:
        shown = prompt.partition("[user]")[2]
        text = next(t for t in known if shown.startswith(t))
        question = known[text]
        gold, hard = task.golds[question.id], int(task.facts[question.id]["difficulty"])
        # Luck belongs to the question, not to the call: a rerun says the same.
        luck = Random(hashlib.sha256(f"{name}{question.id}".encode()).digest())
        form = "The answer is {}." if question.kind == "label" else "#### {}"
        wrong = "(Z)" if question.kind == "label" else str(luck.randint(1000, 9999))
        fast, deep = luck.random() < quick - 0.07 * hard, luck.random() < slow
        if failing and luck.random() < 0.12 and not prompt.endswith("[assistant]"):
            return EngineTimeout("no answer within 60 s; is the server overloaded?")
        thought = _thought(luck, hard, luck.random() < 0.03)
        if "Work on this so far" in shown or "unfinished work" in prompt:
            done = len(shown) - len(text) > 0.55 * len(thought)
            return form.format(gold if done and deep else wrong)
        if QUIET in prompt[-30:] or "[seed" in prompt[-40:]:
            steps = " ".join(f"{luck.randint(2, 99)}," for _ in range(luck.randint(2, 10 + 2 * hard)))
            # On a line of its own: numbers before half a mark would be a formula, and load the algebra system.
            return f"{steps}\n{form.format(gold if fast else wrong)}"
        answer = form.format(gold if deep else wrong)
        if not prompt.endswith("[assistant]"):
            return f" {answer}"
        return f"<think>{thought}</think>{answer}"

    return ScriptedEngine(script, sampled=True)


def _thought(luck: Random, hard: int, hostile: bool) -> str:
    count = int(luck.lognormvariate(1.2, 0.6) * hard) + 1
    lines = [f"{luck.choice(_STEPS)} {luck.randint(2, 999)}." for _ in range(count)]
    if hostile:
        lines.insert(len(lines) // 2, HOSTILE)
    return "\n".join(lines)


def study(
    out: Path,
    *,
    limit: int = 60,
    policies: str = "nothink,think,think[heuristic],close,town,iris,iris_plus,mrsd,vote,gate",
    budgets: str = "32,64,128,256,512",
    seeds: tuple[int, ...] = (0,),
    offset: int = 0,
    price: str = "",
    **habits: object,
) -> Result:
    """A finished run in `out`."""
    words = {"policies": policies, "budgets": budgets, "limit": limit, "offset": offset, "out": str(out)}
    words |= {"seeds": seeds, "concurrency": 32}
    if price:
        inside, cached, outside = map(float, price.split(","))
        words["price"] = {"input": inside, "cached": cached, "output": outside}
    config = StudyConfig.from_mapping(words)
    task = load("families", limit=limit, offset=offset, seed=seeds[0])
    return wait(run(config, engine=engine(task, **habits)))  # type: ignore[arg-type]
