"""A line for every request: when, what became of it, what it spent and how long it took; never a word of it.

    log = AccessLog("json", sys.stdout)
    log.write(visit)

    {"at":"2026-03-01T12:00:00.123Z","path":"/v1/chat/completions","status":200,"policy":"close",...}

A thread of its own writes the lines. Where nobody reads them the traffic goes on, and lost lines are counted.
"""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

import msgspec

from thinkcap.engines.masking import Mask
from thinkcap.gateway.config import AccessFormat
from thinkcap.gateway.telemetry.visit import Visit

_WAITING = 10_000
"""Lines that may wait for a slow reader."""
_LAST_LINES_S = 2.0
_QUIET = frozenset(("/healthz", "/readyz", "/metrics"))
"""Asked every few seconds by machines; a line each would bury the rest."""
_PATH_CHARACTERS = 100
_FIRST = frozenset(("at", "id", "method", "path", "status"))
_mask = Mask()


class AccessLog:
    def __init__(
        self, form: AccessFormat, out: TextIO | None = None, lost: Callable[[], None] = lambda: None
    ) -> None:
        self._encode = _json if form == "json" else _plain
        self._out = out or sys.stdout
        self._lost = lost
        self._lines: queue.Queue[str | None] = queue.Queue(_WAITING)
        self._writer = threading.Thread(target=self._write, name="access log", daemon=True)
        self._writer.start()

    def write(self, visit: Visit) -> None:
        if visit.path in _QUIET:
            return
        try:
            self._lines.put_nowait(self._encode(about(visit)))
        except queue.Full:
            self._lost()

    def close(self) -> None:
        """Waits a moment for the last lines; a reader that does not read is not waited for."""
        try:
            self._lines.put(None, timeout=_LAST_LINES_S)
        except queue.Full:
            return
        self._writer.join(_LAST_LINES_S)

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                self._out.write(line)
                if self._lines.empty():
                    self._out.flush()
            except (OSError, ValueError):
                # Whoever read the lines is gone.
                self._lost()


def about(visit: Visit) -> dict[str, Any]:
    """What may be known outside. A path nobody here offers can hold anything, so it is masked and cut."""
    found: dict[str, Any] = {
        "at": _time(visit.at),
        "id": visit.id,
        "method": visit.method,
        "path": _mask(visit.path)[:_PATH_CHARACTERS],
        "status": visit.status,
        "seconds": round(visit.seconds, 4),
    }
    if visit.code:
        found["code"] = visit.code
    if visit.key:
        found["key"] = visit.key
    if visit.trace:
        found["trace"] = visit.trace.id
    if not visit.model:
        return found
    return found | {
        "model": visit.model,
        "policy": visit.policy,
        "chosen_by": visit.chosen_by,
        "cap": visit.cap,
        "stream": visit.stream,
        "passes": visit.passes,
        "tokens": visit.tokens,
        "reasoning_tokens": visit.reasoning_tokens,
        "prompt_tokens": visit.prompt_tokens,
        "first_s": None if visit.first is None else round(visit.first - visit.arrived, 4),
    }


def _json(found: Mapping[str, Any]) -> str:
    return msgspec.json.encode(found).decode() + "\n"


def _plain(found: Mapping[str, Any]) -> str:
    first = f"{found['at']} {found['id']} {found['method']} {found['path']} {found['status']}"
    rest = [f"{name}={value}" for name, value in found.items() if name not in _FIRST and value is not None]
    return " ".join((first, *rest)) + "\n"


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1000):03}Z"
