"""For people in Python: ask one question, run a study. Plain calls; also in a notebook.

import thinkcap
print(thinkcap.ask("What is 17 * 23?", cap=256, policy="iris", kind="number").text)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkcap.core.engine import Engine
from thinkcap.core.flow import Shown, stream
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.sync import wait
from thinkcap.core.types import Kind, Question, Run, Sampling, Step


@dataclass(frozen=True)
class Reply:
    """An answer with what it took."""

    text: str | None
    answer: str | None
    """The final answer read out of the text, where the question declared a kind."""
    run: Run

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.run.steps

    @property
    def tokens(self) -> int:
        return self.run.charged


def ask(
    question: str,
    *,
    cap: int,
    policy: str = "iris",
    model: str = "bundled",
    kind: Kind | None = None,
    form: str = "",
    temperature: float = 0.0,
    seed: int = 0,
    **options: Any,
) -> Reply:
    """The best answer under `cap` tokens in all. `kind` (number, math, label) asks for a readable answer."""
    work = ask_async(
        question,
        cap=cap,
        policy=policy,
        model=model,
        kind=kind,
        form=form,
        sampling=Sampling(temperature, seed=seed),
        **options,
    )
    return wait(work)


async def ask_async(
    question: str,
    *,
    cap: int,
    policy: str = "iris",
    model: str | Engine = "bundled",
    kind: Kind | None = None,
    form: str = "",
    sampling: Sampling | None = None,
    show: Callable[[Shown], None] | None = None,
    **options: Any,
) -> Reply:
    from thinkcap.engines import open_engine
    from thinkcap.grading.grade import Grader
    from thinkcap.policies.registry import parse
    from thinkcap.policies.stages import read

    text = PROMPTS.asked(question, form or kind) if kind else question
    asked = Question("q", ({"role": "user", "content": text},), kind=kind, form=form)
    flow = parse(policy).bind()(asked, cap)
    engine = await open_engine(model, **options) if isinstance(model, str) else model
    try:
        async with Grader() as grader:
            run: Run | None = None
            pieces = stream(flow, engine, judge=grader.same, cap=cap, sampling=sampling or Sampling())
            async for piece in pieces:
                if isinstance(piece, Run):
                    run = piece
                elif show:
                    show(piece)
    finally:
        if isinstance(model, str):
            await engine.aclose()
    assert run is not None
    found = read(asked, run.answer.text, guess=run.answer.guess).answer if kind else None
    return Reply(run.answer.text, found, run)


def study(file: str | Path | None = None, **options: Any) -> dict[str, Any]:
    """Run a study (or go on with it) and return its summary; options are the keys of a study file."""
    from thinkcap.study.config import StudyConfig
    from thinkcap.study.options import from_options
    from thinkcap.study.run import run

    base = StudyConfig.from_file(Path(file)) if file else StudyConfig()
    return dict(wait(run(from_options(base, options))).summary)
