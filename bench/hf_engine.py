"""The `hf` engine beside transformers' own `generate` on this machine: tokens a second, and are they the same?

    python bench/hf_engine.py --model src/thinkcap/model/pebble --dtype float32 --out pebble.json
    python bench/hf_engine.py --model random:qwen3-8b --tokens 512 --plain-tokens 64 --task family:arithmetic \\
        --out random.json
    python bench/hf_engine.py --told pebble.json random.json --page docs/servers.md

`random:SHAPE` writes a model of that shape with random weights into a folder of its own first. It ends no turn
before the limit, so every sequence has its full length; where turns end, `generate` keeps their lanes. The floor
is what the memory allows: weights and live keys and values read once a step, at the speed of a copy measured in
the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from page import written
from thinkcap.core.complete import complete
from thinkcap.core.engine import Engine
from thinkcap.core.types import Completion, Request
from thinkcap.engines import open_engine
from thinkcap.model import pebble_hf
from thinkcap.tasks import load

SHAPES = {
    "qwen3-8b": {
        "vocab_size": 151936,
        "hidden_size": 4096,
        "intermediate_size": 12288,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "max_position_embeddings": 40960,
        "rope_theta": 1e6,
        "tie_word_embeddings": False,
    },
    "qwen2.5-1.5b": {
        "vocab_size": 151936,
        "hidden_size": 1536,
        "intermediate_size": 8960,
        "num_hidden_layers": 28,
        "num_attention_heads": 12,
        "num_key_value_heads": 2,
        "head_dim": 128,
        "max_position_embeddings": 32768,
        "rope_theta": 1e6,
        "tie_word_embeddings": True,
    },
    "tiny": {"vocab_size": 1024, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2},
}
Ids = tuple[int, ...]


@contextmanager
def model_folder(name: str) -> Iterator[Path]:
    """The folder named, or one with random weights that is gone afterwards."""
    kind, _, shape = name.partition(":")
    if kind != "random":
        yield Path(name)
        return
    with tempfile.TemporaryDirectory() as made:
        write_random(shape, Path(made) / shape)
        yield Path(made) / shape


def write_random(shape: str, folder: Path) -> None:
    """Random weights in bfloat16, with the bundled model's tokenizer: its ids are a part of the vocabulary."""
    import torch
    from transformers import AutoModelForCausalLM, Qwen3Config

    shutil.copytree(pebble_hf(), folder, ignore=shutil.ignore_patterns("*.safetensors", "config.json"))
    about = {"eos_token_id": 1021, "pad_token_id": 1019, "dtype": "bfloat16", **SHAPES[shape]}
    torch.manual_seed(0)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = AutoModelForCausalLM.from_config(Qwen3Config(**about), dtype=torch.bfloat16)
    model.save_pretrained(folder)


def requests(count: int, tokens: int, task_name: str = "families") -> list[Request]:
    task = load(task_name, limit=count, seed=0)
    return [Request(question, "think", tokens, stage="bench") for question in task.questions]


async def through_engine(engine: Engine, asked: Sequence[Request]) -> tuple[float, list[Completion]]:
    started = time.perf_counter()
    done = await asyncio.gather(*(complete(engine, request) for request in asked))
    return time.perf_counter() - started, list(done)


class Plain:
    """transformers' own generation on a padded batch, as the paper's authors ran it."""

    def __init__(self, folder: Path, dtype: str) -> None:
        import torch
        from transformers import AutoModelForCausalLM

        kind = dtype if dtype == "auto" else getattr(torch, dtype)
        where = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = AutoModelForCausalLM.from_pretrained(folder, dtype=kind).to(where).eval()
        ends = self._model.generation_config.eos_token_id
        self._ends = {ends} if isinstance(ends, int) else set(ends)

    def written(self, prompts: Sequence[Ids], tokens: int) -> tuple[float, list[Ids]]:
        import torch

        pad = min(self._ends)
        longest = max(map(len, prompts))
        rows = [[pad] * (longest - len(p)) + list(p) for p in prompts]
        seen = [[0] * (longest - len(p)) + [1] * len(p) for p in prompts]
        where = self._model.device
        started = time.perf_counter()
        with torch.inference_mode():
            out = self._model.generate(
                torch.tensor(rows, device=where),
                attention_mask=torch.tensor(seen, device=where),
                max_new_tokens=tokens,
                do_sample=False,
                pad_token_id=pad,
            )
        found = [self._ended(row) for row in out[:, longest:].tolist()]
        return time.perf_counter() - started, found

    def _ended(self, row: list[int]) -> Ids:
        for at, token in enumerate(row):
            if token in self._ends:
                return tuple(row[: at + 1])
        return tuple(row)


class Floor:
    """The fewest seconds a step can take: bytes that must be read, at the speed at which this machine copies."""

    def __init__(self, model: Any) -> None:
        import torch

        config = model.config
        heads = getattr(config, "num_key_value_heads", config.num_attention_heads)
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self._token = 2 * config.num_hidden_layers * heads * size * model.dtype.itemsize
        tied = config.tie_word_embeddings
        embedded = 0 if tied else model.get_input_embeddings().weight.numel()
        self._weights = (sum(p.numel() for p in model.parameters()) - embedded) * model.dtype.itemsize
        block = torch.empty(2**30 if model.device.type == "cuda" else 2**26, device=model.device)
        other = torch.empty_like(block)
        best = float("inf")
        for _ in range(5):
            started = time.perf_counter()
            other.copy_(block)
            if model.device.type == "cuda":
                torch.cuda.synchronize()
            best = min(best, time.perf_counter() - started)
        self.bytes_per_s = 2 * block.numel() * block.itemsize / best

    def tokens_per_s(self, lanes: int, live: float) -> float:
        return lanes / ((self._weights + lanes * live * self._token) / self.bytes_per_s)


async def measured(
    folder: Path, flows: Sequence[int], tokens: int, dtype: str, plain_tokens: int, batching: str, task: str
) -> dict[str, Any]:
    most = max(flows)
    asked = requests(4 * most, tokens, task)
    started = time.perf_counter()
    engine = await open_engine(str(folder), concurrency=most, dtype=dtype, batching=batching)
    opened = time.perf_counter() - started
    about = engine.card.to_dict()
    prompts = [(await engine.prompt(request)).ids or () for request in asked[:most]]
    # Graphs are captured once and kept: the first time of each is not the engine's speed.
    for count in flows:
        await through_engine(engine, asked[:count])
    ours = {count: await through_engine(engine, asked[:count]) for count in flows}
    wall, many = await through_engine(engine, asked)
    await engine.aclose()
    plain = Plain(folder, about["dtype"])
    plain.written(prompts[:1], 8)
    floor = Floor(plain._model)
    prompt_mean = sum(map(len, prompts)) / len(prompts)
    rows = []
    for count, (seconds, done) in ours.items():
        theirs, ids = plain.written(prompts[:count], plain_tokens or tokens)
        rows.append(
            {
                "flows": count,
                "engine": sum(c.tokens for c in done) / seconds,
                "generate": sum(map(len, ids)) / theirs,
                "floor": floor.tokens_per_s(count, prompt_mean + sum(c.tokens for c in done) / count / 2),
                "alike": sum((c.ids or ())[: len(i)] == i for c, i in zip(done, ids, strict=True)),
            }
        )
        print(json.dumps(rows[-1]), flush=True)
    line = {"requests": len(asked), "flows": most, "engine": sum(c.tokens for c in many) / wall}
    named = ("model", "dtype", "hardware", "version", "batching")
    return {
        **{name: about[name] for name in named},
        "tokens": tokens,
        "prompt_mean": prompt_mean,
        "opened_s": opened,
        "copy_bytes_per_s": floor.bytes_per_s,
        "rows": rows,
        "line": line,
    }


def told(found: Sequence[dict[str, Any]]) -> str:
    lines = []
    for one in found:
        lines += [
            f"`{one['model']}`, {one['dtype']}, {one['hardware']} ({one['version']}), "
            f"batching `{one['batching']}`, prompts of {one['prompt_mean']:.0f} tokens, "
            f"at most {one['tokens']} written each; opened in {one['opened_s']:.0f} s.",
            "",
            "| sequences | engine, tokens/s | `generate`, tokens/s | ratio | of the floor | the same tokens |",
            "|---|---|---|---|---|---|",
            *(
                f"| {row['flows']} | {row['engine']:,.0f} | {row['generate']:,.0f} "
                f"| {row['engine'] / row['generate']:.2f} "
                f"| {row['engine'] / row['floor']:.0%} of {row['floor']:,.0f} "
                f"| {row['alike']} of {row['flows']} |"
                for row in one["rows"]
            ),
            "",
            f"{one['line']['requests']} requests over {one['line']['flows']} lanes, joining and leaving: "
            f"{one['line']['engine']:,.0f} tokens/s.",
            "",
        ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--model", default=str(pebble_hf()), help=f"A folder, or random: and one of {', '.join(SHAPES)}."
    )
    parser.add_argument("--flows", default="1,32,128,256")
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--batching", default="auto")
    parser.add_argument("--task", default="families", help="Where the prompts come from.")
    parser.add_argument("--plain-tokens", type=int, default=0, help="Fewer tokens for `generate`; 0: as many.")
    parser.add_argument("--out", type=Path, help="Keep what was measured in this file.")
    parser.add_argument("--told", type=Path, nargs="+", help="Measure nothing; tell what these files hold.")
    parser.add_argument("--page", type=Path, help="Write the report between the marks of this page.")
    args = parser.parse_args()
    if args.told:
        found = [json.loads(path.read_text()) for path in args.told]
    else:
        with model_folder(args.model) as folder:
            flows = [int(word) for word in args.flows.split(",")]
            work = measured(folder, flows, args.tokens, args.dtype, args.plain_tokens, args.batching, args.task)
            found = [asyncio.run(work)]
        if args.out:
            args.out.write_text(json.dumps(found[0], indent=1) + "\n")
    print(told(found))
    if args.page:
        written(args.page, "hf", told(found))


if __name__ == "__main__":
    main()
