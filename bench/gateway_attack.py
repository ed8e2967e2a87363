"""The gateway under attack: how much it takes in, what it holds in memory, how fast `/healthz` answers meanwhile.

    python bench/gateway_attack.py [--megabytes 500]

Each attack sends so many megabytes, or until it is cut off: clients to every wire, model servers on every wire,
whole and streamed, by the short way (`m`) and through the engine (`m+iris`); then much of it once more with
`--watch`, which hands everything on. Ends with 1 where a gateway held more than 64 MB above its resting size.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import aiohttp

MB = 2**20
ALLOWED_MB = 64
CHAT, MESSAGES, RESPONSES = (
    b"POST /v1/%b HTTP/1.1\r\nHost: 127.0.0.1\r\n" % path
    for path in (b"chat/completions", b"messages", b"responses")
)
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
GOOD = (
    b'{"model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": "42"}, '
    b'"finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}'
)
CLIENTS = {
    "trailers": (
        b"POST /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + CHUNKED + b"0\r\n",
        b"X: " + b"y" * 4096 + b"\r\n",
    ),
    "one trailer": (CHAT + CHUNKED + b"0\r\nX: ", b"y" * 65536),
    "chunk extensions": (CHAT + CHUNKED, b"1;" + b"e" * 8000 + b"\r\nx\r\n"),
    "header": (CHAT + b"X: ", b"y" * 65536),
    "body nobody wants": (
        b"POST /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n",
        b"x" * 65536,
    ),
    **{
        f"body too large, {name}": (head + CHUNKED, b"10000\r\n" + b"x" * 65536 + b"\r\n")
        for name, head in (("chat", CHAT), ("messages", MESSAGES), ("responses", RESPONSES))
    },
}
SERVERS = {
    "whole answer": (WHOLE, b" " * 65536),
    "silent events": (STREAM, b'data: {"choices": [{"delta": {}}]}\n\n' * 1000),
    "line without end": (STREAM, b"x" * 65536),
    "comments": (STREAM, b": here\n\n" * 8000),
    "text without end": (STREAM, b'data: {"choices": [{"delta": {"content": "' + b"y" * 60000 + b'"}}]}\n\n'),
    "trailers": (
        STREAM.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n") + b"0\r\n",
        b"X: " + b"y" * 4096 + b"\r\n",
    ),
    "gzip": (STREAM.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n"), gzip.compress(b"0" * 100 * MB)),
}
PASSED_ON = ("whole answer", "line without end", "text without end", "gzip")
"""What is looked at while it passes."""


@dataclass
class Hostile:
    """A model server that answers well, or begins with `head` and goes on with `piece`."""

    most: int
    head: bytes = b""
    piece: bytes = b""
    sent: int = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                size = re.search(rb"content-length: *(\d+)", head.lower())
                await reader.readexactly(int(size[1]) if size else 0)
                if head.startswith(b"POST") and self.head:
                    writer.write(self.head)
                    while self.sent < self.most:
                        writer.write(self.piece)
                        self.sent += len(self.piece)
                        await writer.drain()
                    break
                body = b'{"data": [{"id": "m"}]}' if b"/models" in head.split(b"\r\n")[0] else GOOD
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        writer.close()


@dataclass
class Watch:
    """Looks at the gateway's memory and asks for its health while an attack runs."""

    pid: int
    address: str
    peak_mb: float = 0.0
    slowest_s: float = 0.0
    _task: asyncio.Task[None] | None = field(default=None, repr=False)

    async def __aenter__(self) -> Watch:
        self._task = asyncio.ensure_future(self._look())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _look(self) -> None:
        async with aiohttp.ClientSession() as session:
            while True:
                self.peak_mb = max(self.peak_mb, memory_mb(self.pid))
                started = time.perf_counter()
                async with session.get(f"{self.address}/healthz") as reply:
                    assert reply.status == 200
                self.slowest_s = max(self.slowest_s, time.perf_counter() - started)
                await asyncio.sleep(0.01)


def memory_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MB


@asynccontextmanager
async def gateway(upstream: str, *more: str) -> AsyncIterator[tuple[int, str]]:
    command = [sys.executable, "-m", "thinkcap", "serve", f"{upstream}/v1#m", "--port", "0", *more]
    process = await asyncio.create_subprocess_exec(*command, stderr=subprocess.PIPE)
    assert process.stderr is not None
    try:
        found = None
        while found is None:
            line = (await process.stderr.readline()).decode()
            if not line:
                raise SystemExit("the gateway did not start")
            found = re.search(r"thinkcap (?:serves at|watches \S+ from) (http://[\w.]+:\d+)", line)
        yield process.pid, found[1]
    finally:
        process.terminate()
        await process.communicate()


async def flood(address: str, head: bytes, piece: bytes, most: int) -> int:
    host, port = address.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(head)
    sent = 0
    with suppress(ConnectionError):
        while sent < most:
            writer.write(piece)
            await writer.drain()
            sent += len(piece)
    writer.close()
    return sent


SAID = {"messages": [{"role": "user", "content": "2?"}], "max_tokens": 4096}
WIRES = {
    "/v1/chat/completions": SAID,
    "/v1/messages": SAID,
    "/v1/responses": {"input": "2?", "max_output_tokens": 4096},
    "/v1/completions": {"prompt": "2?", "max_tokens": 4096},
}


async def ask(address: str, hostile: Hostile, path: str, model: str = "m", stream: bool = False) -> int:
    body = {**WIRES[path], "model": model, "stream": stream}
    async with (
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.post(address + path, json=body) as reply,
    ):
        # What is cut off in the middle of an answer cannot end well for who reads it.
        with suppress(aiohttp.ClientError):
            async for _ in reply.content.iter_any():
                pass
    return hostile.sent


@dataclass
class Attacks:
    """All of them on one gateway, a line each."""

    pid: int
    address: str
    hostile: Hostile
    resting: float = 0.0
    held: bool = True

    async def run(self, name: str, ways: Sequence[tuple[str, str]], replies: Sequence[str]) -> bool:
        """`ways` are the models and wires that a client asks for while the server misbehaves."""
        await ask(self.address, self.hostile, "/v1/chat/completions")
        self.resting = memory_mb(self.pid)
        print(f"{name}, resting: {self.resting:.0f} MB")
        print(f"{'attack':50}{'taken MB':>10}{'above MB':>10}{'healthz ms':>12}")
        for what, (head, piece) in CLIENTS.items():
            await self.one(f"client: {what}", flood(self.address, head, piece, self.hostile.most))
        for what in replies:
            for stream, (model, path) in product((False, True), ways):
                self.hostile.head, self.hostile.piece, self.hostile.sent = *SERVERS[what], 0
                wire = f"{path.removeprefix('/v1/')}{model[1:]}{', stream' if stream else ''}"
                await self.one(f"server: {what}, {wire}", ask(self.address, self.hostile, path, model, stream))
        self.hostile.head = b""
        return self.held

    async def one(self, what: str, attack: Coroutine[Any, Any, int]) -> None:
        async with Watch(self.pid, self.address) as watch:
            sent = await attack
            await asyncio.sleep(0.1)
        above = watch.peak_mb - self.resting
        self.held &= above <= ALLOWED_MB
        print(f"{what:50}{sent / MB:10.1f}{above:10.1f}{1000 * watch.slowest_s:12.0f}", flush=True)


async def main(most: int) -> bool:
    hostile = Hostile(most)
    server = await asyncio.start_server(hostile, "127.0.0.1", 0)
    upstream = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    short = [("m", path) for path in WIRES]
    async with gateway(upstream) as (pid, address):
        ways = [*short, ("m+iris", "/v1/chat/completions")]
        held = await Attacks(pid, address, hostile).run("gateway", ways, list(SERVERS))
    with tempfile.TemporaryDirectory() as journal:
        async with gateway(upstream, "--watch", "--watch-texts", "--watch-journal", journal) as (pid, address):
            held &= await Attacks(pid, address, hostile).run("watching", short, PASSED_ON)
    server.close()
    return held


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=500)
    sys.exit(0 if asyncio.run(main(parser.parse_args().megabytes * MB)) else 1)
