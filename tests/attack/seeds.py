"""Where the fuzz run begins: a few good inputs of every kind."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thinkcap.allocate.features import NAMES
from thinkcap.traces.exchange import FORMAT
from thinkcap.traces.store import TraceStore
from thinkcap.traces.trace import Trace

_LOGS = Path(__file__).parents[1] / "logs" / "logs"
_ASKED = {"model": "scripted", "messages": [{"role": "user", "content": "2?"}], "max_tokens": 32}
_TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
_FORM = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True}}
_CHAT: list[dict[str, Any]] = [
    _ASKED,
    {**_ASKED, "stream": True, "stream_options": {"include_usage": True}, "stop": ["x"], "seed": 7, "n": 2},
    {**_ASKED, "model": "scripted+iris(first=8)", "temperature": 0.5, "top_p": 0.9, "logit_bias": {"1": 2}},
    {**_ASKED, "thinkcap": {"policy": "vote(samples=3)", "kind": "number", "reasoning_field": "both"}},
    {**_ASKED, "tools": [_TOOL], "tool_choice": "auto", "parallel_tool_calls": False},
    {**_ASKED, "response_format": _FORM, "reasoning_effort": "low", "max_completion_tokens": 16},
    {**_ASKED, "messages": [{"role": "system", "content": [{"type": "text", "text": "a"}]}, *_ASKED["messages"]]},
]
_MESSAGES: list[dict[str, Any]] = [
    {**_ASKED, "system": "be brief", "thinking": {"type": "enabled", "budget_tokens": 16}},
    {
        **_ASKED,
        "stream": True,
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "stop_sequences": ["a"],
    },
]
_RESPONSES: list[dict[str, Any]] = [
    {"model": "scripted", "input": "2?", "max_output_tokens": 32, "reasoning": {"effort": "low"}},
    {
        "model": "scripted",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "2?"}]}],
        "stream": True,
    },
]
_COMPLETIONS = [{"model": "scripted", "prompt": ["a", "b"], "max_tokens": 4, "n": 2, "stream": True}]


def _request(path: str, body: bytes, more: bytes = b"") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n".encode()
    return head + more + b"Connection: close\r\n\r\n" + body


REQUESTS = [
    b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
    b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nOrigin: http://localhost\r\n\r\n",
    b"GET /openapi.json HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
    b"OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
    _request("/v1/chat/completions", json.dumps(_ASKED).encode()),
    _request("/v1/chat/completions", json.dumps({**_ASKED, "stream": True}).encode()),
    _request("/v1/messages", json.dumps(_ASKED).encode(), b"x-api-key: a\r\nanthropic-version: 2023-06-01\r\n"),
    _request("/v1/chat/completions", b"\x28\xb5\x2f\xfd" + b"\0" * 20, b"Content-Encoding: zstd\r\n"),
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n"
    b'Connection: close\r\n\r\n5;a=b\r\n{"mod\r\n0\r\nX: y\r\n\r\n',
]
WIRES = [
    path.encode() + b"\n" + json.dumps(body).encode()
    for path, bodies in {
        "/v1/chat/completions": _CHAT,
        "/v1/messages": _MESSAGES,
        "/v1/responses": _RESPONSES,
        "/v1/completions": _COMPLETIONS,
    }.items()
    for body in bodies
]


def _answer(body: bytes, kind: bytes = b"application/json", status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n" % (status, kind, len(body)) + body


_USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 1}}
_CALLS = [{"id": "c", "index": 0, "type": "function", "function": {"name": "f", "arguments": "{}"}}]
_WHOLE = {"role": "assistant", "content": "42", "reasoning_content": "hm", "tool_calls": _CALLS}
_CHOICE = {"index": 0, "finish_reason": "stop", "logprobs": {"content": [{"token": "4", "logprob": -0.1}]}}
_EVENTS: list[dict[str, Any]] = [
    {"model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "reasoning_content": "hm"}}]},
    {"choices": [{"index": 0, "delta": {"content": "42", "tool_calls": _CALLS}}]},
    {"choices": [{"index": 0, "delta": {}, "text": "42", "finish_reason": "length"}]},
    {"choices": [], "usage": _USAGE},
]
_STREAM = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in _EVENTS) + b"data: [DONE]\n\n"
REPLIES = [
    _answer(json.dumps({"choices": [{**_CHOICE, "message": _WHOLE, "text": "42"}], "usage": _USAGE}).encode()),
    _answer(b'{"error": {"message": "no", "code": 400}}', status=b"400 Bad"),
    _answer(_STREAM, b"text/event-stream"),
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + _STREAM,
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(_STREAM), _STREAM),
    _answer(b'data: {"error": {"message": "lost", "code": 503}}\n\n', b"text/event-stream"),
    b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
]


def STORES() -> list[tuple[str, bytes]]:
    """A small store, and the empty one."""
    import asyncio

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "traces.sqlite"
        with TraceStore.open(path, "f") as store:
            for key in ("aa", "ab"):
                asyncio.run(store.put(key, Trace((1, 2, 3), True, 4, 3, (2,))))
            asyncio.run(store.put_output("bb", {"text": "x"}, 3))
        with sqlite3.connect(path) as db:
            db.execute("pragma journal_mode = delete")
            db.execute("vacuum")
        db.close()
        return [("traces.sqlite", path.read_bytes()), ("traces.sqlite", b"")]


_ROWS: list[dict[str, Any]] = [
    {"id": n, "mode": mode, "budget": 64, "correct": n % 2 == 0, "tokens": 30 + n, "model": "m", "task": "t"}
    for n in range(4)
    for mode in ("think", "nothink")
]
_TALKED = [
    {"question": "2+2?", "gold": "4", "response": "<think>hm</think>\\boxed{4}", "finish_reason": "stop"},
    {"prompt": "x", "answer": "#### 5", "output": "5", "usage": {"completion_tokens": 9}, "method": "town_64"},
]


_WATCHED: list[dict[str, Any]] = [
    {
        "watch": 1,
        "id": f"r{n}",
        "model": "m",
        "key": "alice",
        "cap": 64,
        "arm": arm,
        "complete": True,
        "tokens_by": "usage",
        "question": "2+2?",
        "answer": "4",
        "answers": [{"finish": finish, "tokens": 12 + n, "thought_tokens": 3, "empty": finish == "length"}],
        **({"sent": [{"tokens": 9, "empty": False}], "same": True, "policy": "think"} if arm == "shadow" else {}),
    }
    for n, (arm, finish) in enumerate(
        [("watch", "stop"), ("watch", "length"), ("hold", "stop"), ("shadow", "stop")]
    )
]
_LABELS = [
    {"id": "a", "model": "m", "stratum": "cut", "weight": 3.5, "question": "2?", "answer": "x", "right": True},
    {
        "id": "b",
        "model": "m",
        "stratum": "ordinary",
        "weight": 2,
        "answer": "It is 4.",
        "gold": "4",
        "right": None,
    },
]


def _head(name: str, lines: int) -> bytes:
    return b"\n".join((_LOGS / "traffic" / name).read_bytes().splitlines()[:lines])


def LOGS() -> list[tuple[str, bytes]]:
    lines = "\n".join(map(json.dumps, _ROWS))
    sheet = io.StringIO()
    writer = csv.DictWriter(sheet, list(_ROWS[0]))
    writer.writeheader()
    writer.writerows(_ROWS)
    columns = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(_ROWS), columns)
    harness = next((_LOGS / "harness").glob("*.jsonl")).read_bytes()
    packed = next((_LOGS / "inspect").glob("*.eval")).read_bytes()
    whole = json.loads(next((_LOGS / "inspect").glob("*.json")).read_bytes())
    whole["samples"] = whole["samples"][:1]
    return [
        ("rows.jsonl", lines.encode()),
        ("talk.jsonl", "\n".join(map(json.dumps, _TALKED)).encode()),
        ("doc.json", json.dumps({"meta": {"model": "m"}, "results": {"think_64": _ROWS[:3]}}).encode()),
        ("rows.csv", sheet.getvalue().encode()),
        ("rows.parquet", columns.getvalue()),
        ("samples.jsonl", harness),
        ("log.eval", packed),
        ("log.json", json.dumps(whole).encode()),
        ("watch.jsonl", "\n".join(map(json.dumps, _WATCHED)).encode()),
        ("labels.jsonl", "\n".join(map(json.dumps, _LABELS)).encode()),
        ("litellm.jsonl", _head("litellm.jsonl", 2)),
        ("otel.jsonl", _head("otel.jsonl", 2)),
        ("texts.jsonl", _head("otel_texts.jsonl", 2)),
        ("batch.jsonl", _head("vllm_batch.jsonl", 3)),
    ]


_FIT = {"features": list(NAMES), "budgets": [0, 64], "mean": [0] * len(NAMES), "scale": [1] * len(NAMES)}
SETTINGS = [
    (
        "study.toml",
        b'model = "bundled"\ntask = "family/arithmetic"\n'
        b'policy = ["think", "iris(first=64)"]\nbudget = [64, 128]\nseed = [0]\nn = 4\n',
    ),
    (
        "serve.toml",
        b'model = "http://127.0.0.1:1/v1#m"\nport = 0\nconcurrency = 4\nhosts = ["a"]\n[keys]\na = "00"\n',
    ),
    (
        "profile.toml",
        b'model = "m"\nlevel = 0.95\n[[cap]]\nat_least = 1\npolicy = "nothink"\n'
        b'[[cap]]\nat_least = 64\npolicy = "iris(first=8)"\n',
    ),
    ("dialect.toml", b'name = "d"\nthinking = "switch"\nopen_tag = "<think>"\nclose_tag = "</think>"\n'),
    (
        "allocation.json",
        json.dumps(
            {
                "caps": [{"at_least": 1, "policy": "think"}],
                "allocator": {**_FIT, "kind": "linear", "parameters": {}},
            }
        ).encode(),
    ),
    ("own.jsonl", b'{"question": "2+2?", "gold": "4", "id": "a"}\n{"question": "3?", "gold": "3"}\n'),
    ("own.csv", b"question,gold,A,B\n2+2?,B,3,4\n1?,A,1,2\n"),
    ("own.json", b'[{"prompt": "x", "answer": "yes", "choices": ["yes", "no"], "messages": [{"role": "user"}]}]'),
]
_LINE = {"key": "aa", "ids": [1, 2], "ended": True, "limit": 4, "generated": 2, "segments": [1]}
TRACES = [
    (
        "in.jsonl",
        "\n".join([json.dumps({"format": FORMAT, "fingerprint": "f"}), *[json.dumps(_LINE)] * 2]).encode(),
    )
]
TEXTS = {
    "policy": [
        "iris(first=64)",
        "vote(samples=5)",
        "gate(samples=2,at_least=2,otherwise=iris(first=8))",
        'close(words="so, \\"now\\"")',
        "auto",
    ],
    "template": [
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}"
        "{% if enable_thinking %}<think>{% endif %}",
        "{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}<think>",
    ],
    "answers": [
        "So \\boxed{\\frac{1}{2}}.",
        "#### 1,234",
        "The answer is (B).",
        "**Answer:** 3 \\times 10^{5} km",
        "x = 7",
    ],
}
SCHEMAS = [
    json.dumps(schema)
    for schema in (
        {
            "type": "object",
            "properties": {"a": {"type": "integer", "minimum": -3, "maximum": 12}},
            "required": ["a"],
        },
        {"type": "array", "items": {"$ref": "#/$defs/x"}, "minItems": 1, "$defs": {"x": {"enum": [1, "b", None]}}},
        {"type": "string", "pattern": "^[a-z]{2,5}(x|y)*\\d+$", "maxLength": 9},
        {"anyOf": [{"const": 1}, {"type": "number", "exclusiveMinimum": 0.5}], "allOf": [{"type": "number"}]},
        {"type": "string", "format": "date-time"},
    )
]
