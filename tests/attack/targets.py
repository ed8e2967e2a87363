"""What the fuzz run feeds, and how it looks at what comes of it: everything that reads a stranger's bytes.

    with TARGETS["policy"]() as target:
        target.try_one(b"vote(samples=3)")        # a kind of outcome, or whatever went wrong as an exception

A refusal in our own words is a good outcome. Any other exception, a 500, a word of a traceback, an answer that
does not come, or an error in the gateway's log is none.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from run_folder import RunFolder
from running import Client, gateway_running
from seeds import LOGS, REPLIES, REQUESTS, SCHEMAS, SETTINGS, STORES, TEXTS, TRACES, WIRES
from target import File, Target, Text, Wrong
from wire import MODELS, upstream

from thinkcap.allocate.file import Allocation
from thinkcap.calibrate.profile import Profile
from thinkcap.diagnose.diagnosis import diagnose
from thinkcap.dialects import of_template
from thinkcap.dialects.naming import chosen
from thinkcap.engines.grammar import gbnf
from thinkcap.engines.json_schema import schema_form
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.gateway.config import ServeConfig
from thinkcap.grading.extraction import extract
from thinkcap.logs.door import read
from thinkcap.logs.labels import read_labels
from thinkcap.logs.sampling import draw
from thinkcap.policies.registry import parse
from thinkcap.study.config import StudyConfig
from thinkcap.tasks.own.reading import read as read_questions
from thinkcap.traces.exchange import import_jsonl
from thinkcap.traces.store import TraceStore
from thinkcap.verdict.page import as_text

_SILENT_S = 60.0
"""Longer than any answer takes on a busy machine."""


def a_log(path: Path) -> object:
    if path.name == "labels.jsonl":
        return read_labels(path)
    if path.name == "watch.jsonl":
        draw([path], 3)
    return as_text(diagnose(read([path]), draws=0), details=True)


def a_store(path: Path) -> int:
    with TraceStore.open(path, None, readonly=True) as store:
        store.contents()
        found = sum(len(trace.ids) for _, trace in store.items())
    with TraceStore.open(path, None) as store:
        store.get("aa")
        store.get_output("bb")
    return found


def settings(path: Path) -> object:
    readers: dict[str, Callable[[Path], Any]] = {
        "study.toml": StudyConfig.from_file,
        "serve.toml": ServeConfig.from_file,
        "profile.toml": Profile.from_file,
        "dialect.toml": lambda p: chosen(str(p)),
        "allocation.json": Allocation.from_file,
    }
    return readers.get(path.name, lambda p: read_questions(str(p), None))(path)


def traces(path: Path) -> int:
    return asyncio.run(import_jsonl(path.parent, path))


def grammar(text: str) -> str:
    """A request's body has been read as JSON before its schema is looked at."""
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError):
        return "no JSON"
    return gbnf(schema_form(schema)) if isinstance(schema, dict) else "no schema"


def answers(text: str) -> tuple[bool, ...]:
    return tuple(extract(text, kind).answer is not None for kind in ("number", "math", "label", "text"))


class Served(Target):
    """A gateway on a port of its own; what it logs as an error is wrong."""

    def __enter__(self) -> Served:
        super().__enter__()
        self.errors: list[str] = []
        handler = _Kept(self.errors)
        for name in ("thinkcap.gateway", "asyncio", "uvicorn.error"):
            log = logging.getLogger(name)
            log.addHandler(handler)
            self.open.callback(log.removeHandler, handler)
        self.address = self.gateway()
        self.client = Client(self.address)
        return self

    def gateway(self) -> str:
        engine = ScriptedEngine(lambda prompt: "<think>hm</think>It is 42.")
        limits = {"arrival_timeout_s": 0.2, "body_limit_bytes": 2**20}
        return self.open.enter_context(gateway_running(engine, **limits))[0]

    def check(self, status: int, text: str) -> str:
        if status in (500, 501) or "Traceback" in text:
            raise Wrong(f"status {status}: {text[:300]}")
        if self.errors:
            said, self.errors[:] = "; ".join(self.errors), []
            raise Wrong(said[:500])
        if self.client.get("/healthz").status_code != 200:
            raise Wrong("/healthz is not well")
        told = re.findall(r'"(?:code|param)": ?"([\w.]+)', text[:20_000])
        return f"{status} {' '.join(told)}"


class _Kept(logging.Handler):
    def __init__(self, errors: list[str]) -> None:
        super().__init__(logging.ERROR)
        self.errors = errors

    def emit(self, record: logging.LogRecord) -> None:
        self.errors.append(record.getMessage())


class Bytes(Served):
    """Requests as bytes, well-formed or not."""

    seeds = REQUESTS

    def run(self, data: bytes) -> str:
        parts = urlsplit(self.address)
        found = b""
        with socket.create_connection((str(parts.hostname), parts.port or 80), timeout=_SILENT_S) as wire:
            try:
                wire.sendall(data)
                wire.shutdown(socket.SHUT_WR)
                while more := wire.recv(65536):
                    found += more
            except TimeoutError:
                raise Wrong(f"no end after {_SILENT_S} s; said {found[:200]!r}") from None
            except OSError:
                pass
        status = re.match(rb"HTTP/1\.[01] (\d{3})", found)
        text = found.decode("utf-8", "replace")
        return self.check(int(status[1]) if status else 0, text if status else "")


class Bodies(Served):
    """JSON to every wire: `path`, a line end, the body."""

    seeds = WIRES

    def run(self, data: bytes) -> str:
        path, _, body = data.partition(b"\n")
        known = path.decode("ascii", "replace")
        wires = ("/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/completions")
        reply = self.client.post(known if known in wires else wires[len(path) % 4], data=body)
        return self.check(reply.status_code, reply.text)


class Upstream(Served):
    """A model server that answers with the input, byte for byte, and hangs up."""

    seeds = REPLIES

    def gateway(self) -> str:
        self.reply = REPLIES[0]

        async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
            if request.startswith(b"GET"):
                writer.write(MODELS)
                return
            writer.write(self.reply)
            if self.reply is not REPLIES[0]:
                await writer.drain()
                writer.close()

        server = self.open.enter_context(upstream(say))
        limits = {"attempts": 1, "stall_timeout_s": 2.0, "request_timeout_s": 20.0}
        return self.open.enter_context(gateway_running(f"{server}#m", **limits))[0]

    def run(self, data: bytes) -> str:
        self.reply = data
        said = {"messages": [{"role": "user", "content": "2?"}], "max_tokens": 32}
        wires: list[tuple[str, dict[str, Any]]] = [
            ("/v1/chat/completions", {"model": "m", **said}),
            ("/v1/chat/completions", {"model": "m+iris", **said}),
            ("/v1/messages", {"model": "m", **said}),
            ("/v1/responses", {"model": "m", "input": "2?", "max_output_tokens": 32}),
            ("/v1/completions", {"model": "m", "prompt": "2?", "max_tokens": 32}),
        ]
        path, body = wires[sum(data) % len(wires)]
        reply = self.client.post(path, json={**body, "stream": len(data) % 2 == 0})
        return self.check(reply.status_code, reply.text)


TARGETS: dict[str, Callable[[], Target]] = {
    "http": Bytes,
    "wires": Bodies,
    "upstream": Upstream,
    "store": lambda: File(STORES(), a_store),
    "logs": lambda: File(LOGS(), a_log),
    "runs": RunFolder,
    "settings": lambda: File(SETTINGS, settings),
    "traces": lambda: File(TRACES, traces),
    "policy": lambda: Text(TEXTS["policy"], parse),
    "template": lambda: Text(TEXTS["template"], of_template),
    "schema": lambda: Text(SCHEMAS, grammar),
    "answers": lambda: Text(TEXTS["answers"], answers),
}
