"""Five model servers behind one gateway, killed, stalled and brought back at random, and what clients see of it.

    python bench/fleet.py --seconds 600 [--clients 48] [--seed 1]

Half of the time servers fall and return, half of it is quiet. Every piece of an answer is signed by its server and
carries the number of its request: an answer from two servers, or a piece sent twice, would show. In quiet times
the load of the servers and the share of turns that stay with their conversation's server are measured. The exit
status is 1 where a request got neither an answer nor a proper error, a piece came twice, or, from two minutes on,
the load was uneven by over 20 %.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from fleet_stub import PIECES
from gateway_overhead import free_port, running

HERE = Path(__file__).parent
UPSTREAMS = 5
CYCLE_S = 120.0
UNEVEN = 0.2
TURNS = (3, 6)


class Member:
    """One server, killed, stalled and brought back."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.start()

    def start(self) -> None:
        command = [sys.executable, str(HERE / "fleet_stub.py"), str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    async def fall(self, draw: random.Random, longest_s: float) -> str:
        kind = draw.choice(["killed", "stalled"])
        self.process.send_signal(signal.SIGKILL if kind == "killed" else signal.SIGSTOP)
        await asyncio.sleep(draw.uniform(0.3, 1.0) * longest_s)
        if kind == "killed":
            self.process.wait()
            self.start()
        else:
            self.process.send_signal(signal.SIGCONT)
        return kind

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@dataclass
class Seen:
    """What clients saw."""

    answers: int = 0
    streams: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
    """Neither an answer nor a proper error, or an answer that is not one."""
    load: Counter[str] = field(default_factory=Counter)
    """Tokens by server in quiet times."""
    stayed: int = 0
    turns: int = 0
    falls: Counter[str] = field(default_factory=Counter)
    quiet: bool = False


async def converse(
    base: str, session: aiohttp.ClientSession, seen: Seen, draw: random.Random, until: float
) -> None:
    """Conversation after conversation, turn after turn."""
    while time.monotonic() < until:
        messages: list[dict[str, str]] = []
        before, quiet_before = "", False
        for _ in range(draw.randint(*TURNS)):
            number = draw.getrandbits(48)
            messages.append({"role": "user", "content": f"question {draw.getrandbits(32)} request {number}"})
            quiet = seen.quiet
            text = await ask(base, session, seen, messages, number, draw.random() < 0.5)
            if time.monotonic() >= until:
                return
            if text is None:
                break
            port = text.partition("-")[0]
            if quiet and seen.quiet:
                seen.load[port] += PIECES
                if before and quiet_before:
                    seen.turns += 1
                    seen.stayed += port == before
            before, quiet_before = port, quiet
            messages.append({"role": "assistant", "content": "I see."})


async def ask(
    base: str,
    session: aiohttp.ClientSession,
    seen: Seen,
    messages: list[dict[str, str]],
    number: int,
    stream: bool,
) -> str | None:
    body = {"model": "stub", "messages": messages, "max_tokens": 64, "stream": stream}
    try:
        async with session.post(f"{base}/v1/chat/completions", json=body) as reply:
            raw = await reply.text()
    except (aiohttp.ClientError, TimeoutError) as err:
        seen.broken[f"the gateway did not answer ({type(err).__name__})"] += 1
        return None
    text, error = read(raw, stream and reply.status == 200)
    if error:
        seen.errors[error] += 1
    words = text.split()
    ports = {word.partition("-")[0] for word in words}
    wanted = [f"{port}-{number}-{i}" for port in ports for i in range(len(words) if error else PIECES)]
    if words != wanted:
        seen.broken["pieces of another request, of two servers, twice or missing"] += 1
        return None
    if error:
        return None
    seen.answers += 1
    seen.streams += stream
    return text


def read(raw: str, events: bool) -> tuple[str, str]:
    """The text of an answer, and the code of the error that ended it."""
    try:
        found = [json.loads(line[6:]) for line in raw.splitlines() if line.startswith("data: {")] if events else []
        found = found or [json.loads(raw)]
    except ValueError:
        return "", "not JSON"
    text, code = "", ""
    for one in found:
        code = str(one["error"]["code"]) if "error" in one else code
        for choice in one.get("choices", ()):
            text += (choice.get("delta") or choice.get("message") or {}).get("content") or ""
    if events and not code and not raw.rstrip().endswith("data: [DONE]"):
        code = "no end"
    return text, code


async def disturb(members: list[Member], seen: Seen, draw: random.Random, seconds: float) -> None:
    """Cycles of falls and of quiet. The later part of the quiet is measured, when all have been tried again."""
    cycles = max(1, round(seconds / CYCLE_S))
    half = seconds / cycles / 2
    for cycle in range(cycles):
        seen.quiet = False
        until = time.monotonic() + half - 3
        while time.monotonic() < until:
            # At most three at a time: somebody has to be there.
            fallen = draw.sample(members, draw.randint(1, 3))
            for kind in await asyncio.gather(*(one.fall(draw, min(6.0, half / 3)) for one in fallen)):
                seen.falls[kind] += 1
            await asyncio.sleep(draw.uniform(0, 1))
        await asyncio.sleep(max(0.0, until + 3 - time.monotonic()))
        await asyncio.sleep(min(15.0, half * 0.6))
        seen.quiet = True
        await asyncio.sleep(half - min(15.0, half * 0.6))
        print(f"cycle {cycle + 1} of {cycles}: {seen.answers} answers", file=sys.stderr)
    seen.quiet = False


async def main(seconds: float, clients: int, seed: int, members: list[Member], base: str) -> Seen:
    draw, seen = random.Random(seed), Seen()
    until = time.monotonic() + seconds
    connector, patience = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(connector=connector, timeout=patience) as session:
        talking = [converse(base, session, seen, random.Random(seed + n), until) for n in range(1, clients + 1)]
        await asyncio.gather(disturb(members, seen, draw, seconds), *talking)
    return seen


def shown(seen: Seen, seconds: float) -> tuple[list[str], bool]:
    mean = sum(seen.load.values()) / UPSTREAMS
    uneven = max((abs(seen.load[port] / mean - 1) for port in seen.load), default=1.0) if mean else 1.0
    uneven = 1.0 if len(seen.load) < UPSTREAMS else uneven
    errors = ", ".join(f"{code} {count}" for code, count in seen.errors.most_common()) or "none"
    stayed = f"{100 * seen.stayed / max(1, seen.turns):.1f} % of {seen.turns:,} turns"
    rows: list[tuple[str, Any]] = [
        ("seconds", f"{seconds:.0f}"),
        ("servers killed, stalled", f"{seen.falls['killed']}, {seen.falls['stalled']}"),
        ("answers", f"{seen.answers:,}, of these {seen.streams:,} streamed"),
        ("proper errors", errors),
        ("neither", sum(seen.broken.values())),
        ("quiet: load at most off its share", f"{100 * uneven:.1f} %"),
        ("quiet: stayed with their server", stayed),
    ]
    lines = [f"{name:<36}{value}" for name, value in rows]
    lines += [f"  {words}: {count}" for words, count in seen.broken.items()]
    # Seconds hold too few conversations to say how even the load of a minute is.
    even = uneven <= UNEVEN or seconds < CYCLE_S
    return lines, not seen.broken and even and seen.answers > 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--clients", type=int, default=48)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        members = [Member(free_port()) for _ in range(UPSTREAMS)]
        for one in members:
            stack.callback(one.stop)
        port, file = free_port(), Path(folder) / "serve.toml"
        upstreams = "".join(f'[[upstreams]]\nurl = "http://127.0.0.1:{one.port}/v1"\n' for one in members)
        settings = f'model = "stub"\nport = {port}\nstall_timeout_s = 2\nrequest_timeout_s = 15\npage = false\n'
        file.write_text(settings + upstreams)
        time.sleep(1)
        command = [sys.executable, "-m", "thinkcap", "serve", "--config", str(file)]
        stack.enter_context(running(command, port, PYTHONWARNINGS="ignore"))
        found = asyncio.run(main(args.seconds, args.clients, args.seed, members, f"http://127.0.0.1:{port}"))
        lines, good = shown(found, args.seconds)
        print("\n".join(lines))
    sys.exit(0 if good else 1)
