"""What the gateway costs, holding and watching: requests/s, added latency, first chunk and memory, against
LiteLLM's proxy and a bare pass-through, all in one run on one stub server.

    python bench/gateway_overhead.py --litellm VENV/bin/litellm [--wire messages] [--seconds 1] [--json out.json]
    python bench/gateway_overhead.py --watching                 # `--watch` and the bare pass-through alone
    python bench/gateway_overhead.py --passing                  # only how near it comes to the bare pass-through
    python bench/gateway_overhead.py --upstreams 8 --limits --tracing [--redis redis://localhost]

The bare pass-through (bench/bare_gateway.py) hands bytes on and does nothing else: the floor. Answers come whole,
as a `stream` of 20 events 5 ms apart, and as a `burst`, the same stream in one piece, which no model writes.
Servers take turns, in both orders, and medians over the rounds count: whatever else a machine does hits all alike.

LiteLLM is left out where no `--litellm` names its program (pip install 'litellm[proxy]' into an environment of its
own). The stub and the pass-through speak chat only: with another `--wire` the two gateways translate, the others
are asked in chat.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import uvloop

from thinkcap.gateway.admission.auth import hashed

HERE = Path(__file__).parent
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
ENDS = {"chat": b"[DONE]", "responses": b"response.completed", "messages": b"message_stop"}
"""What the last event of a stream holds."""
LEVELS = (1, 32, 256)
KINDS = ("whole", "stream", "burst")
HELD_S = 0.1
"""How long a stream takes at its server."""
KEY = "sk-" + secrets.token_hex(32)
SINK = """
import uvicorn, sys
async def app(scope, receive, send):
    while scope["type"] == "http" and (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})
uvicorn.run(app, port=int(sys.argv[1]), log_level="critical", lifespan="off")
"""
"""A collector that takes every span and keeps none."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(command: list[str], port: int, **env: str) -> Iterator[int]:
    quiet = None if os.environ.get("BENCH_LOUD") else subprocess.DEVNULL
    process = subprocess.Popen(
        command, env={**os.environ, **env}, stdout=quiet, stderr=quiet, start_new_session=True
    )
    try:
        for _ in range(1200):
            if process.poll() is not None:
                raise SystemExit(f"{command[0]} ended with {process.returncode}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield process.pid
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


class Asker(asyncio.Protocol):
    """One connection: asks, reads until the answer is complete, asks again. Times go into `times`."""

    def __init__(
        self, request: bytes, end: bytes | None, until: float, times: list[tuple[float, float, bool]]
    ) -> None:
        """`end` is in the last event of a stream; None: the answer comes whole."""
        self.request, self.end, self.until, self.times = request, end, until, times
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.failed = 0
        self.refused = b""
        """The last answer that was none."""
        self.warm = False
        """The first answer also pays for connections on both sides; it counts only where there is no other."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        self.held, self.first, self.begun = b"", 0.0, time.perf_counter()
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        if not self.first:
            self.first = time.perf_counter()
        self.held += data
        good = self.held.startswith(b"HTTP/1.1 200")
        if self.end is not None and good:
            if self.end not in self.held or not self.held.endswith(b"0\r\n\r\n"):
                return
        else:
            at = self.held.find(b"\r\n\r\n")
            found = re.search(rb"content-length: *(\d+)", self.held[:at], re.IGNORECASE) if at >= 0 else None
            if not found or len(self.held) < at + 4 + int(found[1]):
                return
        now = time.perf_counter()
        if not good:
            self.failed, self.refused = self.failed + 1, self.held
        self.times.append((now - self.begun, self.first - self.begun, self.warm))
        self.warm = True
        if now >= self.until:
            self.transport.close()
        else:
            self.ask()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


def asked(wire: str, kind: str) -> bytes:
    question = f"What is 6 x 7? hold:{HELD_S}" if kind == "stream" else "What is 6 x 7?"
    system, user = "Be brief.", {"role": "user", "content": question}
    said: dict[str, Any] = {"model": "stub", "temperature": 0, **({} if kind == "whole" else {"stream": True})}
    if wire == "responses":
        said |= {"instructions": system, "input": [user], "max_output_tokens": 64}
    elif wire == "messages":
        said |= {"system": system, "messages": [user], "max_tokens": 64}
    else:
        said |= {"messages": [{"role": "system", "content": system}, user], "max_tokens": 64}
    return json.dumps(said).encode()


async def load(port: int, connections: int, kind: str, seconds: float, wire: str = "chat") -> dict[str, float]:
    body = asked(wire, kind)
    end = None if kind == "whole" else ENDS[wire]
    head = (
        f"POST {PATHS[wire]} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {KEY}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    times: list[tuple[float, float, bool]] = []
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    askers = [
        (
            await loop.create_connection(
                lambda: Asker(head.encode() + body, end, started + seconds, times), "127.0.0.1", port
            )
        )[1]
        for _ in range(connections)
    ]
    await asyncio.wait_for(asyncio.gather(*(a.done for a in askers)), seconds * 10 + 300)
    spent = time.perf_counter() - started
    failed = sum(a.failed for a in askers)
    if failed == len(times):
        said = next((a.refused for a in askers if a.refused), b"nothing")[-400:].decode(errors="replace")
        raise SystemExit(f"no request to {PATHS[wire]} at port {port} was answered; the last one was told: {said}")
    counted = [(t, f) for t, f, warm in times if warm] or [(t, f) for t, f, _ in times]
    whole, first = sorted(t for t, _ in counted), sorted(f for _, f in counted)
    return {
        "requests": len(times),
        "requests_per_s": len(times) / spent,
        "p50_ms": 1000 * whole[len(whole) // 2],
        "p99_ms": 1000 * whole[min(len(whole) - 1, len(whole) * 99 // 100)],
        "first_ms": 1000 * first[len(first) // 2],
        "failed": failed,
    }


def memory_mb(pid: int) -> float:
    """Resident memory of a process and its children."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    total, todo = 0, [pid]
    while todo:
        one = todo.pop()
        todo += children.get(one, [])
        try:
            total += int(Path(f"/proc/{one}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            continue
    return total / 2**20


def cpu_s(pid: int) -> float:
    """Processor time of a process so far; unlike latency, other work on the machine hardly moves it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def settings(ups: list[int], port: int, limits: bool, redis: str | None, collector: int) -> str:
    """A gateway that checks a key on every request, in front of one server or of several."""
    urls = [f"http://127.0.0.1:{up}/v1" for up in ups]
    found = f'model = "{urls[0]}"\n' if len(urls) == 1 else 'model = "stub"\n'
    found += f'port = {port}\n[keys]\nbench = "{hashed(KEY)}"\n'
    if collector:
        found = f'otlp = "http://127.0.0.1:{collector}"\n' + found
    if redis:
        found = f'redis = "{redis}"\n' + found
    if limits or redis:
        names = [f"{what}_per_{time}" for what in ("requests", "tokens") for time in ("minute", "day")]
        found += "[limits]\n" + "".join(f"{name} = 1000000000\n" for name in names)
    if len(urls) > 1:
        found += "".join(f'[[upstreams]]\nurl = "{url}"\n' for url in urls)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--litellm", help="path of the litellm program")
    parser.add_argument("--wire", choices=PATHS, default="chat")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each server, level and round")
    parser.add_argument("--connections", type=int, nargs="+", default=LEVELS)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--rounds", type=int, default=5, help="servers take turns so often, and the median counts")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--upstreams", type=int, default=1, help="model servers behind each gateway")
    parser.add_argument("--limits", action="store_true", help="limits of the key on, far away")
    parser.add_argument("--tracing", action="store_true", help="a span a request and one a pass, all of them sent")
    parser.add_argument("--redis", help="address of the Redis that counts them")
    parser.add_argument("--watching", action="store_true", help="only what `--watch` costs")
    parser.add_argument("--passing", action="store_true", help="only the gateway and the bare pass-through")
    args = parser.parse_args()
    # Whoever stops this stops the servers it started, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with ExitStack() as stack:
        ups = [free_port() for _ in range(args.upstreams)]
        for up in ups:
            stack.enter_context(running([sys.executable, str(HERE / "gateway_stub.py"), str(up)], up))
        up = ups[0]
        servers: dict[str, tuple[int, int]] = {"direct": (up, 0)}

        def begin(name: str, command: list[str], port: int, **env: str) -> None:
            servers[name] = (port, stack.enter_context(running(command, port, **env)))

        port = free_port()
        bare = [sys.executable, str(HERE / "bare_gateway.py"), f"http://127.0.0.1:{up}/v1/chat/completions"]
        begin("bare", [*bare, str(port)], port)
        port = free_port()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        # Both gateways check a key on every request.
        collector = free_port() if args.tracing else 0
        if collector:
            stack.enter_context(running([sys.executable, "-c", SINK, str(collector)], collector))
        (folder / "serve.toml").write_text(settings(ups, port, args.limits, args.redis, collector))
        serve = [sys.executable, "-m", "thinkcap", "serve", "--config", str(folder / "serve.toml")]
        if not args.watching:
            begin("thinkcap", serve, port)
        port = free_port()
        watch = [sys.executable, "-m", "thinkcap", "serve", f"http://127.0.0.1:{up}", "--watch", "--anyone"]
        if not args.passing:
            begin("watch", [*watch, "--watch-journal", str(folder / "journal"), "--port", str(port)], port)
        if args.litellm:
            port = free_port()
            config = folder / "litellm.yaml"
            entries = [
                "- model_name: stub\n  litellm_params:\n    model: openai/stub\n"
                f"    api_base: http://127.0.0.1:{up}/v1\n    api_key: sk-bench\n"
                "    use_chat_completions_api: true\n"
                for up in ups
            ]
            # By itself it would hand messages on to /v1/responses, which servers of open models do not all have.
            told = "litellm_settings:\n  use_chat_completions_url_for_anthropic_messages: true\n"
            config.write_text("model_list:\n" + "".join(entries) + told)
            begin(
                "litellm",
                [args.litellm, "--config", str(config), "--port", str(port)],
                port,
                LITELLM_MASTER_KEY=KEY,
            )
            time.sleep(5)
        results = measure(servers, args.kinds, args.connections, args.rounds, args.seconds, args.wire)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    if not args.passing:
        show(results)
    compare(results)


def measure(
    servers: dict[str, tuple[int, int]],
    kinds: Sequence[str],
    levels: Sequence[int],
    rounds: int,
    seconds: float,
    wire: str,
) -> list[dict[str, Any]]:
    results = []
    spoken = {name: wire if name in ("thinkcap", "litellm") else "chat" for name in servers}
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        for name, (port, _) in servers.items():
            runner.run(load(port, 1, "whole", 1.0, spoken[name]))
            runner.run(load(port, 8, "burst", 1.0, spoken[name]))
            print(f"{name} is warm", file=sys.stderr)
        for kind, connections in product(kinds, levels):
            turns: dict[str, list[dict[str, float]]] = {name: [] for name in servers}
            for turn in range(rounds):
                for name in list(servers) if turn % 2 else reversed(servers):
                    port, pid = servers[name]
                    before = cpu_s(pid) if pid else 0.0
                    found = runner.run(load(port, connections, kind, seconds, spoken[name]))
                    found["cpu_us"] = 1e6 * (cpu_s(pid) - before) / found["requests"] if pid else 0.0
                    turns[name].append(found)
                    print(f"{name}, {connections}: {found['requests_per_s']:.1f}/s", file=sys.stderr)
            for name, (_, pid) in servers.items():
                row = {"server": name, "kind": kind, "connections": connections, **middle(turns[name])}
                row["added_p50_ms"] = row["p50_ms"] - middle(turns["direct"])["p50_ms"]
                row["added_p99_ms"] = row["p99_ms"] - middle(turns["direct"])["p99_ms"]
                row["memory_mb"] = memory_mb(pid) if pid else 0.0
                pairs = zip(turns[name], turns["bare"], strict=True)
                row["of_bare"] = sorted(one["requests_per_s"] / bare["requests_per_s"] for one, bare in pairs)
                results.append(row)
    return results


def middle(turns: list[dict[str, float]]) -> dict[str, Any]:
    found = {column: median(turn[column] for turn in turns) for column in turns[0]}
    return {**found, "failed": sum(turn["failed"] for turn in turns)}


def show(results: list[dict[str, Any]]) -> None:
    columns = ("requests_per_s", "added_p50_ms", "added_p99_ms", "first_ms", "cpu_us", "memory_mb", "failed")
    print(f"{'server':10}{'answers':>8}{'conns':>7}" + "".join(f"{c:>16}" for c in columns))
    for row in results:
        cells = "".join(f"{row[c]:16.2f}" for c in columns)
        print(f"{row['server']:10}{row['kind']:>8}{row['connections']:>7}{cells}")


def compare(results: list[dict[str, Any]]) -> None:
    by = {(r["server"], r["kind"], r["connections"]): r for r in results}
    for (server, kind, connections), row in by.items():
        bare, other = by["bare", kind, connections], by.get(("litellm", kind, connections))
        if server in ("thinkcap", "watch"):
            of_bare: list[float] = row["of_bare"]
            print(
                f"{'thinkcap --watch' if server == 'watch' else 'gateway'} against the bare pass-through, "
                f"{kind}, {connections}: {median(of_bare):.2f} of the requests/s "
                f"({of_bare[0]:.2f} to {of_bare[-1]:.2f}), "
                f"{row['cpu_us'] / bare['cpu_us']:.2f} times its processor time"
            )
        if server == "thinkcap" and other is not None:
            print(
                f"thinkcap against litellm, {kind}, {connections}: "
                f"{row['requests_per_s'] / other['requests_per_s']:.1f} times the requests/s, "
                f"added p50 1/{other['added_p50_ms'] / max(1e-3, row['added_p50_ms']):.1f}, "
                f"added p99 1/{other['added_p99_ms'] / max(1e-3, row['added_p99_ms']):.1f}"
            )


if __name__ == "__main__":
    main()
