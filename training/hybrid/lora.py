"""Low-rank adapters on every linear layer of the blocks: trained beside frozen weights, then merged into them.

adapters = attach(model, rank=7, scale=2.0)
...
merge(model, adapters)
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

PLACES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class LowRank(nn.Module):
    """What the frozen layer says plus `scale` times B A x; B begins as zero, so nothing changes at first."""

    def __init__(self, layer: nn.Linear, rank: int, scale: float) -> None:
        super().__init__()
        self.layer = layer
        self.scale = scale
        where = layer.weight.device
        self.down = nn.Parameter(torch.empty(rank, layer.in_features, device=where))
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank, device=where))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        aside = nn.functional.linear(x, self.down.to(x.dtype))
        found: Tensor = self.layer(x) + nn.functional.linear(aside, self.up.to(x.dtype)) * self.scale
        return found

    def change(self) -> Tensor:
        return (self.up.float() @ self.down.float()) * self.scale


def attach(model: nn.Module, rank: int, scale: float) -> dict[str, LowRank]:
    """Freezes the model and puts an adapter on each linear layer of its blocks."""
    model.requires_grad_(False)
    found: dict[str, LowRank] = {}
    for name, module in list(model.named_modules()):
        parent, _, child = name.rpartition(".")
        if child in PLACES and isinstance(module, nn.Linear):
            found[name] = LowRank(module, rank, scale)
            setattr(model.get_submodule(parent), child, found[name])
    return found


def merge(model: nn.Module, adapters: Mapping[str, LowRank]) -> None:
    """The adapters become part of the weights, added in float32 and rounded once."""
    for name, adapter in adapters.items():
        weight = adapter.layer.weight
        weight.data = (weight.float() + adapter.change()).to(weight.dtype)
        parent, _, child = name.rpartition(".")
        setattr(model.get_submodule(parent), child, adapter.layer)


def save(adapters: Mapping[str, LowRank], folder: Path, base: str) -> None:
    """In peft's format, bfloat16: for transformers, and for llama.cpp after its conversion script."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    state = {}
    for name, adapter in adapters.items():
        state[f"base_model.model.{name}.lora_A.weight"] = adapter.down.detach().bfloat16().cpu().contiguous()
        state[f"base_model.model.{name}.lora_B.weight"] = adapter.up.detach().bfloat16().cpu().contiguous()
    save_file(state, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    one = next(iter(adapters.values()))
    rank = one.down.shape[0]
    about = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": rank,
        "lora_alpha": one.scale * rank,
        "lora_dropout": 0.0,
        "bias": "none",
        "target_modules": list(PLACES),
    }
    (folder / "adapter_config.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def load(model: nn.Module, folder: Path) -> dict[str, LowRank]:
    """Attaches what `save` wrote."""
    from safetensors.torch import load_file

    about: dict[str, Any] = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    adapters = attach(model, about["r"], about["lora_alpha"] / about["r"])
    state = load_file(folder / "adapter_model.safetensors")
    for name, adapter in adapters.items():
        adapter.down.data.copy_(state[f"base_model.model.{name}.lora_A.weight"])
        adapter.up.data.copy_(state[f"base_model.model.{name}.lora_B.weight"])
    return adapters
