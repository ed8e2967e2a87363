"""Rows of our own studies outside `rows.parquet`: `rows.jsonl`, a copy under another name, or a part of it.

    thinkcap diagnose runs/study/rows.jsonl
    jq -c 'select(.task == "gsm8k") | {question, policy, budget, seed, verdict, text}' rows.jsonl > part.jsonl

The stored verdicts count: the rows hold a hash of the reference answer, so nobody can grade them again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from thinkcap.core.errors import DataError
from thinkcap.core.types import Verdict
from thinkcap.logs.arms import Questions
from thinkcap.logs.formats.study import COUNTS, READ, build_arms
from thinkcap.logs.reading import Log, refused, shown, verdict, whole
from thinkcap.logs.said import Found, Said
from thinkcap.study.rows import RENAMED, Row
from thinkcap.study.times import KEYS

_FIELDS = frozenset(field.name for field in msgspec.structs.fields(Row)) | set(RENAMED.values())
_TELLING = frozenset({"gold_hash", "tokens_charged", "tokens_generated", "tokens_reread", "dialect_by", "claims"})
"""Fields whose names no other tool uses."""
_VERDICTS: tuple[Any, ...] = (*Verdict.__args__, None, "")  # type: ignore[attr-defined]
_NESTED = {"stages": "[]", "notes": "{}"}
_ROW = 1000
"""Bytes that a row takes until it is an array, about."""


def recognise(log: Log) -> bool:
    first = _first(log)
    if "question" not in first:
        return False
    whole_row = first.keys() <= _FIELDS and "verdict" in first
    return bool(first.keys() & _TELLING) or (whole_row and (log.is_table or first["verdict"] in _VERDICTS))


def _first(log: Log) -> Mapping[str, Any]:
    """The first row, or the names of a table's columns."""
    if log.is_table:
        return dict.fromkeys(log.header)
    if log.suffix == ".json":
        rows = log.document if isinstance(log.document, list) else []
        return rows[0] if rows and isinstance(rows[0], Mapping) else {}
    if log.suffix == ".parquet":
        return next((row for _, row in log.rows()), {})
    return log.first


def read(log: Log, questions: Questions, said: Said) -> Found:
    import pyarrow as pa

    rows = enumerate(log.document, start=1) if log.suffix == ".json" else log.rows()
    table = _Table(log, _first(log).keys(), said)
    for line, row in rows:
        table.add(f"row {line}" if log.suffix == ".json" else line, row)
    kinds = {**dict.fromkeys(COUNTS, pa.int64()), "ended": pa.bool_()}
    arrays = {n: pa.array(values, kinds.get(n, pa.string())) for n, values in table.columns.items()}
    arms, notes = build_arms(pa.table(arrays), log.path, questions, said.only)
    return Found(arms, [f"{arms[0].file}: {note}" for note in table.notes()] + notes)


class _Table:
    """The columns that a diagnosis uses, row by row. Of equal keys the last row counts, as in the study."""

    def __init__(self, log: Log, names: Any, said: Said) -> None:
        self.log, self.said = log, said
        self.names = [name for name in READ if name in names]
        self.given = {"policy": said.policy, "budget": said.budget, "model": "", "task": "", "seed": 0}
        self.given = {n: v for n, v in self.given.items() if n not in self.names and v is not None}
        for name in ("verdict", "policy"):
            if name not in self.names and name not in self.given:
                instead = "keep that column" + (", or name the policy: --as POLICY" if name == "policy" else "")
                raise DataError(f"{log.path}: rows of a study without column '{name}'; {instead}")
        self.columns: dict[str, list[Any]] = {name: [] for name in (*self.names, *self.given)}
        self.replaced = 0
        self._places: dict[tuple[Any, ...], int] = {}
        self._keys = [name for name in ("model", *KEYS) if name in self.columns]

    def add(self, line: object, row: Any) -> None:
        if not isinstance(row, Mapping):
            raise refused(self.log.path, line, 1, f"wanted an object, got {type(row).__name__}")
        self.log.memory.charge(_ROW, self.log.path)
        values = self.given | {name: self._value(row.get(name), name, line) for name in self.names}
        key = tuple(values[name] for name in self._keys)
        at = self._places.get(key)
        if at is None:
            self._places[key] = len(self._places)
            for name, value in values.items():
                self.columns[name].append(value)
            return
        if lost := [name for name in KEYS if name not in self.names]:
            why = f"{shown(values['question'])} occurred before; keep the columns that tell its rows apart"
            raise refused(self.log.path, line, "question", f"{why} ({', '.join(lost)})")
        self.replaced += self.columns["verdict"][at] is not None
        for name, value in values.items():
            self.columns[name][at] = value

    def _value(self, value: Any, name: str, line: object) -> Any:
        where = (str(self.log.path), line, name)
        if name in _NESTED:
            return value if isinstance(value, str) and value else json.dumps(value) if value else _NESTED[name]
        if name == "verdict":
            if value not in _VERDICTS:
                wanted = ", ".join(v for v in _VERDICTS if v)
                raise refused(*where, f"{shown(value)} is not a verdict of a study; wanted {wanted}")
            return value or None
        if name in ("group", "stage", "task", "model"):
            return str(value or "")
        if value is None or value == "":
            raise refused(*where, "no value, but other rows have one; complete the rows or drop the column")
        if name == "ended":
            return verdict(value, *where)
        return whole(value, *where) if name in COUNTS else str(value)

    def notes(self) -> list[str]:
        missing = [n for n in ("budget", "ended", "tokens_charged", "gold_hash") if n not in self.columns]
        said = [f"these rows lack {', '.join(missing)}; what needs that is left out"] if missing else []
        if self.replaced:
            rows = "1 row was" if self.replaced == 1 else f"{self.replaced} rows were"
            said.append(f"{rows} replaced by a later row of the same question and configuration")
        return said
