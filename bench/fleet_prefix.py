"""What it is worth that a conversation keeps its server: prompt tokens two llama.cpp servers need not read.

    python bench/fleet_prefix.py [--conversations 8] [--turns 4]

Two servers with the bundled model, one gateway. As many conversations are held twice, several at a time: as they
are, and under a new `prompt_cache_key` with every turn, which spreads their turns over both servers.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import secrets
import signal
import sys
import time
from collections import Counter
from contextlib import ExitStack

import aiohttp

from gateway_overhead import free_port, running
from thinkcap.model import pebble_gguf

SLOTS, CONTEXT, AT_ONCE = 8, 2048, 4
WORDS = ("river", "stone", "cloud", "garden", "window", "letter", "market", "winter", "copper", "bridge")


def told(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(WORDS, k=words))


async def held(base: str, name: str, conversations: int, turns: int, kept: bool) -> Counter[str]:
    """Turn after turn of all conversations, `AT_ONCE` at a time."""
    draw = random.Random(f"{conversations} {kept}")
    talks = [[{"role": "system", "content": told(draw, 120)}] for _ in range(conversations)]
    seen: Counter[str] = Counter()
    places = asyncio.Semaphore(AT_ONCE)

    async def turn(session: aiohttp.ClientSession, messages: list[dict[str, str]]) -> None:
        messages.append({"role": "user", "content": told(draw, 60)})
        body = {"model": name, "messages": messages, "max_tokens": 16}
        if not kept:
            body["prompt_cache_key"] = secrets.token_hex(8)
        async with places, session.post(f"{base}/v1/chat/completions", json=body) as reply:
            found = await reply.json()
        usage = found["usage"]
        seen["read"] += usage["prompt_tokens"]
        seen["cached"] += (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
        messages.append({"role": "assistant", "content": found["choices"][0]["message"]["content"]})

    async with aiohttp.ClientSession() as session:
        for _ in range(turns):
            await asyncio.gather(*(turn(session, messages) for messages in talks))
    return seen


def main(conversations: int, turns: int) -> None:
    with ExitStack() as stack:
        key, ports = secrets.token_hex(16), [free_port(), free_port()]
        for port in ports:
            words = ["-m", "thinkcap.engines.served.llama", "--model", str(pebble_gguf()), "--alias", "pebble"]
            words += ["--port", str(port), "--parallel", str(SLOTS), "--ctx-size", str(SLOTS * CONTEXT)]
            stack.enter_context(running([sys.executable, *words, "--threads", "1"], port, LLAMA_API_KEY=key))
        gate = free_port()
        addresses = [f"http://127.0.0.1:{port}/v1#pebble" for port in ports]
        command = [sys.executable, "-m", "thinkcap", "serve", *addresses, "--port", str(gate), "--no-page"]
        stack.enter_context(running(command, gate, THINKCAP_API_KEY=key))
        print(f"{conversations} conversations of {turns} turns, two llama.cpp servers of {SLOTS} slots\n")
        print(f"{'':<38}{'prompt tokens':>14}{'from the cache':>16}{'read':>10}{'seconds':>10}")
        for words, kept in (("turns spread over both servers", False), ("a conversation keeps its server", True)):
            began = time.perf_counter()
            seen = asyncio.run(held(f"http://127.0.0.1:{gate}", "pebble", conversations, turns, kept))
            share = 100 * seen["cached"] / max(1, seen["read"])
            left = seen["read"] - seen["cached"]
            spent = time.perf_counter() - began
            print(f"{words:<38}{seen['read']:>14,}{share:>14.1f} %{left:>10,}{spent:>10.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=8)
    parser.add_argument("--turns", type=int, default=4)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.nice(5)
    main(args.conversations, args.turns)
