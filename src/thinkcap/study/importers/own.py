"""Our own studies: `rows.parquet`, or the folder that holds it, without a loop over rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinkcap.core.errors import DataError
from thinkcap.study.records import Arm, Questions, content_hash

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

_TEXTS = ["question", "task", "model", "policy", "verdict", "gold_hash", "group", "stage"]


def read(path: Path, questions: Questions, model: str | None = None) -> tuple[list[Arm], list[str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = path / "rows.parquet" if path.is_dir() else path
    try:
        parquet = pq.ParquetFile(file, read_dictionary=_TEXTS)
        missing = [c for c in _NEEDED if c not in parquet.schema_arrow.names]
        if missing:
            raise DataError(f"{file}: no column '{missing[0]}'; wanted the rows of a study ({', '.join(_NEEDED)})")
        wanted = [
            *_NEEDED,
            *(c for c in ("group", "stage", "stages") if c in parquet.schema_arrow.names),
        ]
        table = parquet.read(columns=wanted)
    except (pa.ArrowInvalid, OSError) as err:
        raise DataError(f"{file}: not a Parquet file of rows ({err})") from err
    if table.num_rows == 0:
        raise DataError(f"{file}: no rows; the study has not run yet")
    return _arms(table, file, questions, model)


def _is_coded(column: Any) -> bool:
    return hasattr(column.type, "index_type")


class _Coded:
    """A text column as codes and the texts they stand for."""

    def __init__(self, column: Any) -> None:
        coded = column.unify_dictionaries().combine_chunks() if _is_coded(column) else column.combine_chunks()
        coded = coded if _is_coded(coded) else coded.dictionary_encode()
        self.codes: NDArray[np.int64] = np.asarray(coded.indices.fill_null(-1), dtype=np.int64)
        self.texts: list[str] = coded.dictionary.to_pylist()


def _arms(table: Any, file: Path, questions: Questions, only: str | None) -> tuple[list[Arm], list[str]]:
    text = {n: _Coded(table[n]) for n in ("question", "task", "model", "policy", "verdict", "gold_hash")}
    number = {n: table[n].to_numpy().astype(np.int64) for n in ("budget", "seed", "tokens_charged")}
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
        arm = Arm(
            policy=text["policy"].texts[text["policy"].codes[at]],
            budget=int(number["budget"][at]),
            file=file.name,
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
            settings=_passes(table, graded, extra),
            unreadable=int((text["verdict"].codes[graded] == unread_code).sum()),
            extra={
                # Our stages have names; the numbers 1-3 are the authors'.
                "stage_name" if k == "stage" else k: np.array(c.texts, dtype=object)[c.codes[graded]]
                for k, c in extra.items()
            },
        )
        _refuse_repeats(arm, questions, file)
        arms.append(arm)
    if not arms:
        known = ", ".join(text["model"].texts)
        raise DataError(f"{file}: no graded row{f' of model {only!r}' if only else ''}; models in it: {known}")
    return arms, _notes(arms, file)


def _passes(table: Any, rows: NDArray[np.int64], extra: dict[str, _Coded]) -> dict[str, int]:
    """Budgets of the thinking and the answer pass, from the first row that an answer pass answered."""
    if "stages" not in table.column_names or "stage" not in extra:
        return {}
    named = extra["stage"]
    if "extract" not in named.texts:
        return {}
    found = rows[named.codes[rows] == named.texts.index("extract")]
    if len(found) == 0:
        return {}
    # A stage is written as [name, budget, ...].
    stages = {str(s[0]): int(s[1]) for s in json.loads(table["stages"][int(found[0])].as_py() or "[]")}
    wanted = {"think": stages.get("think"), "answer": stages.get("extract")}
    return {k: v for k, v in wanted.items() if v is not None}


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


def _notes(arms: list[Arm], file: Path) -> list[str]:
    failed = sum(a.failed for a in arms)
    said = [f"{file.name}: {failed} rows failed and are left out; a failure is no wrong answer"] if failed else []
    unread = sum(a.unreadable for a in arms)
    if unread:
        said.append(f"{file.name}: {unread} answers could not be read and count as not right")
    return said
