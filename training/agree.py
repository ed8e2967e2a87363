"""Whether other libraries give the embedded engine's answers: transformers in float32, or any server by its URL.

python -m training.agree --count 300
python -m training.agree --count 300 --server http://127.0.0.1:8000/v1 --model pebble
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
Generate = Callable[[list[list[int]], int], list[list[int]]]


def by_transformers(prompts: list[list[int]], limit: int) -> list[list[int]]:
    """Greedy `generate` of the released safetensors in float32, prompts of like length together."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(str(pebble_hf()), dtype=torch.float32).eval()
    pad = model.generation_config.pad_token_id
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    found: list[list[int]] = [[] for _ in prompts]
    for first in range(0, len(order), 150):
        chosen = order[first : first + 150]
        width = max(len(prompts[i]) for i in chosen)
        ids = torch.full((len(chosen), width), pad)
        mask = torch.zeros_like(ids)
        for row, i in enumerate(chosen):
            ids[row, width - len(prompts[i]) :] = torch.tensor(prompts[i])
            mask[row, width - len(prompts[i]) :] = 1
        with torch.no_grad():
            out = model.generate(ids, attention_mask=mask, max_new_tokens=limit, do_sample=False)
        for row, i in enumerate(chosen):
            written = out[row, width:].tolist()
            end = next((k for k, t in enumerate(written) if t in model.generation_config.eos_token_id), None)
            found[i] = written if end is None else written[: end + 1]
    return found


def by_server(url: str, model: str, end: int) -> Generate:
    """Token ids to `/completions` of an OpenAI-like server that returns token ids (vLLM: return_token_ids)."""

    def generate(prompts: list[list[int]], limit: int) -> list[list[int]]:
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
    parser.add_argument("--out", type=Path, help="JSON file to add the figures to")
    options = parser.parse_args()
    judge = Judge()
    problems = questions("mix", options.count, SEED + 1)
    other: Generate = by_transformers
    if options.server:
        other = by_server(options.server, options.model, judge.encoder.end)
    name = options.server or "transformers float32"
    figures: dict[str, Any] = {"n": len(problems)}
    with Llama(pebble_gguf()) as llama:
        for mode, think, limit in (("nothink", False, QUICK_LIMIT), ("think", True, LIMIT)):
            prompts = judge.ask(problems, think)
            ours, theirs = llama.complete(prompts, limit), other(prompts, limit)
            pairs = list(zip(ours, theirs, strict=True))
            figures[mode] = {
                "same_answer": share([judge.said(a) == judge.said(b) for a, b in pairs]),
                "same_ids": share([a == b for a, b in pairs]),
            }
            print(f"{name}, {mode}: {figures[mode]}", flush=True)
    if options.out:
        record = json.loads(options.out.read_text()) if options.out.exists() else {}
        record[name if not options.server else f"server {options.model}"] = figures
        options.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
