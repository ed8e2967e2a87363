"""inspect_ai logs, `.eval` (a zip, read sample by sample) and `.json`: stop reason and token usage are in them.

Read with the standard library, not with inspect_ai: a log outlives the version that wrote it.
"""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from thinkcap.core.errors import DataError
from thinkcap.logs.arms import COUNTED, Questions
from thinkcap.logs.memory import json_cost
from thinkcap.logs.place import numbered
from thinkcap.logs.reading import Log, an_object, decode, parsed, printable, refused
from thinkcap.logs.rows import Heading, read_rows
from thinkcap.logs.said import Found, Said

_ZSTD = 93
"""Compression method number of zstandard in zip archives."""


def recognise(log: Log) -> bool:
    return log.suffix == ".eval" or _is_log(log.document)


def _is_log(data: Any) -> bool:
    return isinstance(data, Mapping) and isinstance(data.get("eval"), Mapping) and "version" in data


def read(log: Log, questions: Questions, said: Said) -> Found:
    if log.suffix == ".eval":
        return _read_zip(log, questions, said)
    data = log.document
    samples = data.get("samples") or []
    if not isinstance(samples, list):
        raise DataError(f"{log.path}, line 1, column 'samples': wanted a list, got {type(samples).__name__}")
    return _read(data, numbered(samples, log.path, ("samples",)), log, questions, said)


def _read_zip(log: Log, questions: Questions, said: Said) -> Found:
    path = log.path
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            start = "header.json" if "header.json" in names else "_journal/start.json"
            if start not in names:
                raise DataError(f"{path}: neither header.json nor _journal/start.json inside; not an inspect log")
            header = _member(archive, start, log)
            samples = (
                (printable(name), _member(archive, name, log))
                for name in sorted(names)
                if name.startswith("samples/") and name.endswith(".json")
            )
            return _read(header, samples, log, questions, said)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError) as err:
        # Encrypted members and unknown compressions are RuntimeErrors of the standard library.
        raise DataError(f"{path}: not a zip archive that can be read ({err}); an .eval log is one") from err


def _member(archive: zipfile.ZipFile, name: str, log: Log) -> dict[str, Any]:
    raw = _bytes(archive, name, log)
    where = f"{log.path}, {printable(name)}"
    log.memory.check(json_cost(raw), where)
    return dict(an_object(parsed(decode(raw, where, 1), where, 1), where, 1))


def _bytes(archive: zipfile.ZipFile, name: str, log: Log) -> bytes:
    """A member's bytes, never more than memory allows, whatever its header promises.

    Newer logs compress with zstandard, which this Python's zipfile cannot read itself.
    """
    info, path = archive.getinfo(name), log.path
    most = log.memory.left // 4
    if info.compress_type != _ZSTD:
        with archive.open(name) as stream:
            found = stream.read(most + 1)
        log.memory.check(4 * len(found), f"{path}, {printable(name)}")
        return found
    try:
        import zstandard
    except ImportError as err:
        raise DataError(
            f"{path} is compressed with zstandard; install it (pip install 'thinkcap[logs]') or convert the log "
            f"(inspect log convert --to json)"
        ) from err
    with path.open("rb") as stream:
        stream.seek(info.header_offset + 26)
        head = stream.read(4)
        if len(head) < 4:
            raise DataError(f"{path}, {printable(name)}: damaged (the archive ends before it)")
        name_length, extra_length = struct.unpack("<HH", head)
        stream.seek(name_length + extra_length, 1)
        packed = stream.read(info.compress_size)
    try:
        with zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(packed) as opened:
            found = opened.read(most + 1)
    except zstandard.ZstdError as err:
        raise DataError(f"{path}, {printable(name)}: damaged ({err})") from err
    log.memory.check(4 * len(found), f"{path}, {printable(name)}")
    return found


def _read(
    header: Mapping[str, Any], samples: Iterator[tuple[object, Any]], log: Log, questions: Questions, said: Said
) -> Found:
    spec = header.get("eval") or {}
    budget = said.budget if said.budget is not None else _cap(header)
    rows = _rows(samples, log.path)
    first = next(rows, None)
    if first is None:
        status = header.get("status", "unknown")
        raise DataError(f"{log.path}: no samples inside (status of the run: {status}); nothing to diagnose")
    about = {"model": str(spec.get("model", "")), "task": str(spec.get("task", "")), "budget": budget}
    known = replace(said, columns=_COLUMNS)
    arms, notes = read_rows(chain([first], rows), Heading(log.name, about=about), questions, known, log)
    missing = {
        "the log names no mode; pass --as think or --as nothink": any(a.policy == "answer" for a in arms),
        "no max_tokens is stored; pass --budget so that caps can be compared": budget is None,
        "no token usage is stored; chain lengths cannot be estimated": any(a.tokens is None for a in arms),
        "some samples have no stop reason; ends are judged by tokens < budget": any(
            a.criterion == COUNTED for a in arms
        ),
    }
    return Found(arms, notes + [f"{log.name}: {note}" for note, so in missing.items() if so])


_COLUMNS = {
    "id": "id",
    "seed": "epoch",
    "question": "content",
    "gold": "target",
    "output": "output",
    "reasoning": "reasoning",
    "correct": "score.value",
    "tokens": "output.usage.output_tokens",
    "finish": "output.choices.stop_reason",
}
"""Our names of what a sample says, and what refusals call it."""


def _rows(samples: Iterator[tuple[object, Any]], path: Path) -> Iterator[tuple[object, dict[str, Any]]]:
    model = ""
    for place, sample in samples:
        output = sample.get("output") or {}
        # The name the server gave itself; it need not be the one it was asked by, but it must not change.
        seen = str(output.get("model") or model)
        if model and seen != model:
            raise refused(path.name, place, "output.model", f"{seen!r} after {model!r}; one log, one model")
        model = seen
        choice = (output.get("choices") or [{}])[0]
        scores = list((sample.get("scores") or {}).values()) or [sample.get("score")]
        target, failed = sample.get("target"), sample.get("error") is not None
        answer, reasoning = _parts((choice.get("message") or {}).get("content"))
        values = (
            str(sample.get("id")),
            int(sample.get("epoch", 1)),
            target if isinstance(target, str) else json.dumps(target, sort_keys=True),
            target if isinstance(target, str) else None,
            None if failed else answer,
            reasoning,
            (scores[0] or {}).get("value"),
            (output.get("usage") or {}).get("output_tokens"),
            choice.get("stop_reason"),
        )
        yield place, {**dict(zip(_COLUMNS.values(), values, strict=True)), "error": failed}


def _parts(content: Any) -> tuple[str | None, str | None]:
    """A message's answer and the reasoning beside it; thoughts inside a plain text stay there."""
    if not isinstance(content, list):
        return (content, None) if isinstance(content, str) else (None, None)
    kinds = {"text": "", "reasoning": ""}
    for part in content:
        if isinstance(part, Mapping) and part.get("type") in kinds:
            # Reasoning that was withheld has been there all the same.
            kinds[part["type"]] += str(part.get(part["type"]) or " " * (part["type"] == "reasoning"))
    return kinds["text"], kinds["reasoning"] or None


def _cap(header: Mapping[str, Any]) -> int | None:
    spec, plan = header.get("eval") or {}, header.get("plan") or {}
    for config in (plan.get("config"), spec.get("model_generate_config"), spec.get("config")):
        if isinstance(config, Mapping) and isinstance(config.get("max_tokens"), int):
            return int(config["max_tokens"])
    return None
