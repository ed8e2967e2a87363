"""Is max_tokens a contract? Requests with random caps through the gateway and to the same server in thinking mode.

    python bench/gateway_contract.py [--requests 2000] [--profile profile.toml] [--model model.gguf]
    python bench/gateway_contract.py --page docs/serve.md        # its table into the documentation

One llama-server holds the model (the bundled one by default). Each question is asked twice under the same cap:
through the gateway, and of the server itself with thinking on. Where the gateway gives no answer, no-think is
asked directly: an empty answer counts against the gateway if that would have given one under the same cap.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import secrets
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp

from page import written
from thinkcap import extract
from thinkcap.engines.llamacpp import start_server
from thinkcap.gateway.app import Gateway
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.models import open_models
from thinkcap.gateway.server import make_server
from thinkcap.gateway.telemetry.metrics import Metrics
from thinkcap.grading import Grader
from thinkcap.model import pebble_gguf
from thinkcap.tasks import load

BANDS = ((16, 63), (64, 127), (128, 255), (256, 511), (512, 1024))


async def ask(
    session: aiohttp.ClientSession, address: str, model: str, messages: Any, cap: int, **more: Any
) -> Any:
    body = {"model": model, "messages": messages, "max_tokens": cap, "temperature": 0, **more}
    async with session.post(f"{address}/chat/completions", json=body) as reply:
        return reply.status, await reply.json()


def read(status: int, found: Any) -> tuple[str, int]:
    """The answer's text and the tokens it cost."""
    if status != 200:
        return "", 0
    message = found["choices"][0]["message"]
    return (message.get("content") or "").strip(), found["usage"]["completion_tokens"]


async def run(args: argparse.Namespace) -> dict[str, Any]:
    key = os.environ["THINKCAP_API_KEY"] = secrets.token_hex(16)
    server = [start_server(args.model, 4096, args.slots, args.threads, key)]
    upstream = f"{server[0].listening_address}/v1"
    table: dict[str, Any] = {
        "model": upstream,
        "port": 0,
        **({"profile": str(args.profile)} if args.profile else {}),
    }
    config = ServeConfig.from_mapping(table)
    metrics = Metrics()
    models = await open_models(config, metrics)
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    gateway = make_server(Gateway(config, models, metrics), address.set_result)
    serving = asyncio.ensure_future(gateway.serve())
    name = next(iter(models.served))
    task = load("families", limit=args.requests, seed=args.seed)
    caps = random.Random(args.seed)
    drawn = [caps.randint(16, 1024) for _ in task.questions]
    rows: list[dict[str, Any]] = []
    slots = asyncio.Semaphore(args.slots)
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(600)) as session,
        Grader() as grader,
    ):

        async def one(question: Any, cap: int) -> None:
            async with slots:
                started = time.perf_counter()
                status, found = await ask(session, await address, name, question.messages, cap)
                wall_s = time.perf_counter() - started
                plain = await ask(
                    session, upstream, name, question.messages, cap, chat_template_kwargs={"enable_thinking": True}
                )
            gold = task.golds[question.id]
            row: dict[str, Any] = {"cap": cap, "status": status, "wall_s": wall_s}
            for who, (text, tokens) in {"gateway": read(status, found), "direct": read(*plain)}.items():
                answer = extract(text, question.kind).answer if text else None
                verdict = await grader.grade(gold, answer, question.kind)
                row |= {f"{who}_empty": not text, f"{who}_tokens": tokens, f"{who}_right": verdict == "right"}
            row["policy"] = found["thinkcap"]["policy"] if status == 200 else found["error"]["code"]
            row["fallback"] = status == 200 and found["thinkcap"]["fallback"]
            if row["gateway_empty"]:
                off = {"chat_template_kwargs": {"enable_thinking": False}}
                text, _ = read(*await ask(session, upstream, name, question.messages, cap, **off))
                row["nothink_answers"] = bool(text)
            rows.append(row)
            if len(rows) % 200 == 0:
                print(f"{len(rows)} of {len(drawn)}", file=sys.stderr, flush=True)

        started = time.perf_counter()
        await asyncio.gather(*(one(q, cap) for q, cap in zip(task.questions, drawn, strict=True)))
        spent = time.perf_counter() - started
    gateway.should_exit = True
    await serving
    await models.aclose()
    server.clear()
    return {"rows": rows, "seconds": spent}


def totals(rows: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    empty = [row for row in rows if row["gateway_empty"]]
    return {
        "requests": len(rows),
        "answers above their cap": sum(row["gateway_tokens"] > row["cap"] for row in rows),
        "gateway without an answer": len(empty),
        "of these, no-think would have answered": sum(row["nothink_answers"] for row in empty),
        "direct thinking without an answer": sum(row["direct_empty"] for row in rows),
        "gateway right": sum(row["gateway_right"] for row in rows) / len(rows),
        "direct thinking right": sum(row["direct_right"] for row in rows) / len(rows),
        "gateway tokens": sum(row["gateway_tokens"] for row in rows),
        "direct thinking tokens": sum(row["direct_tokens"] for row in rows),
        "fallbacks": sum(row["fallback"] for row in rows),
        "seconds": round(seconds, 1),
    }


def table(rows: list[dict[str, Any]], total: dict[str, Any]) -> str:
    lines = [
        f"{what:40}{100 * value:10.1f} %"
        if isinstance(value, float) and what.endswith("right")
        else f"{what:40}{value:10}"
        for what, value in total.items()
    ]
    lines += ["", f"{'':20}{'no answer':^20}{'right':^20}".rstrip()]
    lines.append(f"{'caps':>12}{'n':>8}{'gateway':>10}{'direct':>10}{'gateway':>10}{'direct':>10}  policies")
    for low, high in BANDS:
        band = [row for row in rows if low <= row["cap"] <= high]
        if not band:
            continue
        policies = Counter(row["policy"] for row in band)
        shares = [
            sum(row[f"{who}_{what}"] for row in band) / len(band)
            for what in ("empty", "right")
            for who in ("gateway", "direct")
        ]
        cells = "".join(f"{100 * share:8.1f} %" for share in shares)
        named = ", ".join(f"{name} {n}" for name, n in policies.most_common())
        lines.append(f"{f'{low}-{high}':>12}{len(band):>8}{cells}  {named}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--model", type=Path, default=pebble_gguf())
    parser.add_argument("--profile", type=Path)
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path, help="write the table between the marks of this page")
    args = parser.parse_args()
    found = asyncio.run(run(args))
    total = totals(found["rows"], found["seconds"])
    text = table(found["rows"], total)
    print(text)
    if args.json:
        args.json.write_text(json.dumps({"total": total, "rows": found["rows"]}))
    if args.page:
        written(args.page, "contract", f"```\n{text}\n```")
    raise SystemExit(
        1 if total["answers above their cap"] or total["of these, no-think would have answered"] else 0
    )


if __name__ == "__main__":
    main()
