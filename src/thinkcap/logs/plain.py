"""Anyone's JSONL or CSV: one line an answer, with a column map from the command line or guessed from common names.

thinkcap diagnose runs.csv --map id=idx,correct=acc,tokens=n_out,budget=cap,policy=mode
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.core.names import nearest
from thinkcap.logs.arms import Arm, Questions, content_hash, with_counted_end
from thinkcap.logs.builder import ArmBuilder
from thinkcap.logs.reading import decode, json_lines, verdict, whole

COMMON: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "idx", "index", "question_id", "qid", "doc_id", "sample_id", "question"),
    "correct": ("correct", "is_correct", "acc", "right", "verdict", "exact_match", "score"),
    "tokens": ("tokens", "n_tokens", "n_out", "output_tokens", "completion_tokens", "tokens_charged", "length"),
    "budget": ("budget", "max_tokens", "max_new_tokens", "cap"),
    "policy": ("policy", "mode", "method"),
    "ended": ("ended", "eos", "natural_stop"),
    "finish": ("finish_reason", "stop_reason", "finish"),
    "model": ("model", "model_name"),
    "gold": ("gold", "target", "reference", "gold_hash", "question_text"),
    "group": ("group", "subject", "category"),
    "seed": ("seed", "epoch", "sample"),
}
"""What may be mapped, and the column names tried for it when no map is given."""

STOPPED = frozenset({"stop", "eos", "eos_token", "end_turn", "stop_sequence", "end", "stop_token"})
CUT = frozenset({"length", "max_tokens", "model_length", "max_new_tokens", "max_length"})
_MODES = {
    "thinking": "think",
    "think": "think",
    "nothink": "nothink",
    "no_think": "nothink",
    "non_thinking": "nothink",
}


@dataclass(frozen=True)
class Overrides:
    """What the reader says about a file that the file does not."""

    columns: Mapping[str, str] | None = None
    policy: str | None = None
    budget: int | None = None
    model: str | None = None


def served_as(model: str) -> tuple[str, str | None]:
    """Model and policy from a name of our own gateway, `NAME+POLICY`; other names pass as they are.

    >>> served_as("local/pebble+nothink"), served_as("c4ai/command-r+")
    (('local/pebble', 'nothink'), ('c4ai/command-r+', None))
    """
    from thinkcap.policies.registry import POLICIES

    name, _, policy = model.rpartition("+")
    return (name, policy) if name and policy.partition("(")[0] in POLICIES else (model, None)


def parse_map(text: str) -> dict[str, str]:
    """`id=idx,correct=acc` as a table; refuses fields that do not exist."""
    table = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        field, sign, column = part.partition("=")
        if not sign or not column:
            raise ConfigError(f"--map: '{part}' is no pair; wanted field=column, such as id=idx")
        if field not in COMMON:
            raise ConfigError(f"--map: unknown field '{field}'{nearest(field, COMMON)}")
        table[field] = column
    return table


def finished(reason: Any, file: str, line: object, column: str) -> bool | None:
    """True when the model ended by itself, False when a cap cut it, None when nothing was stored."""
    if reason is None or reason == "":
        return None
    word = str(reason).strip().lower()
    if word in STOPPED:
        return True
    if word in CUT:
        return False
    place = f"line {line}" if isinstance(line, int) else str(line)
    raise DataError(
        f"{file}, {place}, column '{column}': finish reason {reason!r} is unknown; "
        f"known: {', '.join(sorted(STOPPED | CUT))}"
    )


def _csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        with path.open("rb") as stream:
            reader = csv.DictReader(decode(raw, path, i) for i, raw in enumerate(stream, 1))
            if not reader.fieldnames:
                raise DataError(f"{path}: the file is empty, line 1, column 1; nothing to diagnose")
            for row in reader:
                if None in row or None in row.values():
                    raise DataError(
                        f"{path}, line {reader.line_num}: {len(reader.fieldnames)} columns wanted, "
                        f"the header's; this line has {'more' if None in row else 'fewer'}"
                    )
                yield reader.line_num, row
    except OSError as err:
        raise DataError(f"{path}: cannot be read ({err.strerror}); wanted a log file") from err
    except csv.Error as err:
        raise DataError(f"{path}, line {reader.line_num}: not CSV ({err})") from err


def _columns(
    header: Iterable[str], path: Path, given: Mapping[str, str] | None
) -> tuple[dict[str, str], list[str]]:
    names = list(header)
    if given is not None:
        for field, column in given.items():
            if column not in names:
                raise DataError(
                    f"{path}, line 1, column '{column}': no such column for {field}{nearest(column, names)}"
                )
        found = dict(given)
    else:
        found = {f: next((c for c in known if c in names), "") for f, known in COMMON.items()}
        found = {f: c for f, c in found.items() if c}
    for field in ("id", "correct"):
        if field not in found:
            raise DataError(
                f"{path}, line 1: no column for '{field}' among {', '.join(names[:12])}; "
                f"name it: --map {field}=COLUMN"
            )
    notes = []
    if given is None:
        said = ", ".join(f"{f}={c}" for f, c in found.items())
        notes.append(f"{path.name}: columns guessed ({said}); pass --map to say otherwise")
    return found, notes


def read(path: Path, questions: Questions, about: Overrides) -> tuple[list[Arm], list[str]]:
    rows = _csv_rows(path) if path.suffix.lower() in (".csv", ".tsv") else json_lines(path)
    builders: dict[tuple[str, int | None, int | None], ArmBuilder] = {}
    columns: dict[str, str] = {}
    notes: list[str] = []
    model: str | None = None
    for line, row in rows:
        if not columns:
            columns, notes = _columns(row, path, about.columns)
        get = _getter(row, columns)
        model = _one_model(model, get("model"), path, line, columns, about.model)
        if model == "":
            model = None
            continue
        policy = about.policy or _MODES.get(str(get("policy")).lower(), str(get("policy") or "answer"))
        budget = about.budget
        if get("budget") not in (None, ""):
            budget = whole(get("budget"), path.name, line, columns["budget"])
        seed = get("seed")
        seed = None if seed in (None, "") else whole(seed, path.name, line, columns["seed"])
        key = (policy, budget, seed)
        if key not in builders:
            builders[key] = ArmBuilder(path.name, policy, budget, model=model or "", seed=seed, order=path.name)
        _add(builders[key], get, columns, path.name, line)
    if not builders:
        raise DataError(f"{path}, line 2: no rows; nothing to diagnose")
    arms = []
    for build in builders.values():
        arm = build.done(questions)
        known = arm.ended is not None
        arms.append(with_counted_end(arm) if not known else arm)
    return arms, notes


def _getter(row: Mapping[str, Any], columns: Mapping[str, str]) -> Any:
    return lambda field: row.get(columns[field]) if field in columns else None


def _one_model(
    before: str | None, seen: Any, path: Path, line: int, columns: Mapping[str, str], wanted: str | None
) -> str | None:
    """The file's one model; with --model, rows of others are passed over (marked by an empty text)."""
    if seen in (None, ""):
        return before
    if wanted is not None:
        return str(seen) if str(seen) == wanted else ""
    if before is not None and str(seen) != before:
        raise DataError(
            f"{path}, line {line}, column '{columns['model']}': model {seen!r} after {before!r}; one log, "
            f"one model: split the file or choose with --model"
        )
    return str(seen)


def _add(build: ArmBuilder, get: Any, columns: Mapping[str, str], file: str, line: int) -> None:
    if get("id") in (None, ""):
        raise DataError(f"{file}, line {line}, column '{columns['id']}': no id; every row needs one")
    tokens = get("tokens")
    ended = None
    if get("ended") not in (None, ""):
        ended = verdict(get("ended"), file, line, columns["ended"])
        build.about["criterion"] = f"stored column '{columns['ended']}'"
    elif "finish" in columns:
        ended = finished(get("finish"), file, line, columns["finish"])
        build.about["criterion"] = f"finish reason in '{columns['finish']}'"
    gold = get("gold")
    extra: dict[str, Any] = {} if get("group") in (None, "") else {"group": str(get("group"))}
    build.add(
        str(get("id")),
        right=verdict(get("correct"), file, line, columns["correct"]),
        tokens=None if tokens in (None, "") else whole(tokens, file, line, columns["tokens"]),
        ended=ended,
        content=0 if gold in (None, "") else content_hash(str(gold)),
        line=line,
        columns={"question": columns["id"], "tokens": columns.get("tokens", "tokens")},
        **extra,
    )
