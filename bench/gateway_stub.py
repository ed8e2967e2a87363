"""The quickest model server there can be: canned answers over bare sockets, so that a gateway's own cost shows.

    python bench/gateway_stub.py PORT [seconds between chunks]

It thinks unless `enable_thinking` is false, streams 20 chunks where asked, and answers engines' first questions.
A question that holds `fault:NAME` gets that fault: kill, reset, half, stall; `hold:SECONDS` a slow stream.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from functools import lru_cache

try:
    import uvloop
except ModuleNotFoundError:
    uvloop = None

WORDS = 20
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_HOLD = re.compile(rb"hold:([0-9.]+)")
_FAULT = re.compile(rb"fault:([a-z]+)")


@lru_cache(maxsize=256)
def _whole(thinks: bool, limit: int) -> bytes:
    spent = min(WORDS, limit)
    message = {"role": "assistant", "content": "The answer is 42, and here are a few more words to carry."}
    if thinks:
        message["reasoning_content"] = "Six times seven."
    usage = {"prompt_tokens": 12, "completion_tokens": spent, "total_tokens": 12 + spent}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "stub",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop" if spent == WORDS else "length"}],
        "usage": {**usage, "completion_tokens_details": {"reasoning_tokens": 4 if thinks else 0}},
    }
    return _response(json.dumps(body).encode())


def _response(body: bytes, status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "stub",
        "choices": [choice],
    }
    return _framed(b"data: " + json.dumps(body).encode() + b"\n\n")


def _framed(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


_USAGE = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "stub",
    "choices": [],
    "usage": {"prompt_tokens": 12, "completion_tokens": WORDS, "total_tokens": 12 + WORDS},
}
_LIMIT = re.compile(rb'"max_tokens": *(\d+)')
STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
CHUNKS = [_chunk({"role": "assistant", "content": ""})] + [
    _chunk({"content": f"word{i} "}) for i in range(WORDS - 1)
]
END = (
    _chunk({}, "stop") + _framed(b"data: " + json.dumps(_USAGE).encode() + b"\n\n") + _framed(b"data: [DONE]\n\n")
)
LAST = END + b"0\r\n\r\n"
MODELS = _response(json.dumps({"object": "list", "data": [{"id": "stub", "object": "model"}]}).encode())
MISSING = _response(b'{"error": {"message": "no such path"}}', "404 Not Found")


class Stub(asyncio.Protocol):
    gap_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.held = b""
        self.task: asyncio.Task[None] | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self.task:
            self.task.cancel()

    def data_received(self, data: bytes) -> None:
        self.held += data
        while (at := self.held.find(b"\r\n\r\n")) >= 0:
            found = _LENGTH.search(self.held[:at])
            size = int(found[1]) if found else 0
            if len(self.held) < at + 4 + size:
                return
            head, body = self.held[:at], self.held[at + 4 : at + 4 + size]
            self.held = self.held[at + 4 + size :]
            self.answer(head, body)

    def answer(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"GET /v1/models"):
            self.transport.write(MODELS)
            return
        if not head.startswith(b"POST /v1/chat/completions"):
            self.transport.write(MISSING)
            return
        fault = _FAULT.search(body)
        if fault and fault[1] == b"kill":
            self.transport.abort()
            return
        hold = _HOLD.search(body)
        streams = b'"stream":true' in body or b'"stream": true' in body
        if streams and (self.gap_s or hold or fault):
            gap = float(hold[1]) / len(CHUNKS) if hold else self.gap_s
            self.task = asyncio.ensure_future(self.slowly(gap, fault[1] if fault else b""))
        elif streams:
            self.transport.write(STREAM_HEAD + b"".join(CHUNKS) + LAST)
        elif fault and fault[1] == b"stall":
            return
        else:
            thinks = b'"enable_thinking":false' not in body and b'"enable_thinking": false' not in body
            limit = _LIMIT.search(body)
            self.transport.write(_whole(thinks, int(limit[1]) if limit else WORDS))

    async def slowly(self, gap_s: float, fault: bytes) -> None:
        self.transport.write(STREAM_HEAD)
        for at, chunk in enumerate(CHUNKS):
            if at == len(CHUNKS) // 2:
                if fault == b"half":
                    self.transport.write(chunk[: len(chunk) // 2])
                    await asyncio.sleep(0)
                if fault in (b"reset", b"half"):
                    self.transport.abort()
                    return
                if fault == b"stall":
                    await asyncio.sleep(3600)
            self.transport.write(chunk)
            if gap_s:
                await asyncio.sleep(gap_s)
        self.transport.write(LAST)


async def main(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Stub, "127.0.0.1", port, backlog=4096)
    await server.serve_forever()


if __name__ == "__main__":
    Stub.gap_s = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    with asyncio.Runner(loop_factory=uvloop.new_event_loop if uvloop else None) as runner:
        runner.run(main(int(sys.argv[1])))
