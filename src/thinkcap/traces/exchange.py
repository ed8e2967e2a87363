"""Traces in and out as JSON lines, so that another machine's generations can be used here.

The first line names the model; each further line is one trace.
"""

from __future__ import annotations

import json
from pathlib import Path

from thinkcap.core.errors import DataError
from thinkcap.traces.store import TraceStore
from thinkcap.traces.trace import Trace

FORMAT = "thinkcap-traces-1"


def open_run(run: Path, *, readonly: bool) -> TraceStore:
    """The store of a run's folder, or the file itself."""
    path = run / "traces.sqlite" if run.is_dir() or not run.suffix else run
    if not path.exists():
        raise DataError(f"no trace store at '{path}'; wanted the folder of a study")
    return TraceStore.open(path, None, readonly=readonly)


def export_jsonl(run: Path, file: Path) -> int:
    count = 0
    with open_run(run, readonly=True) as store, file.open("w", encoding="utf-8") as out:
        out.write(json.dumps({"format": FORMAT, "fingerprint": store.contents().fingerprint}) + "\n")
        for key, trace in store.items():
            line = {
                "key": key,
                "ids": trace.ids,
                "ended": trace.ended,
                "limit": trace.limit,
                "generated": trace.generated,
                "segments": trace.segments,
            }
            out.write(json.dumps(line) + "\n")
            count += 1
    return count


async def import_jsonl(run: Path, file: Path) -> int:
    count = 0
    try:
        with file.open(encoding="utf-8") as lines:
            head = json.loads(next(lines, "null"))
            if not isinstance(head, dict) or head.get("format") != FORMAT:
                raise DataError(
                    f"'{file}' does not begin as an export of traces; wanted a file of `traces export`"
                )
            with TraceStore.open(run / "traces.sqlite", str(head.get("fingerprint"))) as store:
                for number, line in enumerate(lines, start=2):
                    key, trace = _trace(line, file, number)
                    if (had := store.get(key)) is None or len(had.ids) < len(trace.ids):
                        await store.put(key, trace)
                        count += 1
    except FileNotFoundError:
        raise DataError(f"no file at '{file}'; wanted an export of traces") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as err:
        raise DataError(f"'{file}' is not JSON lines: {err}") from err
    return count


def _trace(line: str, file: Path, number: int) -> tuple[str, Trace]:
    try:
        value = json.loads(line)
        key = str(value["key"])
        bytes.fromhex(key)
        ids = tuple(int(i) for i in value["ids"])
        trace = Trace(
            ids, bool(value["ended"]), int(value["limit"]), int(value["generated"]), tuple(value["segments"])
        )
    except (KeyError, TypeError, ValueError) as err:
        raise DataError(f"'{file}' line {number} is not a trace: {err}; nothing after it was read") from err
    return key, trace
