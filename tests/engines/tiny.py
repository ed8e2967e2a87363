"""A real GGUF model of a few hundred kilobytes with random weights, made on the spot: every engine can load it.

It has a Qwen-like vocabulary of bytes, single-token think tags and a template with or without a switch. Its
end-of-turn token is made likely, so that greedy answers end by themselves after some dozens of tokens; its text
is noise, often no valid UTF-8, which is what decoding must survive.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np

from thinkcap.engines.gguf import byte_alphabet

KEY, SLOTS = "the-key-of-the-tests", 8
"""Of the llama-server that serves it in the tests."""

END, START, OPEN, CLOSE = "<|im_end|>", "<|im_start|>", "<think>", "</think>"

SWITCHED = (
    "{%- for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{%- endfor %}"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n"
    "{%- if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{%- endif %}"
    "{%- endif %}"
)
ALWAYS = (
    "{%- for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{%- endfor %}"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n<think>\n{%- endif %}"
)
NEVER = (
    "{%- for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{%- endfor %}"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n{%- endif %}"
)

_WIDTH, _LAYERS, _HEADS, _KV, _HEAD, _INNER, _CONTEXT = 64, 2, 4, 2, 32, 128, 2048


def weights(seed: int = 1, end_scale: float = 1.6) -> tuple[list[str], list[int], dict[str, np.ndarray]]:
    """Tokens, their kinds, and tensors under GGUF's names."""
    rng = np.random.default_rng(seed)
    by_byte = sorted(byte_alphabet().items(), key=lambda item: item[1])
    tokens = [c for c, _ in by_byte] + ["th", END, START, OPEN, CLOSE]
    kinds = [1] * 257 + [3, 3, 4, 4]
    size = len(tokens)

    def matrix(rows: int, columns: int, scale: float = 1.0) -> np.ndarray:
        return (rng.standard_normal((rows, columns)) * scale / np.sqrt(columns)).astype(np.float32)

    def ones(n: int) -> np.ndarray:
        return np.ones(n, dtype=np.float32)

    output = matrix(size, _WIDTH, 4.0)
    output[tokens.index(END)] *= end_scale
    # Bytes beyond ASCII would make nearly everything noise; keep some of it.
    output[128:256] *= 0.6
    tensors = {
        "token_embd.weight": matrix(size, _WIDTH, 4.0),
        "output_norm.weight": ones(_WIDTH),
        "output.weight": output,
    }
    for n in range(_LAYERS):
        tensors |= {
            f"blk.{n}.attn_norm.weight": ones(_WIDTH),
            f"blk.{n}.attn_q.weight": matrix(_HEADS * _HEAD, _WIDTH, 2.0),
            f"blk.{n}.attn_k.weight": matrix(_KV * _HEAD, _WIDTH, 2.0),
            f"blk.{n}.attn_v.weight": matrix(_KV * _HEAD, _WIDTH, 2.0),
            f"blk.{n}.attn_output.weight": matrix(_WIDTH, _HEADS * _HEAD, 2.0),
            f"blk.{n}.attn_q_norm.weight": ones(_HEAD),
            f"blk.{n}.attn_k_norm.weight": ones(_HEAD),
            f"blk.{n}.ffn_norm.weight": ones(_WIDTH),
            f"blk.{n}.ffn_gate.weight": matrix(_INNER, _WIDTH, 2.0),
            f"blk.{n}.ffn_up.weight": matrix(_INNER, _WIDTH, 2.0),
            f"blk.{n}.ffn_down.weight": matrix(_WIDTH, _INNER, 2.0),
        }
    return tokens, kinds, tensors


def write_tiny(path: Path, template: str = SWITCHED, seed: int = 1, end_scale: float = 1.6) -> Path:
    tokens, kinds, tensors = weights(seed, end_scale)
    values = [
        ("general.architecture", "qwen3"),
        ("general.name", "tiny"),
        ("general.file_type", 0),
        ("qwen3.block_count", _LAYERS),
        ("qwen3.context_length", _CONTEXT),
        ("qwen3.embedding_length", _WIDTH),
        ("qwen3.feed_forward_length", _INNER),
        ("qwen3.attention.head_count", _HEADS),
        ("qwen3.attention.head_count_kv", _KV),
        ("qwen3.attention.key_length", _HEAD),
        ("qwen3.attention.value_length", _HEAD),
        ("qwen3.attention.layer_norm_rms_epsilon", 1e-6),
        ("qwen3.rope.freq_base", 10000.0),
        ("tokenizer.ggml.model", "gpt2"),
        ("tokenizer.ggml.pre", "qwen2"),
        ("tokenizer.ggml.tokens", tokens),
        ("tokenizer.ggml.token_type", kinds),
        ("tokenizer.ggml.merges", ["t h"]),
        ("tokenizer.ggml.eos_token_id", tokens.index(END)),
        ("tokenizer.ggml.add_bos_token", False),
        ("tokenizer.chat_template", template),
    ]
    path.write_bytes(_gguf(values, tensors))
    return path


_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def write_tiny_hf(folder: Path, template: str = SWITCHED) -> Path:
    """The same model as a folder for transformers."""
    from safetensors.numpy import save_file

    tokens, kinds, tensors = weights()
    named = {
        "model.embed_tokens.weight": tensors["token_embd.weight"],
        "model.norm.weight": tensors["output_norm.weight"],
        "lm_head.weight": tensors["output.weight"],
    }
    for n in range(_LAYERS):
        for ours, theirs in _NAMES.items():
            named[f"model.layers.{n}.{theirs}.weight"] = tensors[f"blk.{n}.{ours}.weight"]
    folder.mkdir(parents=True, exist_ok=True)
    save_file(named, folder / "model.safetensors", metadata={"format": "pt"})
    end = tokens.index(END)
    config = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "vocab_size": len(tokens),
        "hidden_size": _WIDTH,
        "intermediate_size": _INNER,
        "num_hidden_layers": _LAYERS,
        "num_attention_heads": _HEADS,
        "num_key_value_heads": _KV,
        "head_dim": _HEAD,
        "max_position_embeddings": _CONTEXT,
        "rope_theta": 10000.0,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": False,
        "dtype": "float32",
        "eos_token_id": end,
    }
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    added = [
        {"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        | {"special": kinds[i] == 3}
        for i, t in enumerate(tokens)
        if kinds[i] != 1
    ]
    tokenizer = {
        "version": "1.0",
        "added_tokens": added,
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "vocab": {t: i for i, t in enumerate(tokens) if kinds[i] == 1},
            "merges": [["t", "h"]],
            "byte_fallback": False,
            "ignore_merges": False,
        },
    }
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "chat_template": template}
    for name, value in (
        ("config.json", config),
        ("generation_config.json", {"eos_token_id": end}),
        ("tokenizer.json", tokenizer),
        ("tokenizer_config.json", about),
    ):
        (folder / name).write_text(json.dumps(value))
    return folder


def _gguf(values: list[tuple[str, object]], tensors: dict[str, np.ndarray]) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    for key, value in values:
        head += _text(key) + _typed(value)
    data = b""
    for name, tensor in tensors.items():
        head += _text(name) + struct.pack("<I", tensor.ndim)
        head += struct.pack(f"<{tensor.ndim}Q", *reversed(tensor.shape)) + struct.pack("<IQ", 0, len(data))
        raw = tensor.tobytes()
        data += raw + b"\0" * (-len(raw) % 32)
    return head + b"\0" * (-len(head) % 32) + data


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _typed(value: object) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    assert isinstance(value, list)
    if isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
    return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
