"""Logs of any tool into `Records`, recognised by content, so that nobody has to name a format.

>>> read([Path("samples_gsm8k_2026.jsonl")])      # doctest: +SKIP
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.core.names import guest
from thinkcap.logs import formats
from thinkcap.logs.arms import Arm, Questions, Records, by_flag
from thinkcap.logs.documents import runs_in
from thinkcap.logs.memory import DEFAULT, Memory
from thinkcap.logs.models import canonical, spellings
from thinkcap.logs.reading import Log, printable, regular
from thinkcap.logs.rows import WRITTEN, Heading, read_rows
from thinkcap.logs.said import Found, Said

_GUEST = "thinkcap.paper.authors"
"""Formats of a room above this one, by name: not missed where that room is not installed."""

_SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".eval")
_WANTED = (
    "a study's folder or rows.parquet, samples_*.jsonl of lm-evaluation-harness, .eval or .json of inspect_ai, "
    "or rows of any tool as JSONL, JSON, CSV or Parquet"
)

_MISSHAPEN = (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError, RecursionError)
"""What indexing a document raises when it holds other things than its first keys promise."""


class LogFormat(Protocol):
    """A module of `thinkcap.logs.formats`."""

    def recognise(self, log: Log) -> bool: ...
    def read(self, log: Log, questions: Questions, said: Said) -> Found: ...


def read(
    paths: Sequence[Path],
    *,
    columns: Mapping[str, str] | None = None,
    policies: Sequence[str] = (),
    budgets: Sequence[int] = (),
    model: str | None = None,
    named: Sequence[Mapping[str, str]] = (),
    stop: str = "event",
    memory: int = DEFAULT,
    dialect: str = "",
    accept_grades: bool = False,
) -> Records:
    """All logs as one set of records.

    `policies`, `budgets` and `named` (model, task, mode) say what a file does not: one for all, or one each.
    Our grades must not contradict most of a log's own verdicts, unless `accept_grades` is true.
    """
    if not paths:
        raise ConfigError("no log was named; wanted at least one file or study folder")
    if stop not in ("event", "flag"):
        raise ConfigError(f"stop criterion '{stop}' is unknown; known: event, flag")
    files = [file for path in paths for file in files_of(Path(path))]
    questions, bound = Questions(), Memory(memory)
    arms: list[Arm] = []
    notes: list[str] = []
    for i, file in enumerate(files):
        said = Said(
            columns or {},
            _each(policies, i, len(files), "--as"),
            _each(budgets, i, len(files), "--budget"),
            model,
            _each(named, i, len(files), "--set") or {},
            dialect,
            accept_grades,
        )
        found = _one(Log(file, bound), questions, said)
        # Two runs may have one name: then the second carries a number, or they would be taken for one run.
        arms += _renamed([_completed(arm, said) for arm in found.arms], {a.file for a in arms})
        notes += found.notes
    notes += _about_flags(arms, stop)
    if stop == "flag":
        if not any(a.flag is not None for a in arms):
            raise ConfigError("--stop flag: none of these logs stores a stop flag; use --stop event")
        arms = [by_flag(a) for a in arms]
    names = spellings(a.model for a in arms)
    arms = [a if names[a.model] == a.model else replace(a, model=names[a.model]) for a in arms]
    return Records(tuple(_plain_names(arms)), tuple(dict.fromkeys(notes)))


def _plain_names(arms: Sequence[Arm]) -> Iterator[Arm]:
    """A variant is named only where another way of the same mode stands beside it."""
    ways: dict[tuple[object, ...], set[str]] = {}
    for arm in arms:
        ways.setdefault((arm.model, arm.task, arm.policy, arm.budget), set()).add(arm.method)
    for arm in arms:
        alone = len(ways[arm.model, arm.task, arm.policy, arm.budget]) == 1
        if arm.mode and alone and len(arm.options) == 1 and arm.options.keys() <= set(WRITTEN):
            (variant,) = arm.options.values()
            arm = replace(arm, options={}, provenance={**arm.provenance, "variant": str(variant)})
        yield arm


def _about_flags(arms: Sequence[Arm], stop: str) -> list[str]:
    flagged = sorted({a.file for a in arms if a.flag_rule == "tokens < int(0.95 b)"})
    if not flagged:
        return []
    used = "it is used on request" if stop == "flag" else "the event used is tokens < b"
    names = ", ".join(flagged)
    return [f"{names}: the stored stop flag means tokens < int(0.95 b), not the end of the turn; {used}"]


def _completed(arm: Arm, said: Said) -> Arm:
    """What --set names, where the log is silent."""
    return replace(
        arm,
        model=arm.model or canonical(said.named.get("model", "")),
        model_as_logged=arm.model_as_logged or said.named.get("model", ""),
        task=arm.task or said.named.get("task", ""),
        policy=said.mode or arm.policy if arm.policy == "answer" else arm.policy,
    )


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


def files_of(path: Path) -> list[Path]:
    regular(path)
    if not path.is_dir() or (path / "rows.parquet").is_file():
        return [path]
    found = sorted(p for p in path.rglob("*") if p.is_file() and Log(p).suffix in _SUFFIXES)
    # Beside samples and archives a tool's other files are its summaries.
    logs = [p for p in found if p.name.startswith("samples_") or p.suffix == ".eval" or p.name == "rows.parquet"]
    if not found:
        raise DataError(f"{path}: no log inside; wanted {_WANTED}")
    return logs or found


def _formats() -> Iterator[LogFormat]:
    for found in sorted(pkgutil.iter_modules(formats.__path__), key=lambda m: m.name):
        yield cast(LogFormat, import_module(f"{formats.__name__}.{found.name}"))
    if above := guest(_GUEST):
        yield cast(LogFormat, above)


def _one(log: Log, questions: Questions, said: Said) -> Found:
    if not log.path.is_dir() and log.suffix not in _SUFFIXES:
        raise DataError(f"{log.path}: unknown kind '{log.suffix or log.name}'; wanted {_WANTED}")
    try:
        # Whoever maps columns says that these are rows.
        known = () if said.columns and not log.path.is_dir() else _formats()
        for format_ in known:
            if format_.recognise(log):
                return format_.read(log, questions, said)
        return _any(log, questions, said)
    except _MISSHAPEN as err:
        what = printable(f"{type(err).__name__}: {err}")
        raise DataError(f"{log.path}, line 1: it begins like a log but is not one ({what})") from err


def _any(log: Log, questions: Questions, said: Said) -> Found:
    """Rows of a tool nobody here knows."""
    if log.suffix == ".json":
        return _document(log, questions, said)
    return read_rows(log.rows(), Heading(log.name), questions, said, log)


def _document(log: Log, questions: Questions, said: Said) -> Found:
    listed = runs_in(log.document, log.name)
    if not listed:
        raise DataError(f"{log.path}, line 1: no list of answers in it; wanted {_WANTED}")
    arms: list[Arm] = []
    notes: list[str] = []
    for run in listed:
        found = read_rows(run.numbered(log.path), run.heading, questions, said, log)
        arms += found.arms
        notes += found.notes
    return Found(arms, notes)
