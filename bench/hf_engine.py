"""The `hf` engine beside transformers' own `generate` on this machine: tokens a second, and are they the same?

    python bench/hf_engine.py --model src/thinkcap/model/pebble --dtype float32 --out pebble.json
    python bench/hf_engine.py --model random:qwen3-8b --tokens 128 --out random.json
    python bench/hf_engine.py --told pebble.json random.json --page docs/servers.md

`random:SHAPE` writes a model of that shape with random weights into a folder of its own first. It ends no turn
before the limit, so every sequence has its full length; where turns end, `generate` keeps their lanes.
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
from thinkcap.core.engine import Engine, complete
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


def requests(count: int, tokens: int) -> list[Request]:
    task = load("families", limit=count, seed=0)
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


async def measured(folder: Path, flows: Sequence[int], tokens: int, dtype: str) -> dict[str, Any]:
    most = max(flows)
    asked = requests(4 * most, tokens)
    started = time.perf_counter()
    engine = await open_engine(str(folder), concurrency=most, dtype=dtype)
    opened = time.perf_counter() - started
    about = engine.card.to_dict()
    prompts = [(await engine.prompt(request)).ids or () for request in asked[:most]]
    await through_engine(engine, requests(1, 8))
    ours = {count: await through_engine(engine, asked[:count]) for count in flows}
    wall, many = await through_engine(engine, asked)
    await engine.aclose()
    plain = Plain(folder, about["dtype"])
    plain.written(prompts[:1], 8)
    rows = []
    for count, (seconds, done) in ours.items():
        theirs, ids = plain.written(prompts[:count], tokens)
        rows.append(
            {
                "flows": count,
                "engine": sum(c.generated for c in done) / seconds,
                "generate": sum(map(len, ids)) / theirs,
                "alike": sum(c.ids == i for c, i in zip(done, ids, strict=True)),
            }
        )
        print(json.dumps(rows[-1]), flush=True)
    line = {"requests": len(asked), "flows": most, "engine": sum(c.generated for c in many) / wall}
    named = ("model", "dtype", "hardware", "version")
    return {
        **{name: about[name] for name in named},
        "tokens": tokens,
        "opened_s": opened,
        "rows": rows,
        "line": line,
    }


def told(found: Sequence[dict[str, Any]]) -> str:
    lines = []
    for one in found:
        lines += [
            f"`{one['model']}`, {one['dtype']}, {one['hardware']} ({one['version']}), "
            f"at most {one['tokens']} tokens each; opened in {one['opened_s']:.0f} s.",
            "",
            "| sequences at once | engine, tokens/s | `generate`, tokens/s | ratio | the same tokens |",
            "|---|---|---|---|---|",
            *(
                f"| {row['flows']} | {row['engine']:,.0f} | {row['generate']:,.0f} "
                f"| {row['engine'] / row['generate']:.2f} | {row['alike']} of {row['flows']} |"
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
    parser.add_argument("--out", type=Path, help="Keep what was measured in this file.")
    parser.add_argument("--told", type=Path, nargs="+", help="Measure nothing; tell what these files hold.")
    parser.add_argument("--page", type=Path, help="Write the report between the marks of this page.")
    args = parser.parse_args()
    if args.told:
        found = [json.loads(path.read_text()) for path in args.told]
    else:
        with model_folder(args.model) as folder:
            flows = [int(word) for word in args.flows.split(",")]
            found = [asyncio.run(measured(folder, flows, args.tokens, args.dtype))]
        if args.out:
            args.out.write_text(json.dumps(found[0], indent=1) + "\n")
    print(told(found))
    if args.page:
        written(args.page, "hf", told(found))


if __name__ == "__main__":
    main()
