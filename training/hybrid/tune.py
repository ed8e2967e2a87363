"""Teaches a base both modes from chains: low rank by default, all weights with `--full`.

    python -m training.hybrid.tune out/base out/chains.jsonl --out out/hybrid --adapter out/adapter
    python -m training.hybrid.tune out/base --from out/adapter --out out/hybrid       # no training: merge only

Sequences of like length share a batch and are padded on the right, where a causal model does not look: no mask is
needed, and the fast attention is used. Logits are made for learned tokens only, some thousands at a time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from thinkcap.core.prompts import PROMPTS
from thinkcap.core.types import Completion, Kind, Mode, Question, Request
from thinkcap.engines.hf_words import HfWords
from thinkcap.engines.speech import Speech, found_dialect
from thinkcap.engines.splice import Splicer
from thinkcap.policies import stages
from training.hybrid import lora

_LOGITS = 4096
"""Tokens whose logits are in memory at a time."""
_TRIED = 32
"""Examples that the marks are looked for in."""


@dataclass(frozen=True)
class Sequenced:
    """Token ids, and which of them are learned."""

    ids: tuple[int, ...]
    learned: tuple[bool, ...]


class Tokens:
    """Examples as the engine would put them to the model: the same prompts, the same ids."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoTokenizer, GenerationConfig

        self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._generation = GenerationConfig.from_pretrained(folder)
        self._splicer: Splicer | None = None

    @property
    def marks(self) -> tuple[int, int]:
        opened, closed = self._tokenizer.convert_tokens_to_ids(["<think>", "</think>"])
        return opened, closed

    async def open(self) -> Tokens:
        dialect = await found_dialect(str(self._tokenizer.chat_template))
        words = HfWords(self._tokenizer, self._generation, dialect)
        speech = await Speech.found(words.render, dialect, "auto", PROMPTS)
        self._splicer = Splicer(speech, words.render, words.tokenize)
        return self

    async def sequence(self, example: dict[str, Any]) -> Sequenced:
        assert self._splicer is not None
        prompt, _ = await self._splicer.ids(self._request(example))
        text = "".join(part["text"] for part in example["parts"])
        written = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        learned = _learned(example["parts"], written["offset_mapping"])
        # The end of the turn is always learned.
        ids = (*prompt, *written["input_ids"], self._tokenizer.eos_token_id)
        return Sequenced(ids, (*(False,) * len(prompt), *learned, True))

    def _request(self, example: dict[str, Any]) -> Request:
        kind: Kind = example["kind"]
        asked = PROMPTS.asked(example["question"], kind)
        question = Question("example", ({"role": "user", "content": asked},), kind=kind)
        if example["mode"] == "answer":
            ids = tuple(self._tokenizer(example["trace"], add_special_tokens=False)["input_ids"])
            trace = Completion(example["trace"], ended=False, tokens=len(ids), ids=ids)
            return stages.extraction(question, trace, 1, PROMPTS)
        mode: Mode = "think" if example["mode"] == "think" else "nothink"
        return Request(question, mode, 1, "example")


def _learned(parts: Sequence[dict[str, Any]], places: Sequence[tuple[int, int]]) -> list[bool]:
    """A token belongs to the part in which it ends."""
    ends, total = [], 0
    for part in parts:
        total += len(part["text"])
        ends.append((total, part["learned"]))
    found, at = [], 0
    for _, last in places:
        while at < len(ends) - 1 and last > ends[at][0]:
            at += 1
        found.append(bool(ends[at][1]))
    return found


def batches(lengths: Sequence[int], most: int, rng: Random) -> list[list[int]]:
    """Groups of like length, at most `most` tokens with their padding, in an order of chance."""
    order = sorted(range(len(lengths)), key=lambda i: (lengths[i], rng.random()))
    groups: list[list[int]] = []
    for i in order:
        if groups and lengths[i] * (len(groups[-1]) + 1) <= most:
            groups[-1].append(i)
        else:
            groups.append([i])
    rng.shuffle(groups)
    return groups


def loss_of(model: Any, rows: Sequence[Sequenced], pad: int) -> tuple[Tensor, int]:
    """The summed loss of the learned tokens, and how many they are."""
    longest = max(len(row.ids) for row in rows)
    where = model.device
    ids = torch.tensor([[*row.ids, *(pad,) * (longest - len(row.ids))] for row in rows], device=where)
    kept = torch.tensor([[*row.learned, *(False,) * (longest - len(row.ids))] for row in rows], device=where)
    hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
    places = kept[:, 1:].nonzero(as_tuple=True)
    read, wanted = hidden[:, :-1][places], ids[:, 1:][places]
    weight = model.lm_head.weight

    def part(states: Tensor, targets: Tensor) -> Tensor:
        logits = torch.nn.functional.linear(states, weight).float()
        return torch.nn.functional.cross_entropy(logits, targets, reduction="sum")

    total = sum(
        checkpoint(part, read[at : at + _LOGITS], wanted[at : at + _LOGITS], use_reentrant=False)
        for at in range(0, len(wanted), _LOGITS)
    )
    assert isinstance(total, Tensor)
    return total, len(wanted)


def rate_at(step: int, steps: int, rate: float) -> float:
    """Up over the first twentieth, then down along half a cosine to a tenth."""
    rise = max(1, steps // 20)
    if step < rise:
        return rate * (step + 1) / rise
    done = (step - rise) / max(1, steps - rise)
    return rate * (0.1 + 0.45 * (1 + math.cos(math.pi * done)))


def steps_of(rows: Sequence[Sequenced], args: argparse.Namespace) -> Iterator[list[list[int]]]:
    """What goes into each step of the optimizer: small batches until together they have enough tokens."""
    rng = Random(args.seed)
    lengths = [len(row.ids) for row in rows]
    for _ in range(args.epochs):
        step: list[list[int]] = []
        for batch in batches(lengths, args.batch_tokens, rng):
            step.append(batch)
            if sum(lengths[i] for group in step for i in group) >= args.step_tokens:
                yield step
                step = []
        if step:
            yield step


def train(model: Any, rows: Sequence[Sequenced], pad: int, args: argparse.Namespace) -> None:
    learned = [p for p in model.parameters() if p.requires_grad]
    fused = model.device.type == "cuda"
    optimizer = torch.optim.AdamW(learned, lr=args.rate, betas=(0.9, 0.99), weight_decay=0.0, fused=fused)
    plan = list(steps_of(rows, args))
    started, read, told = time.monotonic(), 0, 0.0
    for number, step in enumerate(plan):
        if time.monotonic() - started > args.limit_s:
            print(f"stopped at the limit, {number} of {len(plan)} steps done", flush=True)
            break
        for group in optimizer.param_groups:
            group["lr"] = rate_at(number, len(plan), args.rate)
        count = sum(sum(rows[i].learned) for batch in step for i in batch)
        summed = 0.0
        for batch in step:
            with torch.autocast(model.device.type, torch.bfloat16):
                loss, _ = loss_of(model, [rows[i] for i in batch], pad)
            (loss / count).backward()
            summed += float(loss.detach())
            read += sum(len(rows[i].ids) for i in batch)
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        seconds = time.monotonic() - started
        if seconds - told > 10 or number + 1 == len(plan):
            told = seconds
            speed = f"{read / seconds:,.0f} tokens/s, {seconds:.0f} s"
            print(f"step {number + 1} of {len(plan)}, loss {summed / count:.4f}, {speed}", flush=True)


def marks_written(model: Any, rows: Sequence[Sequenced], marks: Sequence[int]) -> float:
    """How often the model finds a mark the likeliest where it belongs; without marks no thought is seen."""
    found = []
    for row in rows:
        with torch.inference_mode():
            best = model(input_ids=torch.tensor([row.ids], device=model.device)).logits[0, :-1].argmax(-1).tolist()
        pairs = zip(row.ids[1:], row.learned[1:], best, strict=True)
        found += [token == likeliest for token, learned, likeliest in pairs if learned and token in marks]
    return sum(found) / max(1, len(found))


def write(model: Any, base: Path, out: Path) -> None:
    """The model in bfloat16, with the base's tokenizer and template beside it."""
    shutil.copytree(
        base, out, ignore=shutil.ignore_patterns("*.safetensors", "*.safetensors.index.json"), dirs_exist_ok=True
    )
    model.to(torch.bfloat16).save_pretrained(out)
    for name in ("config.json", "generation_config.json"):
        shutil.copy(base / name, out / name)


async def sequences(base: Path, chains: Path, longest: int, limit: int) -> list[Sequenced]:
    tokens = await Tokens(base).open()
    lines = chains.read_text(encoding="utf-8").splitlines()
    made = [await tokens.sequence(json.loads(line)) for line in (lines[:limit] if limit else lines)]
    return [row for row in made if len(row.ids) <= longest]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=Path)
    parser.add_argument("chains", type=Path, nargs="?")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--adapter", type=Path, help="Where the adapter is kept.")
    parser.add_argument("--from", type=Path, dest="ready", help="Merge this adapter; train nothing.")
    parser.add_argument("--full", action="store_true", help="All weights, float32, instead of low rank.")
    parser.add_argument("--rank", type=int, default=7)
    parser.add_argument("--scale", type=float, default=2.0)
    parser.add_argument("--rate", type=float, default=3e-4, help="1e-5 with --full.")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-tokens", type=int, default=12288, help="Read at once; bounds the memory.")
    parser.add_argument("--step-tokens", type=int, default=32768, help="Read before the weights change.")
    parser.add_argument("--longest", type=int, default=3072)
    parser.add_argument("--limit", type=int, default=0, help="Examples at most; 0: all.")
    parser.add_argument("--limit-s", type=float, default=220.0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    from transformers import AutoModelForCausalLM

    torch.manual_seed(args.seed)
    where = "cuda" if torch.cuda.is_available() else "cpu"
    kind = torch.float32 if args.full else torch.bfloat16
    model = AutoModelForCausalLM.from_pretrained(args.base, local_files_only=True, dtype=kind).to(where)
    if args.ready:
        lora.merge(model, lora.load(model, args.ready))
        write(model, args.base, args.out)
        return
    rows = asyncio.run(sequences(args.base, args.chains, args.longest, args.limit))
    total, learned = sum(len(row.ids) for row in rows), sum(sum(row.learned) for row in rows)
    print(f"{len(rows):,} sequences, {total:,} tokens, {learned:,} learned", flush=True)
    adapters = {} if args.full else lora.attach(model, args.rank, args.scale)
    model.train()
    train(model, rows, model.config.pad_token_id or 0, args)
    if args.adapter and adapters:
        lora.save(adapters, args.adapter, args.base.name)
        # What is merged is what was kept, rounded like it.
        for adapter in adapters.values():
            adapter.down.data, adapter.up.data = adapter.down.data.bfloat16(), adapter.up.data.bfloat16()
    lora.merge(model, adapters)
    write(model, args.base, args.out)
    marks = Tokens(args.base).marks
    seen = marks_written(model.eval(), [row for row in rows if marks[1] in row.ids][:_TRIED], marks)
    print(f"{args.out} written; it writes {seen:.0%} of the marks of a thought where they belong", flush=True)


if __name__ == "__main__":
    main()
