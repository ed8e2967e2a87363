"""For people in Python: ask one question, run a study. Plain calls, even in a notebook.

import thinkcap
print(thinkcap.ask("What is 48 * 57 + 9?", cap=512).answer)              # 2745
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from thinkcap.causes import describe_caveat, explain_no_answer, text_of
from thinkcap.core.engine import Engine
from thinkcap.core.errors import ConfigError, DataError
from thinkcap.core.flow import Piece, stream
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.sync import wait
from thinkcap.core.types import Answer, Kind, Question, Run, Sampling, Step
from thinkcap.studied import Studied as Studied

if TYPE_CHECKING:
    from thinkcap.engines.served import BackendName, Tell
    from thinkcap.policies.registry import PolicySpec
    from thinkcap.study.config import StudyConfig
    from thinkcap.study.progress import Watcher
    from thinkcap.study.regrade import Regraded
    from thinkcap.study.run import Result


@dataclass(frozen=True)
class Reply:
    """An answer with what it took."""

    text: str | None
    answer: str | None
    """The final answer read out of the text; the text itself where it marks none and no kind was declared."""
    run: Run
    policy: str = ""
    """The policy that answered, as `--policy` takes it."""
    no_answer: str | None = None
    """Why there is no answer, such as "the model stopped without giving one, after 11 of 384 tokens"."""
    caveat: str | None = None
    """Why to be careful with the answer: it was truncated, guessed, or is not of the declared kind."""

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
    policy: str | None = None,
    model: str = "bundled",
    kind: Kind | None = None,
    form: str = "",
    temperature: float = 0.0,
    seed: int = 0,
    **options: Any,
) -> Reply:
    """The best answer under `cap` tokens in all, by the policy named or else the one that is best for this cap.

    `kind` (number, math, label, text) asks for a readable answer.
    """
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
    policy: str | None = None,
    model: str | Engine = "bundled",
    kind: Kind | None = None,
    form: str = "",
    sampling: Sampling | None = None,
    show: Callable[[Piece], None] | None = None,
    serve_with: BackendName | None = None,
    serve_args: str = "",
    tell: Tell | None = None,
    **options: Any,
) -> Reply:
    """As `ask`, in a loop of your own, on an engine that may be open already; `show` gets the text as it comes,
    `tell` how the server comes up that is started for it (`serve_with`)."""
    from thinkcap.engines.served import ServeWith, silent
    from thinkcap.engines.served.running import opened
    from thinkcap.grading import Grader
    from thinkcap.policies.registry import parse

    if not question.strip():
        raise ConfigError("the question is empty; wanted some text")
    if cap < 1:
        raise ConfigError(f"cap is {cap}; wanted at least 1 token")
    text = PROMPTS.asked(question, form or kind) if kind else question
    asked = Question("q", ({"role": "user", "content": text},), kind=kind, form=form)
    named = parse(policy) if policy else None
    async with AsyncExitStack() as stack:
        if isinstance(model, str):
            how = ServeWith.wished(serve_with, serve_args)
            engine = await stack.enter_async_context(opened(model, options, how, tell or silent))
        else:
            engine = model
        spec, budget = (named, cap) if named else _best(model, engine, kind, cap)
        flow = spec.bind(engine.card.spoken(PROMPTS))(asked, budget)
        async with Grader() as grader:
            run: Run | None = None
            pieces = stream(flow, engine, judge=grader.same, cap=budget, sampling=sampling or Sampling())
            async for piece in pieces:
                if isinstance(piece, Run):
                    run = piece
                elif show:
                    show(piece)
    assert run is not None
    found = _found(asked, run.answer)
    cause, caveat = explain_no_answer(run, found), describe_caveat(run, found)
    return Reply(text_of(run), found, run, spec.label, cause, caveat)


def _best(model: str | Engine, engine: Engine, kind: Kind | None, cap: int) -> tuple[PolicySpec, int]:
    """The policy of the model's profile, and what it may spend of the cap."""
    from thinkcap.calibrate.choice import chosen
    from thinkcap.calibrate.profile import profile_of

    profile = profile_of(model) if isinstance(model, str) else None
    found = chosen(cap, kind, engine.card, profile)
    return found.spec, found.budget


def _found(asked: Question, answer: Answer) -> str | None:
    from thinkcap.policies.stages import read

    found = read(asked, answer.text, guess=answer.guess)
    if asked.kind or answer.text is None or answer.guess or not found.weak:
        return found.answer
    # Nobody said what to look for and nothing is marked as the answer: all of it is.
    return answer.text.strip() or None


class StudyOptions(TypedDict, total=False):
    """A study file's keys, as `study` takes them; docs/study.md explains each."""

    model: str
    tasks: str | Sequence[str]
    data: str | Path
    map: str | Mapping[str, str]
    kind: str
    policies: str | Sequence[str | Mapping[str, Any]]
    budgets: str | int | Sequence[int]
    preset: str
    limit: int
    offset: int
    seed: int
    seeds: str | Sequence[int]
    temperature: float
    top_p: float
    sampling: Literal["", "recommended"]
    concurrency: int
    out: str | Path
    online: bool
    serve_with: BackendName
    serve_args: str
    nothink_by: Literal["auto", "native", "block", "prompt"]
    dialect: str
    timeout_s: float
    cluster: str
    actors: int
    cpus: float
    gpus: float
    verify_prefix: int
    max_cost: float
    price: str | Mapping[str, float]
    prompts: str | Path | Mapping[str, Any]


def study(
    file: str | Path | None = None, *, progress: bool | None = None, **options: Unpack[StudyOptions]
) -> Studied:
    """Run a study (or go on with it) and write its report; options are a study file's keys.

    `progress` says whether a line shows how far it is; by default in a terminal and in a notebook.
    """
    from thinkcap.progress import watching
    from thinkcap.report.explorer.page import write_page
    from thinkcap.study.config import StudyConfig
    from thinkcap.study.options import from_options

    base = StudyConfig.from_file(Path(file)) if file else StudyConfig()
    config = from_options(base, options)
    with watching(progress) as watch:
        done = wait(run_study(config, watch=watch))
    write_page(done.folder)
    return done


def read_study(folder: str | Path = "runs/study") -> Studied:
    """A study that was run before, the latest by default; its summary is checked against its rows."""
    from thinkcap.diagnose.summary import load_summary

    return Studied(Path(folder), load_summary(Path(folder)))


async def run_study(
    config: StudyConfig,
    *,
    engine: Engine | None = None,
    watch: Watcher | None = None,
    tell: Tell | None = None,
) -> Studied:
    """Run to the end, then write `summary.json` beside the rows; a finished study is read, and no model opened."""
    from thinkcap.diagnose.summary import load_summary
    from thinkcap.engines.served import silent
    from thinkcap.study.run import finished, run

    if engine is None and finished(config):
        # A summary that does not fit its rows is made anew.
        with suppress(DataError):
            return Studied(config.folder, load_summary(config.folder))

    def conclude(done: Result) -> None:
        made.append(_concluded(done))

    made: list[dict[str, Any]] = []
    result = await run(config, engine=engine, watch=watch, conclude=conclude, tell=tell or silent)
    return Studied(result.folder, made[0], result.rows)


async def regrade_study(folder: Path, *, modules: Collection[str] = ()) -> Regraded:
    """Stored answers through today's grader, and the summary anew."""
    from thinkcap.study.regrade import regrade

    def conclude(done: Result) -> None:
        _concluded(done)

    return await regrade(folder, modules=modules, conclude=conclude)


def _concluded(done: Result) -> dict[str, Any]:
    from thinkcap.diagnose.summary import conclude, write_summary

    summary = conclude(done)
    write_summary(summary, done.folder / "summary.json")
    return summary
