"""Our own studies: `rows.parquet`, or the folder that holds it, without a loop over rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinkcap.core.errors import DataError
from thinkcap.core.files import read_file
from thinkcap.logs.arms import RIGHT, WRONG, Arm, Questions, Stages, content_hash
from thinkcap.logs.memory import Memory
from thinkcap.logs.models import canonical, same_model
from thinkcap.logs.modes import split_label
from thinkcap.logs.reading import Log, printable
from thinkcap.logs.said import Found, Said
from thinkcap.policies.registry import declared
from thinkcap.statistics.arrays import Whole, distinct
from thinkcap.study import times
from thinkcap.study.columns import Coded, RowColumns, numbers, read_columns
from thinkcap.study.footer import unpacked

_CODED = ("question", "task", "model", "policy", "verdict", "gold_hash")
_NEEDED = (*_CODED, "budget", "seed", "ended", "tokens_charged")
_TEXTS = ("group", "stage", "stages", "notes")
_OPTIONAL = (*_TEXTS, "calls", "tokens_think")
READ = (*_NEEDED, *_OPTIONAL)
"""Columns of a row that a diagnosis uses."""
COUNTS = ("budget", "seed", "tokens_charged", "calls", "tokens_think")

_NOTES = ("agree", "support", "rounds", "converged", "gold_in_trace", "trials", "trial_tokens")
"""What policies note down of a row and a diagnosis asks for."""

_ANSWER_PASS = ("extract", "retry")


def recognise(log: Log) -> bool:
    if log.path.is_dir() or log.path.name == "rows.parquet":
        return True
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return log.suffix == ".parquet" and set(_NEEDED) <= set(pq.read_schema(log.path).names)
    except (pa.ArrowException, OSError, ValueError):
        return False


def read(log: Log, questions: Questions, said: Said) -> Found:
    return Found(*read_run(log.path, questions, said.only, log.memory))


def read_run(
    path: Path, questions: Questions, model: str | None = None, memory: Memory | None = None
) -> tuple[list[Arm], list[str]]:
    """Arms carry the name of the run's folder, since the rows of every run are called rows.parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = path / "rows.parquet" if path.is_dir() else path
    try:
        known = pq.read_schema(file).names
        missing = [c for c in _NEEDED if c not in known]
        if missing:
            raise DataError(f"{file}: no column '{missing[0]}'; wanted the rows of a study ({', '.join(_NEEDED)})")
        wanted = [*_NEEDED, *(c for c in _OPTIONAL if c in known)]
        (memory or Memory()).charge(unpacked(file, wanted), file)
        with pq.ParquetFile(file, read_dictionary=[c for c in (*_CODED, *_TEXTS) if c in known]) as opened:
            table = opened.read(columns=wanted)
    except (pa.ArrowException, OSError, ValueError) as err:
        raise DataError(f"{file}: not a Parquet file of rows ({printable(str(err))})") from err
    return build_arms(table, file, questions, model)


def build_arms(table: Any, file: Path, questions: Questions, only: str | None) -> tuple[list[Arm], list[str]]:
    """Arms of a table with columns of `READ`: at least question, policy and verdict, and all that keys need."""
    if table.num_rows == 0:
        raise DataError(f"{file}: no rows; the study has not run yet")
    run = file.resolve().parent.name if file.name in ("rows.parquet", "rows.jsonl") else file.name
    return _arms(_Columns(table), file, questions, only, run, _made(file.parent / "summary.json"))


def _made(summary: Path) -> dict[str, str]:
    """Where the rows were made, from the summary beside them; nothing where there is none."""
    try:
        return provenance_fields(json.loads(read_file(summary))["provenance"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def provenance_fields(about: Mapping[str, Any]) -> dict[str, str]:
    """From a run's provenance; what it does not say is left out."""
    engine = about["engine"]
    version = f"{engine.get('engine', '')} {engine.get('version', '')}".strip()
    found = {k: str(about.get(k) or "") for k in ("hardware", "dtype", "prompts", "grader")}
    found |= {"engine": version, "weights": str(engine.get("fingerprint") or "")}
    marks = [str(engine.get(tag) or "") for tag in ("open_tag", "close_tag")]
    dialect = engine.get("dialect") or (" ... ".join(marks).strip() if any(marks) else "")
    found |= {"dialect": str(dialect), "dialect_by": str(engine.get("dialect_by") or "")}
    return {k: v for k, v in found.items() if v}


class _Columns:
    """The rows as arrays. Nothing is kept of the table they were read from, which takes as much again."""

    def __init__(self, table: Any) -> None:
        known = table.column_names
        self.rows = int(table.num_rows)
        self.text = {n: Coded(table[n]) for n in (*_CODED, *_TEXTS) if n in known}
        self.number = {n: numbers(table[n]).astype(np.int64, copy=False) for n in COUNTS if n in known}
        self.ended = numbers(table["ended"]).astype(np.bool_, copy=False) if "ended" in known else None

    @cached_property
    def alphabetical(self) -> NDArray[np.int64]:
        """The rank of each question's name."""
        names = self.text["question"].texts
        rank = np.empty(len(names), dtype=np.int64)
        rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        return rank

    def key(self, name: str) -> Whole:
        """A column that tells rows apart, as whole numbers."""
        return self.number[name] if name in self.number else self.text[name].codes


def _arms(
    columns: _Columns, file: Path, questions: Questions, only: str | None, run: str, provenance: Mapping[str, str]
) -> tuple[list[Arm], list[str]]:
    text, number, ended = columns.text, columns.number, columns.ended
    tokens = number.get("tokens_charged")
    negative = np.flatnonzero(tokens < 0) if tokens is not None else np.zeros(0)
    if negative.size:
        raise DataError(f"{file}, row {negative[0] + 1}, column 'tokens_charged': a count is negative")
    ids = questions.codes(text["question"].texts)
    golds = np.array([_hash(t) for t in text["gold_hash"].texts] if "gold_hash" in text else [], dtype=np.uint64)
    keys = [
        columns.key(name)
        for name in ("model", "task", "policy", "budget", "seed")
        if name != "budget" or "budget" in number
    ]
    words = {n: np.array(text[n].texts, dtype=object) for n in ("group", "stage") if n in text}
    if "stage" in words:
        words["stage"][np.isin(words["stage"], _ANSWER_PASS)] = "answer"
    seconds = _seconds(columns, file.with_name(times.FILE))
    group, starts = _grouped(keys)
    arms = []
    for rows in np.split(group, starts[1:]):
        at = rows[0]
        name = text["model"].of(at)
        if only is not None and same_model(name) != same_model(only):
            continue
        graded = rows[text["verdict"].codes[rows] >= 0]
        if len(graded) == 0:
            continue
        policy, options = split_label(text["policy"].of(at))
        budget = int(number["budget"][at]) if "budget" in number else None
        extra: dict[str, NDArray[Any]] = {k: found[text[k].codes[graded]] for k, found in words.items()}
        # A projection adds tokens, so its lengths are not the chain's.
        if declared(policy).plain == "think" and "tokens_think" in number:
            extra["tokens_think"] = number["tokens_think"][graded]
        if seconds is not None:
            extra["wall_s"] = seconds[graded]
        extra |= _noted(text.get("notes"), graded)
        arm = Arm(
            policy=policy,
            budget=budget,
            file=run,
            provenance=provenance,
            question=ids[text["question"].codes[graded]],
            verdict=np.where(text["verdict"].are("right", graded), RIGHT, WRONG).astype(np.int8),
            tokens=None if tokens is None else tokens[graded],
            ended=None if ended is None else ended[graded],
            criterion="unknown" if ended is None else "end-of-turn token",
            content=golds[text["gold_hash"].codes[graded]] if "gold_hash" in text else None,
            model=canonical(name),
            model_as_logged=name,
            task=text["task"].of(at),
            seed=int(number["seed"][at]),
            failed=len(rows) - len(graded),
            options=options,
            stages=Stages()
            if budget is None
            else _planned(_stages(columns, graded, policy, budget), options, budget),
            unreadable=int(text["verdict"].are("unreadable", graded).sum()),
            extra=extra,
        )
        _refuse_repeats(arm, questions, file)
        arms.append(arm)
    if not arms:
        known = ", ".join(text["model"].texts)
        raise DataError(f"{file}: no graded row{f' of model {only!r}' if only else ''}; models in it: {known}")
    return _alike(arms), _notes(arms, run)


def _seconds(columns: _Columns, file: Path) -> NDArray[np.float64] | None:
    """Seconds that each row took, if the file beside the rows has all of them."""
    try:
        timed = read_columns(file, (*times.KEYS, "wall_s"))
        both = [np.concatenate(_paired(columns, timed, name)) for name in times.KEYS]
        stored = timed.number("wall_s").astype(np.float64)
    except (DataError, ValueError, KeyError):
        return None
    # Row files differ in order: the study writes JSONL as answers come and Parquet by plan.
    first, place = distinct(both)
    seconds, known = np.full(len(first), np.nan), np.zeros(len(first), dtype=np.bool_)
    seconds[place[columns.rows :]], known[place[columns.rows :]] = stored, True
    here = place[: columns.rows]
    return seconds[here] if known[here].all() else None


def _paired(here: _Columns, there: RowColumns, name: str) -> tuple[Whole, Whole]:
    """A key column of both files in the same codes; texts are compared once each, not row by row."""
    if name in times.NUMBERS:
        return here.number[name], there.number(name).astype(np.int64)
    ours, theirs = here.text[name], there.text(name)
    known = {text: code for code, text in enumerate(ours.texts)}
    translated = np.array([*(known.get(text, -2) for text in theirs.texts), -1], dtype=np.int32)
    return ours.codes, translated[theirs.codes]


def _noted(notes: Coded | None, rows: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Notes that every row of an arm has. A trace that was not handed on named nothing to the answer pass."""
    if notes is None or all(notes.texts[code] == "{}" for code in np.unique(notes.codes[rows]) if code >= 0):
        return {}
    said = {code: json.loads(notes.texts[code]) if code >= 0 else {} for code in np.unique(notes.codes[rows])}
    mine = [said[code] for code in notes.codes[rows]]
    if any("gold_in_trace" in m for m in mine):
        mine = [{"gold_in_trace": False, **m} for m in mine]
    return {k: np.array([m[k] for m in mine]) for k in _NOTES if all(k in m for m in mine)}


def _stages(columns: _Columns, rows: NDArray[np.int64], policy: str, budget: int) -> Stages:
    """Budgets of the first try, the thinking and the answer pass, from the row that made the most calls."""
    calls = columns.number.get("calls")
    if "stages" not in columns.text or calls is None:
        return Stages()
    most = rows[calls[rows] == calls[rows].max()]
    # Of several such rows the same one in every order of rows.
    most = most[[int(np.argmin(columns.alphabetical[columns.text["question"].codes[most]]))]]
    # A stage is written as [name, budget, ...]; rounds are numbered.
    stages = [(str(s[0]), int(s[1])) for s in json.loads(columns.text["stages"].at(most)[0] or "[]")]
    seen: dict[str, int] = {}
    for name, allowed in stages:
        seen.setdefault(name.rstrip("0123456789"), allowed)
    known = declared(policy)
    if not {"think", "probe"} & seen.keys() or stages == [("think", budget)] or known.falls_back_to:
        return Stages()
    first, think = seen.pop("probe", None), seen.pop("think", None)
    answer = 0 if known.coupled else sum(seen.values()) or None
    rounds = None if think is None else sum(1 for name, _ in stages if name.rstrip("0123456789") == "think")
    if rounds and rounds > 1 and not known.refines:
        # A thought that is written piece by piece, with trials between: a piece is no stage that others share.
        return Stages()
    return Stages(first, think, answer, rounds)


def _planned(seen: Stages, options: Mapping[str, Any], budget: int) -> Stages:
    """Passes that no question needed have the budgets of the policy's options, where all of it fits the cap."""
    if seen.first is None:
        return seen
    said = {name: value for name, value in options.items() if type(value) is int}
    think = said.get("think", said.get("second")) if seen.think is None else seen.think
    answer = said.get("answer") if seen.answer is None else seen.answer
    rounds = said.get("rounds", 1) if seen.rounds is None else seen.rounds
    fits = think is not None and seen.first + rounds * (think + (answer or 0)) <= budget
    return Stages(seen.first, think, answer, rounds) if fits else seen


def _alike(arms: list[Arm]) -> list[Arm]:
    """Seeds of one arm have one set of budgets, that of the seed which showed most of them."""
    best: dict[tuple[str, str, str, int | None], Stages] = {}
    for arm in arms:
        key = (arm.model, arm.task, arm.method, arm.budget)
        best[key] = max(best.get(key, arm.stages), arm.stages, key=lambda s: (s.told, s.rounds or 0))
    return [replace(a, stages=best[a.model, a.task, a.method, a.budget]) for a in arms]


def _hash(text: str | None) -> int:
    try:
        # Our own hashes are hexadecimal already; the first 64 bits of one are as good as a hash of it.
        return int((text or "")[:16], 16) or 1
    except ValueError:
        return content_hash(text or "")


def _grouped(keys: list[Whole]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers sorted by key, rows of one key in file order, and where each key starts."""
    order = np.lexsort(keys[::-1])
    changed = np.zeros(len(order), dtype=np.bool_)
    changed[0] = True
    for key in keys:
        ranked = key[order]
        changed[1:] |= ranked[1:] != ranked[:-1]
    return order, np.flatnonzero(changed)


def _refuse_repeats(arm: Arm, questions: Questions, file: Path) -> None:
    first, _ = distinct([arm.question])
    if len(first) < arm.n:
        again = np.setdiff1d(np.arange(arm.n), first)[0]
        name = questions.names[int(arm.question[again])]
        raise DataError(f"{file}, column 'question': {name!r} occurs twice in {arm.name}, seed {arm.seed}")


def _notes(arms: list[Arm], run: str) -> list[str]:
    failed = sum(a.failed for a in arms)
    said = [f"{run}: {failed} rows failed and are left out; a failure is not a wrong answer"] if failed else []
    unread = sum(a.unreadable for a in arms)
    if unread:
        said.append(f"{run}: {unread} answers could not be read and count as wrong")
    return said
