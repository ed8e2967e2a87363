"""Our own studies: `rows.parquet`, or the folder that holds it, without a loop over rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinkcap.core.errors import DataError
from thinkcap.diagnose.passes import THINKING
from thinkcap.logs.arms import Arm, Questions, content_hash
from thinkcap.verdict.origin import told

_NEEDED = (
    "question",
    "task",
    "model",
    "policy",
    "budget",
    "seed",
    "verdict",
    "ended",
    "tokens_charged",
    "gold_hash",
)

_WELCOME = ("group", "stage", "stages", "calls", "tokens_think")

_TEXTS = ["question", "task", "model", "policy", "verdict", "gold_hash", "group", "stage"]


def read(path: Path, questions: Questions, model: str | None = None) -> tuple[list[Arm], list[str]]:
    """Arms carry the name of the run's folder, since the rows of every run are called rows.parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = path / "rows.parquet" if path.is_dir() else path
    try:
        known = pq.read_schema(file).names
        missing = [c for c in _NEEDED if c not in known]
        if missing:
            raise DataError(f"{file}: no column '{missing[0]}'; wanted the rows of a study ({', '.join(_NEEDED)})")
        wanted = [*_NEEDED, *(c for c in _WELCOME if c in known)]
        table = pq.ParquetFile(file, read_dictionary=[c for c in _TEXTS if c in known]).read(columns=wanted)
    except (pa.ArrowInvalid, OSError) as err:
        raise DataError(f"{file}: not a Parquet file of rows ({err})") from err
    if table.num_rows == 0:
        raise DataError(f"{file}: no rows; the study has not run yet")
    run = file.resolve().parent.name if file.name == "rows.parquet" else file.name
    return _arms(table, file, questions, model, run, _made(file.parent / "summary.json"))


def _made(summary: Path) -> dict[str, str]:
    """Where the rows were made, from the summary beside them; nothing where there is none."""
    try:
        return told(json.loads(summary.read_text(encoding="utf-8"))["provenance"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _is_coded(column: Any) -> bool:
    return hasattr(column.type, "index_type")


class _Coded:
    """A text column as codes and the texts they stand for."""

    def __init__(self, column: Any) -> None:
        coded = column.unify_dictionaries().combine_chunks() if _is_coded(column) else column.combine_chunks()
        coded = coded if _is_coded(coded) else coded.dictionary_encode()
        self.codes: NDArray[np.int64] = np.asarray(coded.indices.fill_null(-1), dtype=np.int64)
        self.texts: list[str] = coded.dictionary.to_pylist()


def _arms(
    table: Any, file: Path, questions: Questions, only: str | None, run: str, made: Mapping[str, str]
) -> tuple[list[Arm], list[str]]:
    text = {n: _Coded(table[n]) for n in ("question", "task", "model", "policy", "verdict", "gold_hash")}
    counted = [
        "budget",
        "seed",
        "tokens_charged",
        *(n for n in ("calls", "tokens_think") if n in table.column_names),
    ]
    number = {n: table[n].to_numpy().astype(np.int64) for n in counted}
    ended = table["ended"].to_numpy(zero_copy_only=False).astype(np.bool_)
    negative = np.flatnonzero(number["tokens_charged"] < 0)
    if negative.size:
        raise DataError(f"{file}, row {negative[0] + 1}, column 'tokens_charged': a count is negative")
    ids = questions.codes(text["question"].texts)[text["question"].codes]
    golds = np.array([_hash(t) for t in text["gold_hash"].texts], dtype=np.uint64)[text["gold_hash"].codes]
    right_code = _code(text["verdict"], "right")
    unread_code = _code(text["verdict"], "unreadable")
    keys = [text["model"].codes, text["task"].codes, text["policy"].codes, number["budget"], number["seed"]]
    extra = {n: _Coded(table[n]) for n in ("group", "stage") if n in table.column_names}
    group, starts = _grouped(keys)
    arms = []
    for rows in np.split(group, starts[1:]):
        at = rows[0]
        name = text["model"].texts[text["model"].codes[at]]
        if only is not None and name != only:
            continue
        graded = rows[text["verdict"].codes[rows] >= 0]
        if len(graded) == 0:
            continue
        policy, budget = text["policy"].texts[text["policy"].codes[at]], int(number["budget"][at])
        columns = {
            # Our stages have names; the numbers 1-3 are the authors'.
            "stage_name" if k == "stage" else k: np.array(c.texts, dtype=object)[c.codes[graded]]
            for k, c in extra.items()
        }
        if policy in THINKING and "tokens_think" in number:
            columns["tokens_think"] = number["tokens_think"][graded]
        arm = Arm(
            policy=policy,
            budget=budget,
            file=run,
            made=made,
            question=ids[graded],
            right=text["verdict"].codes[graded] == right_code,
            tokens=number["tokens_charged"][graded],
            ended=ended[graded],
            criterion="end-of-turn token",
            content=golds[graded],
            model=name,
            task=text["task"].texts[text["task"].codes[at]],
            seed=int(number["seed"][at]),
            failed=len(rows) - len(graded),
            settings=_passes(table, graded, number.get("calls"), budget),
            unreadable=int((text["verdict"].codes[graded] == unread_code).sum()),
            extra=columns,
        )
        _refuse_repeats(arm, questions, file)
        arms.append(arm)
    if not arms:
        known = ", ".join(text["model"].texts)
        raise DataError(f"{file}: no graded row{f' of model {only!r}' if only else ''}; models in it: {known}")
    return _alike(arms), _notes(arms, run)


def _passes(table: Any, rows: NDArray[np.int64], calls: NDArray[np.int64] | None, budget: int) -> dict[str, int]:
    """Budgets of the first try, the thinking and the answer pass, from the row that made the most calls."""
    if "stages" not in table.column_names or calls is None:
        return {}
    most = int(rows[int(np.argmax(calls[rows]))])
    # A stage is written as [name, budget, ...]; rounds are numbered.
    stages = [(str(s[0]), int(s[1])) for s in json.loads(table["stages"][most].as_py() or "[]")]
    seen: dict[str, int] = {}
    for name, allowed in stages:
        seen.setdefault(name.rstrip("0123456789"), allowed)
    if not {"think", "probe"} & seen.keys() or stages == [("think", budget)]:
        return {}
    found = {
        "first": seen.pop("probe", None),
        "think": seen.pop("think", None),
        "answer": sum(seen.values()) or None,
    }
    if found["think"] is not None:
        found["rounds"] = sum(1 for name, _ in stages if name.rstrip("0123456789") == "think")
    return {k: v for k, v in found.items() if v is not None}


def _alike(arms: list[Arm]) -> list[Arm]:
    """Seeds of one arm have one set of budgets, that of the seed which showed most of them."""
    best: dict[tuple[str, str, str, int | None], tuple[tuple[int, int], Any]] = {}
    for arm in arms:
        shown = (len(arm.settings), arm.settings.get("rounds", 0)), arm.settings
        key = (arm.model, arm.task, arm.policy, arm.budget)
        best[key] = max(best.get(key, shown), shown, key=lambda s: s[0])
    return [replace(a, settings=best[a.model, a.task, a.policy, a.budget][1]) for a in arms]


def _code(column: _Coded, word: str) -> int:
    return column.texts.index(word) if word in column.texts else -2


def _hash(text: str | None) -> int:
    try:
        # Our own hashes are hexadecimal already; the first 64 bits of one are as good as a hash of it.
        return int((text or "")[:16], 16) or 1
    except ValueError:
        return content_hash(text or "")


def _grouped(keys: list[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers sorted by key, rows of one key in file order, and where each key starts."""
    order = np.lexsort(keys[::-1])
    changed = np.zeros(len(order), dtype=np.bool_)
    changed[0] = True
    for key in keys:
        ranked = key[order]
        changed[1:] |= ranked[1:] != ranked[:-1]
    return order, np.flatnonzero(changed)


def _refuse_repeats(arm: Arm, questions: Questions, file: Path) -> None:
    values, first = np.unique(arm.question, return_index=True)
    if len(values) < arm.n:
        again = np.setdiff1d(np.arange(arm.n), first)[0]
        name = questions.names[int(arm.question[again])]
        raise DataError(f"{file}, column 'question': {name!r} occurs twice in {arm.name}, seed {arm.seed}")


def _notes(arms: list[Arm], run: str) -> list[str]:
    failed = sum(a.failed for a in arms)
    said = [f"{run}: {failed} rows failed and are left out; a failure is no wrong answer"] if failed else []
    unread = sum(a.unreadable for a in arms)
    if unread:
        said.append(f"{run}: {unread} answers could not be read and count as not right")
    return said
