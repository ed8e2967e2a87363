"""Many streams held at once, and a server that dies, stalls and stutters on cue: does everybody get an end?

    python bench/gateway_soak.py [--streams 1000] [--seconds 60] [--faults 200] [--policy nothink]

Every client must get a complete answer or a proper error, nothing may hang, and memory must stay flat. Streams go
by the relay (policies of one call); `--policy two_pass` sends them through the engine instead. They are spread
over the three wires.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import aiohttp

from gateway_overhead import free_port, memory_mb, running

HERE = Path(__file__).parent
FAULTS = ("kill", "reset", "half", "stall")
STALL_S = 15.0
"""Longer than a held stream pauses between its words on a busy machine."""


WIRES = {
    "/chat/completions": ("messages", "max_tokens", '"content"'),
    "/responses": ("input", "max_output_tokens", "response.output_text.delta"),
    "/messages": ("messages", "max_tokens", "text_delta"),
}
"""What a question and the cap are called, and what an event with a word of the answer holds."""
_turn = itertools.cycle(WIRES)


async def stream(session: aiohttp.ClientSession, address: str, model: str, text: str, wait_s: float) -> str:
    """`complete`, `error: CODE` (proper, in either form), or what was wrong with the end."""
    path = next(_turn)
    asked, cap, word = WIRES[path]
    body = {"model": model, asked: [{"role": "user", "content": text}], cap: 64, "stream": True}
    try:
        async with asyncio.timeout(wait_s), session.post(address + path, json=body) as reply:
            raw = await reply.read()
            status = reply.status
    except TimeoutError:
        return "hang"
    except aiohttp.ClientError as err:
        return f"broken: {type(err).__name__}"
    if status != 200:
        return _named(json.loads(raw)["error"])
    datas = [line[6:] for line in raw.decode().splitlines() if line.startswith("data: ")]
    events = [json.loads(data) for data in datas if data != "[DONE]"]
    if "error" in events[-1]:
        return _named(events[-1]["error"])
    told = any(e.get("thinkcap") or e.get("response", {}).get("thinkcap") for e in events)
    ended = datas[-1] == "[DONE]" or events[-1]["type"] in ("response.completed", "message_stop")
    if not ended or not told:
        return "torn"
    return "complete" if sum(word in data for data in datas) > 1 else "empty"


def _named(error: dict[str, Any]) -> str:
    code = error.get("code") or error.get("type")
    return f"error: {code}" if code else "nameless error"


async def hold(address: str, pid: int, model: str, many: int, seconds: float) -> dict[str, Any]:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(None)) as session:
        before = memory_mb(pid)
        started = time.perf_counter()
        tasks = [
            asyncio.ensure_future(stream(session, address, model, f"hold:{seconds}", seconds * 3 + 60))
            for _ in range(many)
        ]
        seen = []
        while not all(task.done() for task in tasks):
            await asyncio.sleep(1)
            seen.append(memory_mb(pid))
        found = Counter(task.result() for task in tasks)
        took = time.perf_counter() - started
        half = seen[len(seen) // 2 :]
    return {
        "results": dict(found),
        "seconds": round(took, 1),
        "memory before, MB": round(before, 1),
        "memory in the middle, MB": round(half[0], 1),
        "memory at the end, MB": round(half[-1], 1),
    }


async def torture(address: str, pid: int, model: str, faults: int) -> dict[str, Any]:
    """Faults among healthy requests, a hundred at a time, in rounds; memory after each."""
    order = random.Random(3)
    todo = [FAULTS[i % len(FAULTS)] for i in range(faults)] + [""] * faults * 4
    order.shuffle(todo)
    results: Counter[tuple[str, str]] = Counter()
    memory = []
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(None)
    ) as session:
        for at in range(0, len(todo), 100):
            some = todo[at : at + 100]
            found = await asyncio.gather(
                *(stream(session, address, model, f"fault:{f}" if f else "Hi", STALL_S * 8) for f in some)
            )
            results.update(zip(some, found, strict=True))
            memory.append(memory_mb(pid))
    return {
        "results": {f"{fault or 'healthy'}: {found}": n for (fault, found), n in sorted(results.items())},
        "memory by round, MB": [round(m, 1) for m in memory],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--policy", default="nothink")
    args = parser.parse_args()
    # Whoever stops this stops the servers it started, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with ExitStack() as stack:
        up, port = free_port(), free_port()
        stack.enter_context(running([sys.executable, str(HERE / "gateway_stub.py"), str(up)], up))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "serve.toml").write_text(
            f'model = "http://127.0.0.1:{up}/v1"\nport = {port}\nstall_timeout_s = {STALL_S}\nconcurrency = 2000\n'
        )
        serve = [sys.executable, "-m", "thinkcap", "serve", "--config", str(folder / "serve.toml")]
        pid = stack.enter_context(running(serve, port))
        address, model = f"http://127.0.0.1:{port}/v1", f"stub+{args.policy}"
        held = asyncio.run(hold(address, pid, model, args.streams, args.seconds))
        print(json.dumps({"held": args.streams, **held}, indent=1), flush=True)
        hurt = asyncio.run(torture(address, pid, model, args.faults))
        print(json.dumps({"faults": args.faults, **hurt}, indent=1))
    bad = {k for k in held["results"] if k != "complete"}
    bad |= {k for k in hurt["results"] if not k.endswith(": complete") and ": error: " not in k}
    bad |= {k for k in hurt["results"] if k.startswith("healthy: error")}
    grown = held["memory at the end, MB"] - held["memory in the middle, MB"]
    rounds = hurt["memory by round, MB"]
    over = rounds[-1] - rounds[min(1, len(rounds) - 1)]
    print(f"bad ends: {sorted(bad) or 'none'}; memory grew {grown:.1f} MB while held, {over:.1f} MB over faults")
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
