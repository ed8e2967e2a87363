"""Whether other libraries give the embedded engine's answers: transformers in float32, or any server by its URL.

python -m training.agree --count 300
python -m training.agree --count 300 --server http://127.0.0.1:8000/v1 --model pebble --name "vLLM, CPU, float32"
"""

from __future__ import annotations

import argparse
import json
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from thinkcap.model import pebble_gguf, pebble_hf
from thinkcap.tasks.families import questions
from training.engine import Llama
from training.evaluate import QUICK_LIMIT, SEED, Judge, share

LIMIT = 2600
Generate = Callable[[list[list[int]], int, list[list[int]]], list[list[int]]]
"""Prompts, limit and what the embedded engine wrote, to what another library writes."""


def by_transformers(prompts: list[list[int]], limit: int, ours: list[list[int]]) -> list[list[int]]:
    """What greedy decoding of the released safetensors in float32 writes.

    One pass over prompt and `ours` shows where transformers would first write another token; up to there greedy
    decoding gives the same ids, so only the rest, if any, has to be generated.
    """
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(str(pebble_hf()), dtype=torch.float32).eval()
    found = []
    for prompt, mine in zip(prompts, ours, strict=True):
        with torch.no_grad():
            logits = model(torch.tensor([prompt + mine])).logits[0, len(prompt) - 1 : -1]
            chosen = logits.argmax(-1).tolist()
            same = next((k for k, (a, b) in enumerate(zip(chosen, mine, strict=True)) if a != b), len(mine))
            if same == len(mine):
                found.append(mine)
                continue
            start = torch.tensor([prompt + mine[:same]])
            out = model.generate(
                start, attention_mask=torch.ones_like(start), max_new_tokens=limit - same, do_sample=False
            )
        found.append(mine[:same] + out[0, start.size(1) :].tolist())
    return found


def by_server(url: str, model: str, end: int) -> Generate:
    """Token ids to `/completions` of an OpenAI-like server that returns token ids (vLLM: return_token_ids)."""

    def generate(prompts: list[list[int]], limit: int, ours: list[list[int]]) -> list[list[int]]:
        def one(prompt: list[int]) -> list[int]:
            body: dict[str, Any] = {
                "model": model,
                "prompt": prompt,
                "max_tokens": limit,
                "temperature": 0,
                "return_token_ids": True,
                "stop_token_ids": [end],
            }
            request = urllib.request.Request(
                url.rstrip("/") + "/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=3600) as reply:
                choice = json.loads(reply.read())["choices"][0]
            if not choice.get("token_ids"):
                raise SystemExit(f"{url} returned no token ids; start a server that knows return_token_ids")
            ids = list(choice["token_ids"])
            return ids if choice["finish_reason"] != "stop" or ids[-1] == end else [*ids, end]

        with ThreadPoolExecutor(32) as pool:
            return list(pool.map(one, prompts))

    return generate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=300, help="questions of the mix")
    parser.add_argument("--server", help="base URL of an OpenAI-like server instead of transformers")
    parser.add_argument("--model", default="pebble", help="the model's name at that server")
    parser.add_argument("--name", help="what the figures are kept under; the server's address by default")
    parser.add_argument("--out", type=Path, help="JSON file to add the figures to")
    options = parser.parse_args()
    judge = Judge()
    problems = questions("mix", options.count, SEED + 1)
    other: Generate = by_transformers
    if options.server:
        other = by_server(options.server, options.model, judge.encoder.end)
    name = options.name or options.server or "transformers float32"
    figures: dict[str, Any] = {"n": len(problems)}
    with Llama(pebble_gguf()) as llama:
        for mode, think, limit in (("nothink", False, QUICK_LIMIT), ("think", True, LIMIT)):
            prompts = judge.ask(problems, think)
            ours = llama.complete(prompts, limit)
            theirs = other(prompts, limit, ours)
            pairs = list(zip(ours, theirs, strict=True))
            figures[mode] = {
                "same_answer": share([judge.said(a) == judge.said(b) for a, b in pairs]),
                "same_ids": share([a == b for a, b in pairs]),
            }
            print(f"{name}, {mode}: {figures[mode]}", flush=True)
    if options.out:
        record = json.loads(options.out.read_text()) if options.out.exists() else {}
        record[name] = figures
        options.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
