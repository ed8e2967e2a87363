"""Models of other layers than plain attention: each is written as its layers allow, and its card says how."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'thinkcap[hf]'", exc_type=ImportError)
transformers = pytest.importorskip(
    "transformers", reason="needs transformers: pip install 'thinkcap[hf]'", exc_type=ImportError
)

from thinkcap.core.complete import complete  # noqa: E402
from thinkcap.core.errors import Unsupported  # noqa: E402
from thinkcap.core.types import Question, Request  # noqa: E402
from thinkcap.engines import open_engine  # noqa: E402

LIMIT = 12
SMALL = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 512}


def mamba(size: int) -> Any:
    return transformers.MambaConfig(
        vocab_size=size, hidden_size=32, state_size=4, num_hidden_layers=2, pad_token_id=0, eos_token_id=1
    )


def mamba2(size: int) -> Any:
    return transformers.Mamba2Config(
        vocab_size=size, hidden_size=32, state_size=8, num_hidden_layers=2, num_heads=8, head_dim=8, n_groups=1,
        chunk_size=16, pad_token_id=0, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip


def qwen3_next(size: int) -> Any:
    return transformers.Qwen3NextConfig(
        vocab_size=size, **SMALL, **HEADS, layer_types=["linear_attention", "full_attention"],
        linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=8, linear_value_head_dim=8,
        num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, shared_expert_intermediate_size=16,
    )  # fmt: skip


def gemma3(size: int) -> Any:
    kinds = ["sliding_attention", "full_attention"]
    return transformers.Gemma3TextConfig(
        vocab_size=size, **SMALL, **HEADS, layer_types=kinds, sliding_window=16, query_pre_attn_scalar=8
    )


def gemma2(size: int) -> Any:
    kinds = ["sliding_attention", "full_attention"]
    return transformers.Gemma2Config(
        vocab_size=size, **SMALL, **HEADS, layer_types=kinds, sliding_window=16, query_pre_attn_scalar=8
    )


MODELS: dict[str, tuple[Callable[[int], Any], str]] = {
    "mamba": (mamba, "waves"),
    "mamba2": (mamba2, "waves"),
    "qwen3_next": (qwen3_next, "waves"),
    "gemma3": (gemma3, "batch"),
    "gemma2": (gemma2, "batch"),
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest, tiny_hf: Path, tmp_path: Path) -> tuple[Path, str]:
    """Random weights behind the tokenizer of the tiny model, and the way they are to be written."""
    make, way = MODELS[request.param]
    folder = tmp_path / request.param
    torch.manual_seed(7)
    size = json.loads((tiny_hf / "config.json").read_text())["vocab_size"]
    ends = json.loads((tiny_hf / "config.json").read_text())["eos_token_id"]
    network = transformers.AutoModelForCausalLM.from_config(make(size), dtype=torch.float32)
    network.generation_config.eos_token_id = ends
    network.config.eos_token_id = ends
    network.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((tiny_hf / name).read_bytes())
    return folder, way


async def test_it_is_written_as_its_layers_allow_with_the_tokens_of_generate(model: tuple[Path, str]) -> None:
    folder, way = model
    engine = await open_engine(str(folder), concurrency=3)
    assert engine.card.batching == way
    words = (
        "What is 3 + 4?",
        "And 5 + 6, or 12 + 30 + 7?",
        "What is 8 + 9?",
        "Name it.",
        "And 1 + 2, or 22 + 10 + 3?",
    )
    questions = [Question(f"q{n}", ({"role": "user", "content": text},)) for n, text in enumerate(words)]
    requests = [Request(question, "think", LIMIT, stage="t") for question in questions]
    done = await asyncio.gather(*(complete(engine, request) for request in requests))
    prompts = [(await engine.prompt(request)).ids or () for request in requests]
    await engine.aclose()
    network = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    for prompt, completion in zip(prompts, done, strict=True):
        ids = torch.tensor([prompt])
        out = network.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=LIMIT, do_sample=False)
        assert completion.ids == tuple(out[0, len(prompt) :].tolist())


async def test_another_way_is_refused_in_a_sentence(model: tuple[Path, str]) -> None:
    with pytest.raises(Unsupported, match="use batching"):
        await open_engine(str(model[0]), batching="lanes")
