"""Logs of any tool into `Records`, recognised by content, so that nobody has to name a format.

>>> read([Path("samples_gsm8k_2026.jsonl")])      # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.logs import inspect_logs, lmeval, own, plain
from thinkcap.logs.arms import Arm, Questions, Records, by_flag
from thinkcap.logs.plain import Overrides
from thinkcap.logs.reading import json_lines, json_of, lines_of
from thinkcap.paper import authors, authors_csv

_RECOGNISED = (
    "rows.parquet of a study, samples_*.jsonl of lm-evaluation-harness, .eval or .json of inspect_ai, "
    "JSONL or CSV with a column map"
)

_MISSHAPEN = (KeyError, IndexError, TypeError, AttributeError, ValueError)
"""What indexing a document raises when it holds other things than its first keys promise."""


def read(
    paths: Sequence[Path],
    *,
    columns: dict[str, str] | None = None,
    policies: Sequence[str] = (),
    budgets: Sequence[int] = (),
    model: str | None = None,
    stop: str = "event",
) -> Records:
    """All logs as one set of records; `policies`, `budgets` name what a file lacks: one for all, or one each."""
    if not paths:
        raise ConfigError("no log was named; wanted at least one file or study folder")
    if stop not in ("event", "flag"):
        raise ConfigError(f"stop criterion '{stop}' is unknown; known: event, flag")
    files = [file for path in paths for file in _files(Path(path))]
    questions = Questions()
    arms: list[Arm] = []
    notes: list[str] = []
    for i, file in enumerate(files):
        about = Overrides(columns, _each(policies, i, len(files), "--as"), None, model)
        about = replace(about, budget=_each(budgets, i, len(files), "--budget"))
        found, said = _one(file, questions, about)
        # Two runs may have one name: then the second carries a number, or they would be taken for one run.
        arms += _renamed(found, {a.file for a in arms})
        notes += said
    flagged = [a for a in arms if a.flag_rule == "tokens < int(0.95 b)"]
    if flagged:
        names = ", ".join(dict.fromkeys(a.file for a in flagged))
        used = "it is used on request" if stop == "flag" else "the event used is tokens < b"
        notes.append(f"{names}: the stored stop flag means tokens < int(0.95 b), not the end of the turn; {used}")
    if stop == "flag":
        if not any(a.flag is not None for a in arms):
            raise ConfigError("--stop flag: none of these logs stores a stop flag; use --stop event")
        arms = [by_flag(a) for a in arms]
    return Records(tuple(arms), tuple(dict.fromkeys(notes)))


def _renamed(found: list[Arm], taken: set[str]) -> list[Arm]:
    names: dict[str, str] = {}
    for name in dict.fromkeys(a.file for a in found):
        fresh, number = name, 2
        while fresh in taken:
            fresh, number = f"{name} ({number})", number + 1
        names[name] = fresh
    return [a if names[a.file] == a.file else replace(a, file=names[a.file]) for a in found]


def _each(values: Sequence[Any], i: int, n: int, option: str) -> Any:
    if not values:
        return None
    if len(values) not in (1, n):
        raise ConfigError(f"{option} was given {len(values)} times for {n} files; give it once or once per file")
    return values[0] if len(values) == 1 else values[i]


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise DataError(f"{path}: no such file or folder")
    if not path.is_dir() or (path / "rows.parquet").is_file():
        return [path]
    found = sorted([*path.rglob("samples_*.jsonl"), *path.rglob("*.eval")])
    if not found:
        raise DataError(f"{path}: no log inside; wanted {_RECOGNISED}")
    return found


def _one(file: Path, questions: Questions, about: Overrides) -> tuple[list[Arm], list[str]]:
    suffix = file.suffix.lower()
    if file.is_dir() or suffix == ".parquet":
        return own.read(file, questions, about.model)
    if suffix == ".eval":
        try:
            return inspect_logs.read_zip(file, questions, about)
        except _MISSHAPEN as err:
            raise DataError(
                f"{file}, line 1: not built like an inspect log ({type(err).__name__}: {err})"
            ) from err
    if suffix == ".json":
        return _json(file, questions, about)
    if suffix in (".csv", ".tsv"):
        header = next(lines_of(file))[1].strip().split(",")
        if about.columns is None and authors_csv.recognise(h.strip('"') for h in header):
            return authors_csv.read(file, questions)
        return plain.read(file, questions, about)
    if suffix in (".jsonl", ".ndjson"):
        first = next(json_lines(file))[1]
        if about.columns is None and lmeval.recognise(first):
            return lmeval.read(file, questions, about)
        return plain.read(file, questions, about)
    raise DataError(f"{file}: unknown kind '{suffix or file.name}'; wanted {_RECOGNISED}")


def _json(file: Path, questions: Questions, about: Overrides) -> tuple[list[Arm], list[str]]:
    data = json_of(file)
    try:
        if inspect_logs.recognise(data):
            return inspect_logs.read_json(data, file, questions, about)
        if authors.recognise(data) is not None:
            return authors.read(data, file, questions)
    except _MISSHAPEN as err:
        raise DataError(
            f"{file}, line 1: it begins like a log but is not built like one ({type(err).__name__}: {err})"
        ) from err
    raise DataError(f"{file}, line 1: this JSON is no log thinkcap knows; wanted {_RECOGNISED}")
