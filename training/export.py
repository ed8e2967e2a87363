"""Writes the release: transformers' files in bf16 and a GGUF file in F16, then loads both back.

python -m training.export --runs training/out/run1 training/out/run2 training/out/run3
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from pathlib import Path

import gguf
import numpy as np
from safetensors.torch import load_file, save_file

from training.network import Shape

HOME = Path("src/thinkcap/model")
HF = HOME / "pebble"
GGUF = HOME / "pebble.gguf"
RECORD = Path(__file__).with_name("record")

_LAYER_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def gguf_name(name: str) -> str:
    """llama.cpp's name of a tensor of transformers' Qwen3."""
    name = name.removeprefix("model.").removesuffix(".weight")
    if name == "embed_tokens":
        return "token_embd.weight"
    if name == "norm":
        return "output_norm.weight"
    _, layer, rest = name.split(".", 2)
    return f"blk.{layer}.{_LAYER_NAMES[rest]}.weight"


def write_hf(run: Path, shape: Shape) -> None:
    save_file(load_file(str(run / "pebble.safetensors")), str(HF / "model.safetensors"), metadata={"format": "pt"})
    tokens = json.loads((HF / "tokenizer.json").read_text())["added_tokens"]
    ids = {t["content"]: t["id"] for t in tokens}
    config = {**shape.hf_config(), "eos_token_id": ids["<|im_end|>"], "pad_token_id": ids["<|endoftext|>"]}
    (HF / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    generation = {
        "eos_token_id": [ids["<|im_end|>"], ids["<|endoftext|>"]],
        "pad_token_id": ids["<|endoftext|>"],
        "do_sample": False,
    }
    (HF / "generation_config.json").write_text(json.dumps(generation, indent=2) + "\n")
    shutil.copy(Path(__file__).with_name("chat_template.jinja"), HF / "chat_template.jinja")


def write_gguf(run: Path, shape: Shape) -> None:
    writer = gguf.GGUFWriter(str(GGUF), "qwen3")
    writer.add_name("pebble")
    writer.add_license("apache-2.0")
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.inner)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head)
    writer.add_value_length(shape.head)
    writer.add_rope_freq_base(shape.theta)
    writer.add_layer_norm_rms_eps(shape.eps)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_vocab_size(shape.vocab)
    _write_vocabulary(writer)
    weights = load_numpy_bf16(run / "pebble.safetensors")
    for name, weight in weights.items():
        # Norms stay in float32, as llama.cpp's own converter leaves them.
        writer.add_tensor(gguf_name(name), weight if weight.ndim == 1 else weight.astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def load_numpy_bf16(path: Path) -> dict[str, np.ndarray]:
    """bf16 has no numpy type: its bits are the upper half of a float32's."""
    return {name: w.float().numpy() for name, w in load_file(str(path)).items()}


def _write_vocabulary(writer: gguf.GGUFWriter) -> None:
    spec = json.loads((HF / "tokenizer.json").read_text())
    vocabulary: dict[str, int] = dict(spec["model"]["vocab"])
    kinds = dict.fromkeys(vocabulary, gguf.TokenType.NORMAL)
    for token in spec["added_tokens"]:
        vocabulary[token["content"]] = token["id"]
        kinds[token["content"]] = gguf.TokenType.CONTROL if token["special"] else gguf.TokenType.USER_DEFINED
    ordered = sorted(vocabulary, key=vocabulary.__getitem__)
    if [vocabulary[t] for t in ordered] != list(range(len(ordered))):
        raise SystemExit("the tokenizer's ids have gaps; run training.tokenizer again")
    merges = [m if isinstance(m, str) else " ".join(m) for m in spec["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(ordered)
    writer.add_token_types([kinds[t] for t in ordered])
    writer.add_token_merges(merges)
    writer.add_eos_token_id(vocabulary["<|im_end|>"])
    writer.add_pad_token_id(vocabulary["<|endoftext|>"])
    writer.add_eot_token_id(vocabulary["<|im_end|>"])
    writer.add_add_bos_token(False)
    writer.add_chat_template(Path(__file__).with_name("chat_template.jinja").read_text())


def released() -> list[Path]:
    """Every file of the release whose hash is recorded."""
    return sorted([GGUF, *(p for p in HF.iterdir() if p.is_file())])


def write_hashes() -> None:
    hashes = {
        str(p.relative_to(HOME)): {"sha256": hashlib.sha256(p.read_bytes()).hexdigest(), "bytes": p.stat().st_size}
        for p in released()
    }
    (HOME / "hashes.json").write_text(json.dumps(hashes, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--runs",
        required=True,
        type=Path,
        nargs="+",
        help="folders that training wrote, in order; the last one's weights are released",
    )
    options = parser.parse_args()
    run = options.runs[-1]
    record = json.loads((run / "run.json").read_text())
    shape = Shape(**record["shape"])
    write_hf(run, shape)
    write_gguf(run, shape)
    RECORD.mkdir(exist_ok=True)
    for number, folder in enumerate(options.runs, 1):
        shutil.copy(folder / "run.json", RECORD / f"stage{number}.json")
    write_hashes()
    total = sum(p.stat().st_size for p in released())
    print(f"{len(released())} files, {total / 1e6:.1f} MB in all")


if __name__ == "__main__":
    main()
