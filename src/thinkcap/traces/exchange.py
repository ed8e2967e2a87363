"""Traces in and out as JSON lines, so that another machine's generations can be used here.

The first line names the model; each further line is one trace.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from thinkcap.core.errors import DataError
from thinkcap.core.files import replacing
from thinkcap.traces.store import TraceStore
from thinkcap.traces.trace import Trace

FORMAT = "thinkcap-traces-1"
_LONGEST_LINE = 64 * 2**20
_LARGEST_ID = 2**32 - 1
_LARGEST_COUNT = 2**53


def open_run(run: Path, *, readonly: bool) -> TraceStore:
    """The store of a run's folder, or the file itself."""
    path = run / "traces.sqlite" if run.is_dir() or not run.suffix else run
    if not path.exists():
        raise DataError(f"no trace store at '{path}'; wanted the folder of a study")
    return TraceStore.open(path, None, readonly=readonly)


def export_jsonl(run: Path, file: Path) -> int:
    count = 0
    with open_run(run, readonly=True) as store, replacing(file) as out:
        head = {"format": FORMAT, "fingerprint": store.contents().fingerprint}
        out.write(json.dumps(head).encode() + b"\n")
        for key, trace in store.items():
            line = {
                "key": key,
                "ids": trace.ids,
                "ended": trace.ended,
                "limit": trace.limit,
                "generated": trace.generated,
                "segments": trace.segments,
            }
            out.write(json.dumps(line).encode() + b"\n")
            count += 1
    return count


async def import_jsonl(run: Path, file: Path) -> int:
    count = 0
    try:
        with _plain(file) as text:
            lines = _lines(text, file)
            head = json.loads(next(lines, "null"))
            if not isinstance(head, dict) or head.get("format") != FORMAT:
                raise DataError(
                    f"'{file}' does not begin like an export; wanted a file from `thinkcap traces export`"
                )
            with TraceStore.open(run / "traces.sqlite", str(head.get("fingerprint"))) as store:
                for number, line in enumerate(lines, start=2):
                    key, trace = _trace(line, file, number)
                    if (had := store.get(key)) is None or len(had.ids) < len(trace.ids):
                        await store.put(key, trace)
                        count += 1
    except FileNotFoundError:
        raise DataError(f"no file at '{file}'; wanted an export of traces") from None
    except (ValueError, RecursionError) as err:
        raise DataError(f"'{file}' is not JSON lines: {err}") from err
    return count


def _plain(file: Path) -> TextIO:
    """A device or a pipe may never end."""
    if file.exists() and not file.is_file():
        raise DataError(f"'{file}' is not a plain file; wanted an export of traces")
    return file.open(encoding="utf-8")


def _lines(text: TextIO, file: Path) -> Iterator[str]:
    """Each line, none of them longer than a trace can be."""
    while line := text.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise DataError(
                f"'{file}' has a line of more than {_LONGEST_LINE:,} characters; no trace is that long"
            )
        yield line


def _trace(line: str, file: Path, number: int) -> tuple[str, Trace]:
    try:
        value = json.loads(line)
        key = value["key"]
        bytes.fromhex(key)
        ids = tuple(_whole(i, _LARGEST_ID) for i in value["ids"])
        limit, generated = (_whole(value[name], _LARGEST_COUNT) for name in ("limit", "generated"))
        segments = tuple(_whole(s, _LARGEST_COUNT) for s in value["segments"])
        trace = Trace(ids, bool(value["ended"]), limit, generated, segments)
    except (KeyError, TypeError, ValueError, RecursionError) as err:
        raise DataError(f"'{file}' line {number} is not a trace: {err}; nothing after it was read") from err
    return key, trace


def _whole(value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise ValueError(f"saw {str(value)[:40]!r}; wanted a whole number from 0 to {most:,}")
    return value
