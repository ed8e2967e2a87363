"""Turns a quantised GGUF of Qwen2.5 into a transformers folder with Qwen3's tokenizer and a template of our own.

    python -m training.hybrid.weights qwen2.5-coder-1.5b-instruct.gguf --out out/base

The model is tied, so the file's `output.weight` (the finer copy) serves as the embedding too. Qwen3 gave two spare
rows of the vocabulary to `<think>` and `</think>`; here they begin near words that mean the like.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from training.tokenizer import TEMPLATE

NAMES = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
QWEN3_MARKS = {151665: "<tool_response>", 151666: "</tool_response>", 151667: "<think>", 151668: "</think>"}
LIKE = {"<think>": ("Ġthink", "Ġthinking", "Ġconsider"), "</think>": ("Ġtherefore", "Ġdone", "Ġfinally")}
"""Tokens near which a new mark begins; the training does the rest."""
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CONTROL, _USER = 3, 4
_ROWS = 4096
"""Rows of a matrix that one thread turns into numbers at a time."""


def transformers_name(name: str) -> str | None:
    """What transformers calls a tensor of the file; None for the one that is not needed."""
    if name == "token_embd.weight":
        return None
    if name == "output.weight":
        return "model.embed_tokens.weight"
    if name == "output_norm.weight":
        return "model.norm.weight"
    _, layer, part, end = name.split(".")
    return f"model.layers.{layer}.{NAMES[part]}.{end}"


def state_of(reader: Any) -> dict[str, Any]:
    """Every tensor as bfloat16, dequantised in blocks of rows by as many threads as there are cores."""
    import torch
    from gguf.quants import dequantize

    state: dict[str, Any] = {}
    jobs = []
    for tensor in reader.tensors:
        name = transformers_name(tensor.name)
        if name is None:
            continue
        shape = tuple(int(n) for n in reversed(tensor.shape))
        state[name] = torch.empty(shape, dtype=torch.bfloat16)
        step = _ROWS if len(shape) == 2 else shape[0]
        jobs += [(name, tensor, first, first + step) for first in range(0, shape[0], step)]

    def fill(job: tuple[str, Any, int, int]) -> None:
        name, tensor, first, last = job
        values = dequantize(tensor.data[first:last], tensor.tensor_type)
        state[name][first:last] = torch.from_numpy(np.array(values, dtype=np.float32)).bfloat16()

    with ThreadPoolExecutor() as threads:
        list(threads.map(fill, jobs))
    return state


def begin_marks(embedding: Any, ids: dict[str, int]) -> None:
    """Writes the rows of the new marks: half the mean of like words, and a direction of their own.

    Without the direction a mark could never be the likeliest token: a mean is below the best of its words.
    """
    import torch

    chance = torch.Generator().manual_seed(0)
    for mark, like in LIKE.items():
        rows = embedding[[ids[token] for token in like]].float()
        own = torch.randn(rows.shape[1], generator=chance)
        own *= rows.norm(dim=1).mean() / own.norm()
        embedding[ids[mark]] = (rows.mean(0) / 2 + own).to(embedding.dtype)


def tokenizer_of(tokens: Sequence[str], kinds: Sequence[int], merges: Sequence[str]) -> Any:
    """Qwen2's byte-level BPE with Qwen3's marks; rows that mean nothing get no text."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    named = {i: token for i, token in enumerate(tokens) if not token.startswith("[PAD")} | QWEN3_MARKS
    special = {i for i, kind in enumerate(kinds) if kind == _CONTROL and i in named}
    added = sorted(
        special | {i for i, kind in enumerate(kinds) if kind == _USER and i in named} | set(QWEN3_MARKS)
    )
    vocabulary = {token: i for i, token in named.items() if i not in added}
    pairs = [tuple(merge.split(" ", 1)) for merge in merges]
    made = Tokenizer(models.BPE(vocabulary, pairs))
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    made.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    # Numbered in the order they are added, so a gap in the numbers would move all that follow.
    made.add_tokens([AddedToken(named[i], special=i in special, normalized=False) for i in added])
    wrong = {named[i]: made.token_to_id(named[i]) for i in added if made.token_to_id(named[i]) != i}
    if wrong:
        raise SystemExit(f"these tokens got other numbers than in the file: {wrong}")
    found = PreTrainedTokenizerFast(
        tokenizer_object=made,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        clean_up_tokenization_spaces=False,
        model_max_length=32768,
    )
    found.chat_template = TEMPLATE.read_text(encoding="utf-8")
    return found


def write_folder(reader: Any, folder: Path, state: dict[str, Any], tokenizer: Any) -> None:
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
    said = {key: field.contents() for key, field in reader.fields.items() if key.startswith("qwen2.")}
    config = {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "dtype": "bfloat16",
        "transformers_version": "5.0.0",
        "vocab_size": state["model.embed_tokens.weight"].shape[0],
        "hidden_size": said["qwen2.embedding_length"],
        "intermediate_size": said["qwen2.feed_forward_length"],
        "num_hidden_layers": said["qwen2.block_count"],
        "num_attention_heads": said["qwen2.attention.head_count"],
        "num_key_value_heads": said["qwen2.attention.head_count_kv"],
        "max_position_embeddings": said["qwen2.context_length"],
        "rms_norm_eps": round(said["qwen2.attention.layer_norm_rms_epsilon"], 9),
        "rope_theta": said["qwen2.rope.freq_base"],
        "tie_word_embeddings": True,
        "use_sliding_window": False,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    ends = {
        "eos_token_id": [tokenizer.eos_token_id, tokenizer.pad_token_id],
        "pad_token_id": tokenizer.pad_token_id,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    (folder / "generation_config.json").write_text(json.dumps(ends | {"do_sample": False}, indent=1) + "\n")
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gguf", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    from gguf import GGUFReader

    started = time.monotonic()
    reader = GGUFReader(args.gguf)
    vocabulary = [reader.fields[f"tokenizer.ggml.{key}"].contents() for key in ("tokens", "token_type", "merges")]
    tokenizer = tokenizer_of(*vocabulary)
    state = state_of(reader)
    begin_marks(state["model.embed_tokens.weight"], tokenizer.get_vocab())
    write_folder(reader, args.out, state, tokenizer)
    millions = sum(tensor.numel() for tensor in state.values()) / 1e6
    seconds = time.monotonic() - started
    print(f"{args.out}: {len(state)} tensors, {millions:,.0f} million numbers, {seconds:.0f} s")


if __name__ == "__main__":
    main()
