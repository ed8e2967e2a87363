"""Greedy or sampled decoding of many prompts at once on the training device, to see soon what a run has learnt."""

from __future__ import annotations

import torch
from torch import Tensor

from training.network import Network, rotary


class Decoder:
    def __init__(self, network: Network, stop: int, pad: int) -> None:
        self.network, self.stop, self.pad = network, stop, pad
        self.device = next(network.parameters()).device
        self.dtype = torch.bfloat16 if self.device.type == "cuda" else torch.float32

    @torch.no_grad()
    def __call__(
        self, prompts: list[list[int]], limit: int, temperature: float = 0.0, seed: int = 0, together: int = 1500
    ) -> list[list[int]]:
        """The ids written after each prompt, the stop token included where it came."""
        order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
        written: list[list[int]] = [[] for _ in prompts]
        torch.manual_seed(seed)
        for first in range(0, len(order), together):
            chosen = order[first : first + together]
            with torch.autocast(self.device.type, self.dtype, enabled=self.device.type == "cuda"):
                found = self._batch([prompts[i] for i in chosen], limit, temperature)
            for i, ids in zip(chosen, found, strict=True):
                written[i] = ids
        return written

    def _batch(self, prompts: list[list[int]], limit: int, temperature: float) -> list[list[int]]:
        shape, device = self.network.shape, self.device
        width = max(map(len, prompts))
        rows = len(prompts)
        ids = torch.full((rows, width), self.pad, device=device)
        seen = torch.zeros((rows, width + limit), dtype=torch.bool, device=device)
        for i, prompt in enumerate(prompts):
            ids[i, width - len(prompt) :] = torch.tensor(prompt, device=device)
            seen[i, width - len(prompt) :] = True
        cos, sin = rotary(shape, width + limit, device)
        size = (rows, shape.kv_heads, width + limit, shape.head)
        keys = [torch.empty(size, dtype=self.dtype, device=device) for _ in range(shape.layers)]
        values = [torch.empty(size, dtype=self.dtype, device=device) for _ in range(shape.layers)]
        last = torch.cat(
            [
                self._prefill(ids[a : a + 256], seen[a : a + 256, :width], keys, values, a, cos, sin)
                for a in range(0, rows, 256)
            ]
        )
        alive = torch.arange(rows, device=device)
        made = torch.full((rows, limit), self.pad, device=device)
        done = torch.zeros(rows, dtype=torch.bool, device=device)
        for step in range(limit):
            token = self._pick(last, temperature)
            made[alive, step] = torch.where(done, self.pad, token)
            done = done | (token == self.stop)
            if step % 64 == 63:
                if bool(done.all()):
                    break
                if int(done.sum()) * 3 > len(done):
                    keep = ~done
                    alive, token, done, seen = alive[keep], token[keep], done[keep], seen[keep]
                    keys, values = [k[keep] for k in keys], [v[keep] for v in values]
            if step == limit - 1:
                break
            at = width + step
            last = self._step(token, seen[:, : at + 1], keys, values, at, cos, sin)
        found = []
        for row in made.tolist():
            found.append(row[: row.index(self.stop) + 1] if self.stop in row else row)
        return [[t for t in row if t != self.pad] for row in found]

    def _pick(self, logits: Tensor, temperature: float) -> Tensor:
        if not temperature:
            return logits.argmax(-1)
        return torch.multinomial((logits.float() / temperature).softmax(-1), 1)[:, 0]

    def _prefill(
        self,
        ids: Tensor,
        seen: Tensor,
        keys: list[Tensor],
        values: list[Tensor],
        first: int,
        cos: Tensor,
        sin: Tensor,
    ) -> Tensor:
        net = self.network
        width = ids.size(1)
        mask = torch.ones(width, width, dtype=torch.bool, device=ids.device).tril() & seen[:, None, None, :]
        # A padded query sees itself, or its softmax would be empty.
        mask = mask | torch.eye(width, dtype=torch.bool, device=ids.device)
        x = net.embed_tokens(ids)
        for i, layer in enumerate(net.layers):
            q, k, v = layer.self_attn.heads(layer.input_layernorm(x), cos[:width], sin[:width])
            keys[i][first : first + len(ids), :, :width] = k
            values[i][first : first + len(ids), :, :width] = v
            repeat = net.shape.heads // net.shape.kv_heads
            mixed = torch.nn.functional.scaled_dot_product_attention(
                q.to(self.dtype),
                k.to(self.dtype).repeat_interleave(repeat, 1),
                v.to(self.dtype).repeat_interleave(repeat, 1),
                attn_mask=mask,
            )
            x = x + layer.self_attn.o_proj(mixed.transpose(1, 2).flatten(2))
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        return torch.nn.functional.linear(net.norm(x[:, -1]), net.embed_tokens.weight)

    def _step(
        self,
        token: Tensor,
        seen: Tensor,
        keys: list[Tensor],
        values: list[Tensor],
        at: int,
        cos: Tensor,
        sin: Tensor,
    ) -> Tensor:
        net = self.network
        shape = net.shape
        x = net.embed_tokens(token)[:, None]
        gap = torch.zeros(seen.shape, device=seen.device, dtype=torch.float32).masked_fill_(~seen, -1e9)[
            :, None, None
        ]
        for i, layer in enumerate(net.layers):
            q, k, v = layer.self_attn.heads(layer.input_layernorm(x), cos[at : at + 1], sin[at : at + 1])
            keys[i][:, :, at : at + 1] = k
            values[i][:, :, at : at + 1] = v
            grouped = q.reshape(len(token), shape.kv_heads, -1, shape.head).to(self.dtype)
            scores = grouped @ keys[i][:, :, : at + 1].mT / shape.head**0.5
            weights = (scores.float() + gap).softmax(-1).to(self.dtype)
            mixed = (weights @ values[i][:, :, : at + 1]).reshape(len(token), 1, -1)
            x = x + layer.self_attn.o_proj(mixed)
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        return torch.nn.functional.linear(net.norm(x[:, 0]), net.embed_tokens.weight)
