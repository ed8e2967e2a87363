"""A lane of a study: takes cells from question to row, one after the other.

A row costs the model its tokens and this program a fraction of a millisecond, for which a study on a fast model
waits: so what is the same for many rows is found out once.

    worker = CellRunner(config, cells, engine, grader, journal, progress, pace, seconds, note, watch)
    await together(worker.work(feed) for _ in range(width))
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

from msgspec.structs import replace

from thinkcap.core.engine import Engine
from thinkcap.core.errors import ConfigError, EngineError
from thinkcap.core.flow import Policy, drive
from thinkcap.core.prompts import Prompts
from thinkcap.core.recent import Recent
from thinkcap.core.types import Answer, Failed, Graded, Outcome, Sampling, Verdict
from thinkcap.grading import Grader
from thinkcap.policies import stages
from thinkcap.policies.registry import wants_other
from thinkcap.statistics.arrays import Floats
from thinkcap.study.config import StudyConfig
from thinkcap.study.derivable import gold_in_trace
from thinkcap.study.feed import Feed
from thinkcap.study.journal import Journal
from thinkcap.study.pace import Pace
from thinkcap.study.plan import Cell, StudyPlan
from thinkcap.study.progress import Noting, Progress, Watcher
from thinkcap.study.rows import make_row, steps_of
from thinkcap.traces.ended import EndedChains

_JUDGED = 16 << 20
"""Characters of the answers whose verdicts are kept: those to the questions that are worked on."""
_Judged = tuple[Verdict, str | None, int]


@dataclass(frozen=True)
class CellRunner:
    config: StudyConfig
    cells: StudyPlan
    engine: Engine
    grader: Grader
    journal: Journal
    progress: Progress
    pace: Pace
    seconds: Floats
    note: Noting
    watch: Watcher | None

    async def work(self, feed: Feed) -> None:
        """One lane: whatever is next, until nothing is left."""
        while places := feed.take():
            for place in places:
                cell, way, started = self.cells[place], place // len(self.cells.asked), time.monotonic()
                self.pace.begins(way)
                outcome = await self._outcome(cell, way)
                written, wall_s = 0, 0.0
                for step in steps_of(outcome):
                    written += step.completion.generated
                    wall_s += step.completion.wall_s
                self.pace.ends(way, written, time.monotonic() - started)
                self._keep(place, cell, outcome, wall_s)
            feed.give_back(places)

    def _keep(self, place: int, cell: Cell, outcome: Outcome, wall_s: float) -> None:
        prompts, sampling = self.config.prompts.hash, self._drawn[cell.seed]
        row = make_row(cell, outcome, self.engine.card, prompts=prompts, sampling=sampling)
        self.journal.append(row, place)
        self.seconds[place] = wall_s
        self.progress.done += 1
        self.progress.failed += row.failed
        self.progress.tokens += row.tokens_generated
        self.note(self.progress)
        if self.watch:
            self.watch(self.progress)

    async def _outcome(self, cell: Cell, way: int) -> Outcome:
        policy = self._bound[way] or self._beside(cell)
        try:
            run = await drive(
                policy(cell.question, cell.budget),
                self.engine,
                judge=self.grader.same,
                cap=cell.budget,
                sampling=self._drawn[cell.seed],
                each=self._ended,
            )
        except EngineError as err:
            return Failed(err, err.steps)
        self._ended.keep(run.steps)
        verdict, answer, level = await self._judged(cell, run.answer)
        gold, kind = cell.task.golds[cell.question.id], cell.question.kind or "math"
        found = await gold_in_trace(run.steps, gold, kind, self.grader)
        if found is not None:
            run = replace(run, answer=replace(run.answer, notes={**run.answer.notes, "gold_in_trace": found}))
        return Graded(run, verdict, answer, level)

    async def _judged(self, cell: Cell, said: Answer) -> _Judged:
        """A chain that ended says the same at every larger budget and to every policy."""
        case = (cell.task.name, cell.question.id, said.text, said.guess)
        known = self._known.get(case)
        if known is None:
            answer, level = stages.read(cell.question, said.text, guess=said.guess)
            gold, kind = cell.task.golds[cell.question.id], cell.question.kind or "math"
            known = (await self.grader.grade(gold, answer, kind), answer, level)
            self._known.keep(case, known, 1 + len(said.text or ""))
        return known

    @cached_property
    def _known(self) -> Recent[tuple[str, str, str | None, bool], _Judged]:
        return Recent(_JUDGED)

    @cached_property
    def _ended(self) -> EndedChains:
        return EndedChains()

    @cached_property
    def _spoken(self) -> Prompts:
        return self.engine.card.spoken(self.config.prompts)

    @cached_property
    def _bound(self) -> list[Policy | None]:
        """The policy of each way; None where it is handed another question for each one."""
        return [None if wants_other(spec) else spec.bind(self._spoken) for spec, _ in self.cells.ways]

    def _beside(self, cell: Cell) -> Policy:
        if cell.other is cell.question:
            raise ConfigError(f"policy '{cell.spec.name}' needs a second question; raise --limit")
        return cell.spec.bind(self._spoken, cell.other)

    @cached_property
    def _drawn(self) -> dict[int, Sampling]:
        """How rows of each seed are sampled."""
        config = self.config
        return {
            seed: Sampling(config.temperature, config.top_p, seed) for seed in {a.seed for a in self.cells.asked}
        }
