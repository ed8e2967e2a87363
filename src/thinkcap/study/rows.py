"""One row per question x policy x budget x seed: a journal that survives kill -9, and columns to compute on.

The journal (`rows.jsonl`) only grows; a row is one line, written whole once its outcome is known. Whoever reads it
cannot write (`read_states`); whoever writes holds its lock (`Journal`), and drops a line that a crash left half
written. `rows.parquet` holds the plan's rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from thinkcap.core.errors import DataError
from thinkcap.core.files import cannot_write, private_file, private_folder, replacing
from thinkcap.core.types import GREEDY, Failed, Graded, Outcome, Request, Sampling, Step
from thinkcap.grading import Grader
from thinkcap.policies.facts import Facts
from thinkcap.policies.registry import facts
from thinkcap.study.plan import Cell, Key
from thinkcap.traces.lock import FileLock

KEPT_CHARACTERS = 4000
Line = TypeVar("Line", bound=msgspec.Struct)


class StageRow(msgspec.Struct, frozen=True, array_like=True):
    """What one call of a flow got and cost."""

    stage: str
    budget: int
    charged: int
    generated: int
    reread: int
    prompt: int
    ended: bool
    origin: str


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The few fields of a row that say which it is and whether it is still to be done."""

    task: str
    question: str
    policy: str
    budget: int
    seed: int
    failed: bool
    grader: str
    prompts: str

    @property
    def key(self) -> Key:
        return (self.task, self.question, self.policy, self.budget, self.seed)


class Row(State, frozen=True, kw_only=True):
    group: str
    model: str
    verdict: str | None
    """right, wrong, unreadable; None where the run failed."""
    error: str | None
    gold_hash: str
    answer: str | None
    level: int
    text: str | None
    """The words the answer was read from, where short enough to keep, so that regrading needs no model."""
    guess: bool
    ended: bool
    """The chain this policy lives on (its last pass before any extraction) reached its end-of-turn token."""
    tokens_charged: int
    tokens_generated: int
    tokens_think: int
    tokens_prefill_trace: int
    tokens_prompt: int
    calls: int
    stage: str
    stages: tuple[StageRow, ...]
    source: str
    notes: dict[str, Any]
    claims: dict[str, int]
    """Stored traces this row was the first to use, so that tokens are counted once after a restart too."""
    temperature: float = 0.0
    top_p: float = 1.0
    """How the run was sampled; a policy that draws samples of its own sets its own."""


def stands(row: State, grader: str, prompts: str) -> bool:
    """A row counts as done unless it failed, or another grader or other prompts made it."""
    return not row.failed and row.grader == grader and row.prompts == prompts


def make_row(cell: Cell, outcome: Outcome, *, model: str, prompts: str, sampling: Sampling = GREEDY) -> Row:
    steps = steps_of(outcome)
    graded = outcome if isinstance(outcome, Graded) else None
    declared = facts(cell.spec)
    stages = tuple(
        StageRow(
            s.request.stage,
            s.request.budget,
            s.completion.spent,
            s.completion.fresh,
            s.completion.reread_tokens,
            s.completion.prompt_tokens,
            s.completion.ended,
            s.completion.origin,
        )
        for s in steps
    )
    return Row(
        task=cell.task.name,
        question=cell.question.id,
        group=cell.question.group,
        model=model,
        policy=cell.spec.label,
        budget=cell.budget,
        seed=cell.seed,
        verdict=graded.verdict if graded else None,
        failed=graded is None,
        error=f"{type(outcome.error).__name__}: {outcome.error}" if isinstance(outcome, Failed) else None,
        gold_hash=cell.task.gold_hash(cell.question.id),
        answer=graded.answer if graded else None,
        level=graded.level if graded else 0,
        text=_kept(graded.run.answer.text) if graded else None,
        guess=graded.run.answer.guess if graded else False,
        ended=_ended(steps, declared),
        tokens_charged=sum(s.charged for s in stages),
        tokens_generated=sum(s.generated for s in stages),
        tokens_think=sum(s.completion.think_tokens for s in steps),
        tokens_prefill_trace=sum(s.reread for s in stages),
        tokens_prompt=sum(s.prompt - s.reread for s in stages),
        calls=len(stages),
        stage=graded.run.answer.stage if graded else "",
        stages=stages,
        source=_source(steps, declared),
        grader=Grader.version,
        prompts=prompts,
        notes=dict(graded.run.answer.notes) if graded else {},
        claims=dict(s.completion.claim for s in steps if s.completion.claim),
        temperature=sampling.temperature,
        top_p=sampling.top_p,
    )


def steps_of(outcome: Outcome) -> Sequence[Step]:
    """The calls of a flow, those before a failure included."""
    return outcome.run.steps if isinstance(outcome, Graded) else outcome.steps


def _kept(text: str | None) -> str | None:
    return text if text is not None and len(text) <= KEPT_CHARACTERS else None


def _ended(steps: Sequence[Step], declared: Facts) -> bool:
    """An extraction ends for its own reasons; what a cap cuts is the chain before it."""
    chain = [s for s in steps if _in_chain(s.request, declared)]
    return bool(chain) and chain[-1].completion.ended


def _in_chain(request: Request, declared: Facts) -> bool:
    if declared.chain:
        return request.stage.rstrip("0123456789") in declared.chain
    return not request.inserts and not request.prefill


def _source(steps: Sequence[Step], declared: Facts) -> str:
    origins = {"online" if s.completion.origin == "fresh" else "derived" for s in steps}
    if len(origins) > 1:
        return "mixed"
    source = origins.pop() if origins else "online"
    return "mixed" if source == "derived" and declared.adaptive else source


def read_states(path: Path) -> dict[Key, State]:
    """How each row stands, the last one of each key; reads only, so it may look on while a study writes."""
    return {state.key: state for state, _ in _whole_lines(path, State)}


def _whole_lines(path: Path, kind: type[Line]) -> Iterator[tuple[Line, int]]:
    """Each line and where it ends. A half line at the end (a crash, or a writer at work) is left out."""
    decoder = msgspec.json.Decoder(kind)
    end = 0
    try:
        lines = path.open("rb")
    except FileNotFoundError:
        return
    with lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                read = decoder.decode(line)
            except msgspec.DecodeError as err:
                raise DataError(
                    f"'{path}' line {number} is not a row of this version: {err}; "
                    f"choose another --out, or move that file away to grade again from the traces"
                ) from err
            end += len(line)
            yield read, end


class Journal:
    """The one writer of a run's rows: it holds their lock, and only grows the file.

    The last row of a key counts, so a failed one can be made good.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[Key, Row] = {}
        self._encoder = msgspec.json.Encoder()
        private_folder(path.parent)
        self._lock = FileLock.take(path)
        try:
            whole = 0
            for row, end in _whole_lines(path, Row):
                self.rows[row.key] = row
                whole = end
            self._file = os.fdopen(private_file(path, os.O_WRONLY | os.O_APPEND), "ab")
            # Only the lock's holder may drop a half line: for anybody else it is a row being written.
            self._file.truncate(whole)
        except BaseException:
            self._lock.release()
            raise

    def append(self, row: Row) -> None:
        try:
            self._file.write(self._encoder.encode(row) + b"\n")
            self._file.flush()
        except OSError as err:
            raise cannot_write(self.path, err) from err
        self.rows[row.key] = row

    def claimed(self) -> dict[str, int]:
        """Tokens already accounted for, by trace."""
        claimed: dict[str, int] = {}
        for row in self.rows.values():
            for key, tokens in row.claims.items():
                claimed[key] = max(tokens, claimed.get(key, 0))
        return claimed

    def close(self) -> None:
        # A full disk was reported when the row came; the half line is dropped when the journal is opened again.
        with suppress(OSError):
            self._file.flush()
            os.fsync(self._file.fileno())
        with suppress(OSError):
            self._file.close()
        self._lock.release()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def write_parquet(rows: Iterable[Row], path: Path) -> None:
    """Rows as columns; nested fields as JSON text, so that any tool can read the file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    fields = [field for field in msgspec.structs.fields(Row) if field.name != "claims"]
    schema = pa.schema([(field.name, kinds.get(field.type, pa.string())) for field in fields])
    columns: dict[str, list[Any]] = {field.name: [] for field in fields}
    for row in rows:
        for name, values in columns.items():
            value = getattr(row, name)
            values.append(msgspec.json.encode(value).decode() if name in ("stages", "notes") else value)
    with replacing(path) as file:
        pq.write_table(pa.table(columns, schema=schema), file, compression="zstd")


def read_parquet(path: Path) -> Mapping[str, Any]:
    """The columns of a run as numpy arrays and lists."""
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise DataError(f"no rows at '{path}'; wanted the folder of a finished study") from None
    except Exception as err:  # pyarrow's errors share no base below OSError and ValueError
        raise DataError(f"cannot read '{path}' as rows of a study: {err}") from err
    return {name: table.column(name).to_numpy(zero_copy_only=False) for name in table.column_names}
