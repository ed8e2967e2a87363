"""Runs a server, waits until it answers, and stops it when it is no longer needed.

async with serving("Qwen/Qwen3-8B", ServeWith("vllm")) as server:
    engine = await open_engine(server.address, concurrency=server.flows)
async with opened("Qwen/Qwen3-8B", {}, ServeWith("vllm")) as engine:
    ...                                                            # the same in one step
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shlex
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from thinkcap.core.engine import Engine
from thinkcap.core.errors import ConfigError, ServerFailed
from thinkcap.core.files import private_file, private_folder
from thinkcap.engines import open_engine
from thinkcap.engines.retry import own_key
from thinkcap.engines.served import BackendName, ServeWith, Tell, silent, state_log
from thinkcap.engines.served.commands import BACKENDS, Backend, Launch, ServerWish

_GUARD = Path(__file__).with_name("guard.py")
_GRACE_S = 10.0
_LOOK_S = 0.25
_SHOWN_LINES, _SHOWN_CHARACTERS = 12, 100
_TAIL_BYTES = 65536
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True)
class Serving:
    """A server that we started and that answers."""

    backend: BackendName
    base: str
    name: str
    """What it calls the model."""
    flows: int
    log: Path

    @property
    def address(self) -> str:
        """As thinkcap takes it."""
        return f"{self.base}/v1#{self.name}"


@asynccontextmanager
async def serving(model: str, how: ServeWith, *, flows: int = 0, tell: Tell = silent) -> AsyncIterator[Serving]:
    """Runs the server until the block is left, or until this process is gone, however that comes about.

    `tell` gets a line now and then while it starts.
    """
    if model.startswith(("http://", "https://")):
        raise ConfigError(f"'{model}' is a server already; leave --serve-with out, or name a model instead")
    words, wanted = how.words()
    backend, port, key = BACKENDS[how.backend], _free_port(wanted), secrets.token_urlsafe(32)
    launch = backend.launch(ServerWish(model, port, key, flows, words))
    if launch.note:
        tell(launch.note, True)
    base = f"http://127.0.0.1:{port}"
    log = how.log or state_log(backend.name, launch.name)
    process, begin = _start(launch, key, log)
    try:
        await _answers(backend, base, key, process, how.patience_s, _Log(log, begin), tell)
        with own_key(base, key):
            yield Serving(backend.name, base, launch.name, launch.flows, log)
    finally:
        await asyncio.shield(asyncio.to_thread(_stop, process))


@asynccontextmanager
async def opened(
    model: str, options: Mapping[str, Any], how: ServeWith | None, tell: Tell = silent
) -> AsyncIterator[Engine]:
    """The engine for a model, behind a server of its own where one is wished, which ends after it."""
    async with AsyncExitStack() as stack:
        if how is not None:
            if options.get("cluster"):
                raise ConfigError("--serve-with and --cluster were both given; use one of them")
            flows = options.get("concurrency", 0)
            server = await stack.enter_async_context(serving(model, how, flows=flows, tell=tell))
            model, options = server.address, {**options, "concurrency": server.flows}
        engine = await open_engine(model, **options)
        stack.push_async_callback(engine.aclose)
        yield engine


def _free_port(wanted: int) -> int:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", wanted))
        except OSError as err:
            raise ConfigError(
                f"cannot listen on 127.0.0.1 port {wanted}: {err.strerror}; name another --port in "
                f"--serve-args, or none for any free one"
            ) from err
        return int(listener.getsockname()[1])


def _start(launch: Launch, key: str, log: Path) -> tuple[subprocess.Popen[bytes], int]:
    """The guard, which runs the server; and where in the log it begins to write."""
    private_folder(log.parent)
    descriptor = private_file(log, os.O_WRONLY | os.O_APPEND)
    try:
        shown = shlex.join(launch.words).replace(key, "KEY")
        os.write(descriptor, f"# {time.strftime('%Y-%m-%d %H:%M:%S')} {shown}\n".encode())
        begin = os.lseek(descriptor, 0, os.SEEK_END)
        # In a session of its own: Ctrl-C is for us, and we end the server in order.
        process = subprocess.Popen(
            [sys.executable, "-I", str(_GUARD), str(_GRACE_S), *launch.words],
            stdin=subprocess.PIPE,
            stdout=descriptor,
            stderr=descriptor,
            env={**os.environ, **launch.environment},
            start_new_session=True,
        )
    finally:
        os.close(descriptor)
    return process, begin


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Closing its standard input is what the guard waits for."""
    assert process.stdin
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(3 * _GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@dataclass(frozen=True)
class _Log:
    """What this server has written so far."""

    path: Path
    begin: int

    def lines(self) -> list[str]:
        with self.path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(self.begin, size - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
        plain = (_ESCAPES.sub("", line).strip() for line in re.split(r"[\r\n]+", text))
        return list(deque((line for line in plain if line), _SHOWN_LINES))

    def last(self) -> str:
        found = self.lines()
        return found[-1][:_SHOWN_CHARACTERS] if found else ""

    def failure(self, what: str) -> ServerFailed:
        said = tuple(line[: 2 * _SHOWN_CHARACTERS] for line in self.lines())
        where = f"the last lines of its log '{self.path}' are above" if said else f"its log '{self.path}' is empty"
        return ServerFailed(f"{what}; {where}; change --serve-args or run the same command again", said)


async def _answers(
    backend: Backend,
    base: str,
    key: str,
    process: subprocess.Popen[bytes],
    patience_s: float,
    log: _Log,
    tell: Tell,
) -> None:
    """Returns once the server answers; raises, with its last words, where it dies or takes too long."""
    begun = time.monotonic()
    patience = aiohttp.ClientTimeout(total=2.0)
    headers = {"Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession(headers=headers, timeout=patience) as client:
        while True:
            spent = time.monotonic() - begun
            ready = await _is_ready(client, base + backend.ready)
            if process.poll() is not None:
                # Also where somebody answers: it cannot be ours then.
                raise log.failure(
                    f"{backend.name} ended after {spent:.0f} s with status {process.returncode} and never answered"
                )
            if ready:
                tell(f"{backend.name} answers after {spent:.0f} s; log: {log.path}", True)
                return
            if spent > patience_s:
                raise log.failure(f"{backend.name} did not answer within {patience_s:g} s")
            said = log.last()
            tell(f"{backend.name} starts, {spent:.0f} s" + (f": {said}" if said else ""), False)
            await asyncio.sleep(_LOOK_S)


async def _is_ready(client: aiohttp.ClientSession, address: str) -> bool:
    try:
        async with client.get(address) as reply:
            return reply.status == 200
    except (aiohttp.ClientError, OSError, TimeoutError):
        return False
