"""The gateway under attack: how much it takes in, what it holds in memory, how fast `/healthz` answers meanwhile.

    python bench/gateway_attack.py [--megabytes 500]

Each attack sends so many megabytes, or until it is cut off. Ends with 1 where the gateway held more than 64 MB
above its resting size.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import aiohttp

MB = 2**20
ALLOWED_MB = 64
CHAT = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
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
    "body too large": (CHAT + CHUNKED, b"10000\r\n" + b"x" * 65536 + b"\r\n"),
}
SERVERS = {
    "whole answer": (WHOLE, b" " * 65536),
    "silent events": (STREAM, b'data: {"choices": [{"delta": {}}]}\n\n' * 1000),
    "line without end": (STREAM, b"x" * 65536),
    "comments": (STREAM, b": here\n\n" * 8000),
    "text without end": (STREAM, b'data: {"choices": [{"delta": {"content": "' + b"y" * 60000 + b'"}}]}\n\n'),
    "gzip": (STREAM.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n"), gzip.compress(b"0" * 100 * MB)),
}


@dataclass
class Hostile:
    """A model server that answers well, or begins with `head` and goes on with `piece`."""

    most: int
    head: bytes = b""
    piece: bytes = b""
    sent: int = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
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
async def gateway(upstream: str) -> AsyncIterator[tuple[int, str]]:
    command = [sys.executable, "-m", "thinkcap", "serve", f"{upstream}/v1#m", "--port", "0"]
    process = await asyncio.create_subprocess_exec(*command, stderr=subprocess.PIPE)
    assert process.stderr is not None
    try:
        found = None
        while found is None:
            line = (await process.stderr.readline()).decode()
            if not line:
                raise SystemExit("the gateway did not start")
            found = re.search(r"serves at (http://\S+)/v1", line)
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


SAID = {"model": "m", "messages": [{"role": "user", "content": "2?"}], "max_tokens": 4096}
WIRES = {
    "/v1/chat/completions": SAID,
    "/v1/messages": SAID,
    "/v1/responses": {"model": "m", "input": "2?", "max_output_tokens": 4096},
    "/v1/completions": {"model": "m", "prompt": "2?", "max_tokens": 4096},
}


async def ask(address: str, hostile: Hostile, stream: bool, path: str = "/v1/chat/completions") -> int:
    async with (
        aiohttp.ClientSession() as session,
        session.post(address + path, json={**WIRES[path], "stream": stream}) as reply,
    ):
        async for _ in reply.content.iter_any():
            pass
    return hostile.sent


async def main(most: int) -> bool:
    hostile = Hostile(most)
    server = await asyncio.start_server(hostile, "127.0.0.1", 0)
    upstream = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    held = True
    async with gateway(upstream) as (pid, address):
        await ask(address, hostile, stream=False)
        resting = memory_mb(pid)
        print(f"resting: {resting:.0f} MB\n{'attack':42}{'taken MB':>10}{'above MB':>10}{'healthz ms':>12}")

        async def run(name: str, attack: Callable[[], Awaitable[int]]) -> None:
            nonlocal held
            async with Watch(pid, address) as watch:
                sent = await attack()
                await asyncio.sleep(0.2)
            above = watch.peak_mb - resting
            held &= above <= ALLOWED_MB
            print(f"{name:42}{sent / MB:10.1f}{above:10.1f}{1000 * watch.slowest_s:12.0f}", flush=True)

        for name, (head, piece) in CLIENTS.items():
            await run(f"client: {name}", lambda head=head, piece=piece: flood(address, head, piece, most))
        for name, (hostile.head, hostile.piece) in SERVERS.items():
            for stream, path in product((False, True), WIRES):
                hostile.sent = 0
                kind = f"{path.rpartition('/')[2]}{', stream' if stream else ''}"
                await run(f"server: {name}, {kind}", lambda s=stream, p=path: ask(address, hostile, s, p))
    server.close()
    return held


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500)
    sys.exit(0 if asyncio.run(main(parser.parse_args().megabytes * MB)) else 1)
