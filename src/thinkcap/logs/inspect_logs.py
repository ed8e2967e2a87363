"""inspect_ai logs, `.eval` (a zip, read sample by sample) and `.json`: stop reason and token usage are in them.

Read with the standard library, not with inspect_ai: a log outlives the version that wrote it.
"""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from thinkcap.core.errors import DataError
from thinkcap.logs.arms import Arm, Questions, content_hash, with_counted_end
from thinkcap.logs.builder import ArmBuilder
from thinkcap.logs.place import numbered
from thinkcap.logs.plain import Overrides, finished, served_as
from thinkcap.logs.reading import verdict, whole

_ZSTD = 93
"""Compression method number of zstandard in zip archives."""


def recognise(data: Any) -> bool:
    return isinstance(data, Mapping) and isinstance(data.get("eval"), Mapping) and "version" in data


def read_zip(path: Path, questions: Questions, about: Overrides) -> tuple[list[Arm], list[str]]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            start = "header.json" if "header.json" in names else "_journal/start.json"
            if start not in names:
                raise DataError(f"{path}: neither header.json nor _journal/start.json inside; not an inspect log")
            header = _member(archive, start, path)
            samples = (
                (name, _member(archive, name, path))
                for name in sorted(names)
                if name.startswith("samples/") and name.endswith(".json")
            )
            return _read(header, samples, path, questions, about)
    except zipfile.BadZipFile as err:
        raise DataError(f"{path}: not a zip archive ({err}); an .eval log is one") from err


def _member(archive: zipfile.ZipFile, name: str, path: Path) -> dict[str, Any]:
    try:
        data = json.loads(_bytes(archive, name, path).decode("utf-8"))
    except json.JSONDecodeError as err:
        raise DataError(f"{path}, {name}, line {err.lineno}, column {err.colno}: not JSON ({err.msg})") from err
    except UnicodeDecodeError as err:
        raise DataError(f"{path}, {name}, column {err.start + 1}: not UTF-8") from err
    if not isinstance(data, dict):
        raise DataError(f"{path}, {name}, line 1: wanted an object, got {type(data).__name__}")
    return data


def _bytes(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    """A member's bytes. Newer logs compress with zstandard, which this Python's zipfile cannot read itself."""
    info = archive.getinfo(name)
    if info.compress_type != _ZSTD:
        return archive.read(name)
    try:
        import zstandard
    except ImportError as err:
        raise DataError(
            f"{path} is compressed with zstandard; install it (pip install 'thinkcap[logs]') or convert the log "
            f"(inspect log convert --to json)"
        ) from err
    with path.open("rb") as stream:
        stream.seek(info.header_offset + 26)
        name_length, extra_length = struct.unpack("<HH", stream.read(4))
        stream.seek(name_length + extra_length, 1)
        packed = stream.read(info.compress_size)
    try:
        return zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    except zstandard.ZstdError as err:
        raise DataError(f"{path}, {name}: damaged ({err})") from err


def read_json(
    data: Mapping[str, Any], path: Path, questions: Questions, about: Overrides
) -> tuple[list[Arm], list[str]]:
    samples = numbered(data.get("samples") or [], path, ("samples",))
    return _read(data, samples, path, questions, about)


def _read(
    header: Mapping[str, Any],
    samples: Iterator[tuple[object, Any]],
    path: Path,
    questions: Questions,
    about: Overrides,
) -> tuple[list[Arm], list[str]]:
    spec = header.get("eval") or {}
    task = str(spec.get("task", ""))
    model, served = served_as(str(spec.get("model", "")))
    about = about if about.policy else replace(about, policy=served)
    budget = about.budget if about.budget is not None else _cap(header)
    notes: list[str] = []
    builders: dict[int, ArmBuilder] = {}
    reasoning, answered = False, ""
    for place, sample in samples:
        epoch = int(sample.get("epoch", 1))
        if epoch not in builders:
            builders[epoch] = ArmBuilder(
                path.name,
                about.policy or "answer",
                budget,
                model=model,
                task=task,
                seed=epoch,
                criterion="stop reason",
            )
        answered = _one_model(answered, sample, path, place)
        reasoning |= _add(builders[epoch], sample, place)
    if not builders:
        status = header.get("status", "unknown")
        raise DataError(f"{path}: no samples inside (status of the run: {status}); nothing to diagnose")
    if about.policy is None:
        for build in builders.values():
            build.policy = "think" if reasoning else "answer"
        said = "think, for its answers hold reasoning" if reasoning else "'answer': the log names no mode"
        notes.append(f"{path.name}: the arm is read as {said}; pass --as think or --as nothink to say otherwise")
    if budget is None:
        notes.append(f"{path.name}: no max_tokens is stored; pass --budget so that caps can be compared")
    arms = []
    for build in builders.values():
        arm = build.done(questions)
        if arm.tokens is None:
            notes.append(f"{path.name}: no token usage is stored; chain lengths cannot be estimated")
        if arm.ended is None:
            notes.append(f"{path.name}: some samples have no stop reason; ends are judged by tokens < budget")
        arms.append(with_counted_end(arm))
    return arms, notes


def _one_model(before: str, sample: Mapping[str, Any], path: Path, place: object) -> str:
    """The name the server gave itself; it need not be the one it was asked by, but it must not change."""
    seen = str((sample.get("output") or {}).get("model") or before)
    if before and seen != before:
        raise DataError(
            f"{path.name}, {place}, column 'output.model': {seen!r} after {before!r}; one log, one model"
        )
    return seen


def _add(build: ArmBuilder, sample: Mapping[str, Any], place: object) -> bool:
    file = build.file
    output = sample.get("output") or {}
    choices = output.get("choices") or [{}]
    usage = output.get("usage") or {}
    tokens = usage.get("output_tokens")
    failed = sample.get("error") is not None
    scores = sample.get("scores") or {}
    right = None
    if not failed and scores:
        name, score = next(iter(scores.items()))
        column = f"scores.{name}.value"
        right = verdict((score or {}).get("value"), file, place, column)
    elif not failed and "score" in sample:
        right = verdict((sample["score"] or {}).get("value"), file, place, "score.value")
    elif not failed:
        raise DataError(f"{file}, {place}, column 'scores': no score; run `inspect score` on the log first")
    target = sample.get("target")
    content = target if isinstance(target, str) else json.dumps(target, sort_keys=True)
    message = choices[0].get("message") or {}
    build.add(
        str(sample.get("id")),
        right=right,
        failed=failed,
        tokens=None if tokens is None else whole(tokens, file, place, "output.usage.output_tokens"),
        ended=None
        if failed
        else finished(choices[0].get("stop_reason"), file, place, "output.choices.stop_reason"),
        content=content_hash(content) if target not in (None, "") else 0,
        line=place,
        columns={"tokens": "output.usage.output_tokens"},
    )
    return _reasons(message)


def _reasons(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    if isinstance(content, list):
        return any(isinstance(p, Mapping) and p.get("type") == "reasoning" for p in content)
    return isinstance(content, str) and "</think>" in content


def _cap(header: Mapping[str, Any]) -> int | None:
    spec, plan = header.get("eval") or {}, header.get("plan") or {}
    for config in (plan.get("config"), spec.get("model_generate_config"), spec.get("config")):
        if isinstance(config, Mapping) and isinstance(config.get("max_tokens"), int):
            return int(config["max_tokens"])
    return None
