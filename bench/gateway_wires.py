"""Do the three wires keep one contract? Random caps, budgets, efforts and streams over each of them.

    python bench/gateway_wires.py [--requests 2000]

The bundled model answers. Each question goes over chat, responses and messages with the same cap and the same
wish, each at random whole or as a stream. Checked: no total above its cap, no thought above its budget, no empty
answer, usage that adds up, and the same answer on every wire. Rounding depends on what else is under way, so
questions whose answers differ are asked again with nothing beside them, and only what differs then counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import aiohttp

from thinkcap.core.types import Question
from thinkcap.gateway.app import Gateway
from thinkcap.gateway.call import Call
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.effort import SHARES, limit
from thinkcap.gateway.models import open_models
from thinkcap.gateway.server import make_server
from thinkcap.gateway.telemetry.metrics import Metrics
from thinkcap.tasks import load

WIRES = ("chat", "responses", "messages")
PATHS = {"chat": "/chat/completions", "responses": "/responses", "messages": "/messages"}
BUDGETS = ("thinking_token_budget", "thinking_budget", "reasoning_budget_tokens")
EFFORTS = [effort for effort in SHARES if effort != "minimal"]
"""Those that every wire has a word for."""
LARGEST = 1024


@dataclass(frozen=True)
class Wish:
    cap: int
    kind: str = "none"
    """none, budget, effort or off."""
    value: Any = None
    name: str = ""

    @property
    def most(self) -> int | None:
        """Tokens its thought may take."""
        if self.kind == "off":
            return 0
        if self.kind == "budget":
            return int(self.value)
        return limit(Call("m", (), effort=self.value), self.cap) if self.kind == "effort" else None


@dataclass(frozen=True)
class Seen:
    text: str
    tokens: int
    thought: int
    about: dict[str, Any]


def drawn(draw: random.Random) -> Wish:
    cap = round(math.exp(draw.uniform(math.log(16), math.log(LARGEST))))
    kind = draw.choice(["none", "budget", "effort", "off"])
    if kind == "budget":
        return Wish(cap, kind, draw.randint(1, cap - 1), draw.choice(BUDGETS))
    return Wish(cap, kind, draw.choice(EFFORTS)) if kind == "effort" else Wish(cap, kind)


def body_of(wire: str, question: Question, wish: Wish, model: str) -> dict[str, Any]:
    said: dict[str, Any] = {"model": model, "temperature": 0}
    messages = list(map(dict, question.messages))
    if wire == "chat":
        told = {"budget": {wish.name: wish.value}, "effort": {"reasoning_effort": wish.value}}
        told["off"] = {"reasoning_effort": "none"}
        return {**said, "messages": messages, "max_tokens": wish.cap, **told.get(wish.kind, {})}
    if wire == "responses":
        told = {"budget": {"max_tokens": wish.value}, "effort": {"effort": wish.value}, "off": {"effort": "none"}}
        reasoning = {"reasoning": told[wish.kind]} if wish.kind in told else {}
        return {**said, "input": messages, "max_output_tokens": wish.cap, **reasoning}
    told = {"budget": {"thinking": {"type": "enabled", "budget_tokens": wish.value}}}
    told |= {"effort": {"output_config": {"effort": wish.value}}, "off": {"thinking": {"type": "disabled"}}}
    return {**said, "messages": messages, "max_tokens": wish.cap, **told.get(wish.kind, {})}


def read(wire: str, found: dict[str, Any]) -> Seen:
    """A whole answer, or what the events of a stream come to."""
    about, spent = found["thinkcap"], found["usage"]
    if wire == "chat":
        details = spent["completion_tokens_details"]
        text, tokens = found["choices"][0]["message"]["content"], spent["completion_tokens"]
        return Seen(text, tokens, details["reasoning_tokens"], about)
    if wire == "responses":
        parts = [part["text"] for i in found["output"] if i["type"] == "message" for part in i["content"]]
        return Seen(
            "".join(parts), spent["output_tokens"], spent["output_tokens_details"]["reasoning_tokens"], about
        )
    text = "".join(block["text"] for block in found["content"] if block["type"] == "text")
    return Seen(text, spent["output_tokens"], spent["output_tokens_details"]["thinking_tokens"], about)


def joined(wire: str, raw: str) -> dict[str, Any]:
    events = [json.loads(line[6:]) for line in raw.splitlines() if line.startswith("data: {")]
    if wire == "responses":
        return dict(events[-1]["response"])
    if wire == "messages":
        delta = next(e for e in events if e["type"] == "message_delta")
        texts = [e["delta"]["text"] for e in events if e.get("delta", {}).get("type") == "text_delta"]
        content = [{"type": "text", "text": "".join(texts)}]
        return {"content": content, "usage": delta["usage"], "thinkcap": delta["thinkcap"]}
    pieces = [c["delta"].get("content") or "" for e in events for c in e["choices"]]
    about = next(e["thinkcap"] for e in events if "thinkcap" in e)
    choices = [{"message": {"content": "".join(pieces)}}]
    return {"choices": choices, "usage": events[-1]["usage"], "thinkcap": about}


def faults(wish: Wish, seen: Seen) -> list[str]:
    found = []
    if seen.tokens > wish.cap:
        found.append("above the cap")
    if wish.most is not None and seen.thought > wish.most:
        found.append("thought above its budget")
    if not seen.text.strip():
        found.append("empty answer")
    stages = seen.about["stages"]
    if seen.tokens != sum(stage["tokens"] for stage in stages) or seen.tokens != seen.about["tokens"]:
        found.append("usage does not add up")
    return found


async def asked(session: aiohttp.ClientSession, address: str, wire: str, body: dict[str, Any]) -> Any:
    if body.get("stream") and wire == "chat":
        body["stream_options"] = {"include_usage": True}
    async with session.post(address + PATHS[wire], json=body) as reply:
        raw = await reply.text()
        if reply.status != 200:
            return f"{reply.status} {json.loads(raw)['error']['code']}"
        return read(wire, joined(wire, raw) if body.get("stream") else json.loads(raw))


async def run(requests: int, seed: int, at_once: int) -> Counter[str]:
    config = ServeConfig.from_mapping({"model": "bundled", "port": 0, "queue": 4096})
    metrics = Metrics()
    models = await open_models(config, metrics)
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    server = make_server(Gateway(config, models, metrics), ready.set_result)
    serving = asyncio.ensure_future(server.serve())
    model = next(iter(models.served))
    draw = random.Random(seed)
    questions = load("families", limit=math.ceil(requests / len(WIRES)), seed=seed).questions
    count: Counter[str] = Counter()
    slots = asyncio.Semaphore(at_once)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(600)) as session:
        address = await ready

        differed: list[tuple[Question, Wish]] = []

        async def alone(question: Question, wish: Wish) -> None:
            bodies = [(wire, body_of(wire, question, wish, model)) for wire in WIRES]
            answers = {(await asked(session, address, wire, body)).text for wire, body in bodies}
            if len(answers) > 1:
                count["another answer on another wire"] += 1
                print(answers, wish, file=sys.stderr)

        async def one(question: Question, wish: Wish, streams: list[bool]) -> None:
            answers = set()
            async with slots:
                for wire, stream in zip(WIRES, streams, strict=True):
                    if count["requests"] == requests:
                        break
                    count["requests"] += 1
                    count["streams"] += stream
                    body = body_of(wire, question, wish, model)
                    seen = await asked(session, address, wire, body | ({"stream": True} if stream else {}))
                    if isinstance(seen, str):
                        count[f"refused: {seen}"] += 1
                        print(seen, wire, wish, file=sys.stderr)
                        continue
                    for fault in faults(wish, seen):
                        count[fault] += 1
                        print(fault, wire, wish, seen, file=sys.stderr)
                    count["tokens"] += seen.tokens
                    count["with a thought"] += seen.thought > 0
                    answers.add(seen.text)
            if len(answers) > 1:
                count["differed beside others"] += 1
                differed.append((question, wish))

        await asyncio.gather(*(one(q, drawn(draw), [draw.random() < 0.5 for _ in WIRES]) for q in questions))
        for question, wish in differed:
            await alone(question, wish)
    server.should_exit = True
    await serving
    await models.aclose()
    return count


SAID = ("requests", "streams", "with a thought", "tokens", "differed beside others")
WRONG = (
    "above the cap",
    "thought above its budget",
    "empty answer",
    "usage does not add up",
    "another answer on another wire",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--at-once", type=int, default=16)
    args = parser.parse_args()
    started = time.perf_counter()
    count = asyncio.run(run(args.requests, args.seed, args.at_once))
    refused = sorted(name for name in count if name.startswith("refused"))
    for name in (*SAID, *WRONG, *refused):
        print(f"{name:40}{count[name]:10}")
    print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr)
    raise SystemExit(1 if refused or any(count[name] for name in WRONG) else 0)


if __name__ == "__main__":
    main()
