"""Is an answer under a JSON schema complete, and as right as the same policy's answer in words?

    python bench/json_answers.py [--requests 500] [--policy iris] [--json direct]
    python bench/json_answers.py --page docs/serve.md            # its table into the documentation

Questions of the bundled model's families, five shapes of schema in turn, caps drawn from 64 to 512. Each question
is asked twice through the gateway under the same cap and policy: with the schema, and in words.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import jsonschema_rs

from page import written
from thinkcap import extract
from thinkcap.gateway.app import Gateway
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.models import open_models
from thinkcap.gateway.server import make_server
from thinkcap.gateway.telemetry.metrics import Metrics
from thinkcap.grading import Grader
from thinkcap.tasks import load

CAPS = (64, 512)
SHAPES = ("integer", "enum", "string", "list", "nested")
_LABELS = {"truth": ["True", "False"], "yesno": ["Yes", "No"], "label": list("ABCDEFG")}


def of(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def schema(shape: str, form: str) -> dict[str, Any]:
    """A schema of this shape for a question whose answer has this form."""
    number = form not in _LABELS
    value: dict[str, Any] = {"type": "integer"} if number else {"enum": _LABELS[form]}
    if shape in ("integer", "enum"):
        return of(answer=value)
    if shape == "string":
        return of(answer={"type": "string"})
    if shape == "list":
        return of(steps={"type": "array", "items": {"type": "string"}, "maxItems": 8}, answer=value)
    return of(result=of(answer=value, reason={"anyOf": [{"type": "string"}, {"type": "null"}]}))


def value(shape: str, content: str) -> str:
    found = json.loads(content)
    return str((found["result"] if shape == "nested" else found)["answer"])


async def run(args: argparse.Namespace) -> list[dict[str, Any]]:
    config = ServeConfig.from_mapping({"model": "bundled", "port": 0})
    metrics = Metrics()
    models = await open_models(config, metrics)
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    gateway = make_server(Gateway(config, models, metrics), address.set_result)
    serving = asyncio.ensure_future(gateway.serve())
    name = next(iter(models.served)) + (f"+{args.policy}" if args.policy else "")
    task = load("families", limit=4 * args.requests, seed=args.seed)
    dice = random.Random(args.seed)
    left = {form: [q for q in task.questions if (q.answer_form in _LABELS) == form] for form in (True, False)}
    rows: list[dict[str, Any]] = []
    slots = asyncio.Semaphore(args.slots)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(600)) as session, Grader() as grader:

        async def asked(question: Any, cap: int, **more: Any) -> tuple[int, Any]:
            body = {"model": name, "messages": question.messages, "max_tokens": cap, "temperature": 0, **more}
            async with session.post(f"{await address}/chat/completions", json=body) as reply:
                return reply.status, await reply.json()

        async def one(question: Any, shape: str, cap: int) -> None:
            wanted = schema(shape, question.answer_form)
            form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": wanted, "strict": True}}
            more = {"thinkcap": {"json": args.json}} if args.json else {}
            async with slots:
                status, held = await asked(question, cap, response_format=form, **more)
                plain_status, plain = await asked(question, cap)
            row: dict[str, Any] = {"shape": shape, "cap": cap, "complete": False, "held": False, "over": False}
            gold = task.golds[question.id]
            if status == 200:
                content = held["choices"][0]["message"]["content"]
                row |= {"content": content, "over": held["usage"]["completion_tokens"] > cap}
                row |= {"policy": held["thinkcap"]["policy"], "tokens": held["usage"]["completion_tokens"]}
                try:
                    jsonschema_rs.validate(wanted, json.loads(content))
                except (ValueError, jsonschema_rs.ValidationError):
                    pass
                else:
                    row["complete"] = held["choices"][0]["finish_reason"] == "stop"
                    verdict = await grader.grade(gold, value(shape, content), question.kind)
                    row["held"] = verdict == "right"
            text = plain["choices"][0]["message"]["content"] if plain_status == 200 else ""
            found = extract(text, question.kind).answer if text else None
            row["words"] = await grader.grade(gold, found, question.kind) == "right"
            rows.append(row)

        jobs = []
        for at in range(args.requests):
            shape = SHAPES[at % len(SHAPES)]
            label = shape == "enum" or (shape != "integer" and dice.random() < 0.7)
            jobs.append(one(left[label].pop(), shape, dice.randint(*CAPS)))
        await asyncio.gather(*jobs)
    gateway.should_exit = True
    await serving
    await models.aclose()
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    lines = [f"{'shape':10}{'n':>6}{'complete':>10}{'right, JSON':>13}{'right, words':>14}{'above cap':>11}"]
    for shape in (*SHAPES, "all"):
        some = [row for row in rows if shape in (row["shape"], "all")]
        shares = [100 * sum(row[key] for row in some) / len(some) for key in ("held", "words")]
        complete, over = (sum(row[key] for row in some) for key in ("complete", "over"))
        lines.append(f"{shape:10}{len(some):>6}{complete:>10}{shares[0]:>11.1f} %{shares[1]:>12.1f} %{over:>11}")
    policies = Counter(row.get("policy", "refused") for row in rows)
    lines += ["", "policies: " + ", ".join(f"{name} {n}" for name, n in policies.most_common())]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument(
        "--policy", default="", help="one policy for all; by default the gateway chooses by the cap"
    )
    parser.add_argument("--json", choices=["direct", "drafted"], help="how the JSON is come by")
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--rows", type=Path, help="write every row here")
    parser.add_argument("--page", type=Path, help="write the table between the marks of this page")
    args = parser.parse_args()
    rows = asyncio.run(run(args))
    text = table(rows)
    print(text)
    if args.rows:
        args.rows.write_text("\n".join(map(json.dumps, rows)))
    if args.page:
        written(args.page, "json", f"```\n{text}\n```")
    incomplete = sum(not row["complete"] for row in rows)
    lost = sum(row["words"] - row["held"] for row in rows)
    # Among few requests, one or two questions more or less are chance.
    bad = incomplete > 0.01 * len(rows) or lost > max(2, 0.03 * len(rows)) or any(row["over"] for row in rows)
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
