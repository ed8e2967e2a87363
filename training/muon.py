"""Muon for matrices (momentum made orthogonal), Adam for the rest: the same loss in fewer steps."""

from __future__ import annotations

from collections import defaultdict

import torch
from torch import Tensor


def orthogonal(x: Tensor) -> Tensor:
    """Newton-Schulz on a stack of matrices: singular values all go near 1."""
    tall = x.size(-2) > x.size(-1)
    x = x.bfloat16()
    x = x.mT if tall else x
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(5):
        a = x @ x.mT
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    def __init__(self, weights: list[Tensor], lr: float, momentum: float = 0.95, decay: float = 0.01) -> None:
        super().__init__(weights, {"lr": lr, "momentum": momentum, "decay": decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        for group in self.param_groups:
            stacks: dict[tuple[int, ...], list[Tensor]] = defaultdict(list)
            for weight in group["params"]:
                if weight.grad is not None:
                    stacks[tuple(weight.shape)].append(weight)
            for same in stacks.values():
                grads = torch.stack([w.grad for w in same])
                state = self.state[same[0]]
                if "momentum" not in state:
                    state["momentum"] = torch.zeros_like(grads)
                state["momentum"].lerp_(grads, 1 - group["momentum"])
                update = orthogonal(grads.lerp(state["momentum"], group["momentum"])).float()
                update = update * max(1.0, update.size(-2) / update.size(-1)) ** 0.5
                for weight, change in zip(same, update, strict=True):
                    weight.mul_(1 - group["lr"] * group["decay"])
                    weight.add_(change, alpha=-group["lr"])
