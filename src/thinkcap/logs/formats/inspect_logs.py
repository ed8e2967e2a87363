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
from itertools import chain, islice
from pathlib import Path
from typing import Any

from thinkcap.core.errors import DataError
from thinkcap.logs.arms import Questions, content_hash, with_counted_end
from thinkcap.logs.builder import ArmBuilder
from thinkcap.logs.ends import broken, finished
from thinkcap.logs.judge import final_answer, judge
from thinkcap.logs.memory import json_cost
from thinkcap.logs.place import numbered
from thinkcap.logs.reading import Log, decode, parsed, printable, verdict, whole
from thinkcap.logs.said import Found, Said, served_as
from thinkcap.logs.thoughts import Thoughts, thoughts

_ZSTD = 93
"""Compression method number of zstandard in zip archives."""
_LOOKED_AT = 50
"""Samples whose texts tell how thoughts are marked."""


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
    data = parsed(decode(raw, where, 1), where, 1)
    if not isinstance(data, dict):
        raise DataError(f"{where}, line 1: wanted an object, got {type(data).__name__}")
    return data


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
    header: Mapping[str, Any],
    samples: Iterator[tuple[object, Any]],
    log: Log,
    questions: Questions,
    about: Said,
) -> Found:
    path = log.path
    spec = header.get("eval") or {}
    task = str(spec.get("task", ""))
    model, served = served_as(str(spec.get("model", "")))
    about = about if about.policy else replace(about, policy=served or about.mode)
    budget = about.budget if about.budget is not None else _cap(header)
    notes: list[str] = []
    builders: dict[int, ArmBuilder] = {}
    reasoning, answered = False, ""
    head = list(islice(samples, _LOOKED_AT))
    marked = thoughts(about.dialect, model=model, texts=[_text(sample) for _, sample in head])
    for place, sample in chain(head, samples):
        epoch = int(sample.get("epoch", 1))
        if epoch not in builders:
            builders[epoch] = ArmBuilder(
                log.name,
                about.policy or "answer",
                budget,
                log.memory,
                model=model,
                task=task,
                seed=epoch,
                criterion="stop reason",
            )
        answered = _one_model(answered, sample, path, place)
        reasoning |= _add(builders[epoch], sample, place, marked)
    if not builders:
        status = header.get("status", "unknown")
        raise DataError(f"{path}: no samples inside (status of the run: {status}); nothing to diagnose")
    if about.policy is None:
        for build in builders.values():
            build.policy = "think" if reasoning else "answer"
        said = "think, for its answers hold reasoning" if reasoning else "'answer': the log names no mode"
        notes.append(f"{log.name}: the arm is read as {said}; pass --as think or --as nothink to say otherwise")
    if budget is None:
        notes.append(f"{log.name}: no max_tokens is stored; pass --budget so that caps can be compared")
    arms = []
    notes += judge(list(builders.values()), log.name)
    for build in builders.values():
        arm = build.done(questions)
        if arm.tokens is None:
            notes.append(f"{log.name}: no token usage is stored; chain lengths cannot be estimated")
        if arm.ended is None:
            notes.append(f"{log.name}: some samples have no stop reason; ends are judged by tokens < budget")
        arms.append(with_counted_end(arm))
    return Found(arms, notes)


def _one_model(before: str, sample: Mapping[str, Any], path: Path, place: object) -> str:
    """The name the server gave itself; it need not be the one it was asked by, but it must not change."""
    seen = str((sample.get("output") or {}).get("model") or before)
    if before and seen != before:
        raise DataError(
            f"{path.name}, {place}, column 'output.model': {seen!r} after {before!r}; one log, one model"
        )
    return seen


def _add(build: ArmBuilder, sample: Mapping[str, Any], place: object, marked: Thoughts) -> bool:
    file = build.file
    output = sample.get("output") or {}
    choices = output.get("choices") or [{}]
    usage = output.get("usage") or {}
    tokens = usage.get("output_tokens")
    failed = sample.get("error") is not None or broken(choices[0].get("stop_reason"))
    scores = sample.get("scores") or {}
    right = None
    if not failed and scores:
        name, score = next(iter(scores.items()))
        column = f"scores.{name}.value"
        right = verdict((score or {}).get("value"), file, place, column)
    elif not failed and "score" in sample:
        right = verdict((sample["score"] or {}).get("value"), file, place, "score.value")
    target = sample.get("target")
    content = target if isinstance(target, str) else json.dumps(target, sort_keys=True)
    message = _message(sample)
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
    said = _said(message, marked)
    if not failed and isinstance(target, str) and target and said is not None:
        build.grade_last(final_answer(target), said)
    return _reasons(message, marked)


def _message(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = (sample.get("output") or {}).get("choices") or [{}]
    return choices[0].get("message") or {}


def _text(sample: Mapping[str, Any]) -> str:
    content = _message(sample).get("content")
    return content if isinstance(content, str) else ""


def _said(message: Mapping[str, Any], marked: Thoughts) -> str | None:
    """The answer without the reasoning that stands beside it."""
    content = message.get("content")
    if isinstance(content, list):
        texts = [p.get("text") for p in content if isinstance(p, Mapping) and p.get("type") == "text"]
        return "".join(t for t in texts if isinstance(t, str))
    return marked.divide(content).said if isinstance(content, str) else None


def _reasons(message: Mapping[str, Any], marked: Thoughts) -> bool:
    content = message.get("content")
    if isinstance(content, list):
        return any(isinstance(p, Mapping) and p.get("type") == "reasoning" for p in content)
    return isinstance(content, str) and marked.shown_in(content)


def _cap(header: Mapping[str, Any]) -> int | None:
    spec, plan = header.get("eval") or {}, header.get("plan") or {}
    for config in (plan.get("config"), spec.get("model_generate_config"), spec.get("config")):
        if isinstance(config, Mapping) and isinstance(config.get("max_tokens"), int):
            return int(config["max_tokens"])
    return None
