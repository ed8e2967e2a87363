"""Which token each lane takes next, decided on the device: greedy, or by one random number per token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thinkcap.engines.hf_batch import BatchJob, drawn_numbers, odds

_LIKELIEST = 1024
"""Tokens that a share below one is looked for in: sorting a whole vocabulary takes longer than the model."""
_SHARE = 0.99
"""Up to this share that many are nearly always enough; above it all are sorted."""


class TokenChoice:
    """Per lane: the last token, its place, what is left, how to draw. Written in place, so graphs can hold it."""

    def __init__(self, device: Any, pad: int) -> None:
        self._device, self._pad = device, pad
        self._ends: Any = None
        self._lanes = 0
        self._look = 0

    def first(self, logits: Any, jobs: Sequence[BatchJob]) -> tuple[list[int], list[Any] | None]:
        """The first token of each and its odds, where wanted, from the logits of its prompt."""
        import torch

        best = logits.argmax(-1)
        if any(not job.sampling.greedy for job in jobs):
            heat, share = _ways(jobs, self._device)
            chance = torch.cat([drawn_numbers(job, 1) for job in jobs]).to(self._device)
            best = torch.where(heat > 0, _drawn(logits, heat, share, chance, _among(jobs)), best)
        found: list[int] = best.tolist()
        return found, odds(logits, best).tolist() if any(job.scored for job in jobs) else None

    def grow(self, lanes: int, look: int) -> None:
        if lanes <= self._lanes and look <= self._look:
            return
        import torch

        old = self.__dict__.copy()
        where = {"device": self._device}
        self.token = torch.full((lanes,), self._pad, **where)
        self.place = torch.zeros(lanes, dtype=torch.long, **where)
        self._left = torch.zeros(lanes, dtype=torch.long, **where)
        self._alive = torch.zeros(lanes, dtype=torch.bool, **where)
        self._heat = torch.zeros(lanes, **where)
        self._share = torch.ones(lanes, **where)
        if self._lanes:
            for name in ("token", "place", "_left", "_alive", "_heat", "_share"):
                getattr(self, name)[: self._lanes] = old[name]
        self._out = torch.zeros((look, lanes), dtype=torch.long, **where)
        self._odds = torch.zeros((look, lanes, 3), **where)
        self._chance = torch.zeros((look, lanes), **where)
        self.slot = torch.zeros(1, dtype=torch.long, **where)
        self._step = torch.zeros(1, dtype=torch.long, **where)
        self._lanes, self._look = lanes, look

    def start(self, lanes: Sequence[int], jobs: Sequence[BatchJob], most: int) -> None:
        import torch

        if self._ends is None:
            self._ends = torch.tensor(sorted(jobs[0].ends), device=self._device)
        at = torch.tensor(lanes, device=self._device)
        heat, share = _ways(jobs, self._device)
        self.token[at] = torch.tensor([job.ids[-1] for job in jobs], device=self._device)
        self.place[at] = torch.tensor([len(job.prompt) for job in jobs], device=self._device)
        self._left[at] = torch.tensor([job.limit - len(job.ids) for job in jobs], device=self._device)
        self._alive[at] = True
        self._heat[at], self._share[at] = heat, share

    def stop(self, lane: int) -> None:
        self._alive[lane] = False
        self._heat[lane] = 0.0

    def move(self, lane: int, to: int) -> None:
        for held in (self.token, self.place, self._left, self._alive, self._heat, self._share):
            held[to] = held[lane]
        self.stop(lane)

    def prepare(self, jobs: Mapping[int, BatchJob], steps: int, slot: int) -> int:
        """Sets the counters; says among how many tokens lanes draw, none or all too: each needs another graph."""
        import torch

        self.slot.fill_(slot)
        self._step.zero_()
        drawing = {lane: job for lane, job in jobs.items() if not job.sampling.greedy and not job.done}
        if drawing:
            chance = torch.zeros((self._look, self._lanes))
            for lane, job in drawing.items():
                count = min(steps, job.limit - len(job.ids))
                chance[:count, lane] = drawn_numbers(job, count)
            self._chance.copy_(chance)
        return _among(list(drawing.values()))

    def take(self, logits: Any, among: int, scored: bool) -> None:
        """A token for every lane; those that are done go on with padding that nobody reads."""
        import torch

        lanes = logits.shape[0]
        best = logits.argmax(-1)
        if among:
            chance = self._chance.index_select(0, self._step)[0, :lanes]
            heat = self._heat[:lanes]
            best = torch.where(heat > 0, _drawn(logits, heat, self._share[:lanes], chance, among), best)
        best = torch.where(self._alive[:lanes], best, self._pad)
        self._out[:, :lanes].index_copy_(0, self._step, best[None])
        if scored:
            self._odds[:, :lanes].index_copy_(0, self._step, odds(logits, best)[None])
        self._left[:lanes] -= 1
        self._alive[:lanes] &= (best[:, None] != self._ends).all(-1) & (self._left[:lanes] > 0)
        self.token[:lanes] = best
        self.place[:lanes] += 1
        self.slot += 1
        self._step += 1

    def written(self, steps: int, lanes: int) -> list[list[int]]:
        """The host's look: everything written since the last one."""
        found: list[list[int]] = self._out[:steps, :lanes].tolist()
        return found

    def sure(self, steps: int, lanes: int) -> list[list[Any]]:
        """The odds of what was written."""
        found: list[list[Any]] = self._odds[:steps, :lanes].tolist()
        return found

    def kept(self) -> list[Any]:
        return [held.clone() for held in self._state()]

    def restore(self, kept: Sequence[Any]) -> None:
        for held, old in zip(self._state(), kept, strict=True):
            held.copy_(old)

    def _state(self) -> tuple[Any, ...]:
        return (self.token, self.place, self._left, self._alive, self._out, self._odds, self.slot, self._step)


def _ways(jobs: Sequence[BatchJob], device: Any) -> tuple[Any, Any]:
    import torch

    heat = torch.tensor([float(job.sampling.temperature) for job in jobs], device=device)
    return heat, torch.tensor([float(job.sampling.top_p) for job in jobs], device=device)


def _among(jobs: Sequence[BatchJob]) -> int:
    """How many of the likeliest tokens have to be looked at: -1 all, 0 where nobody draws."""
    shares = [job.sampling.top_p for job in jobs if not job.sampling.greedy]
    return 0 if not shares else _LIKELIEST if max(shares) <= _SHARE else -1


def _drawn(logits: Any, heat: Any, share: Any, chance: Any, among: int) -> Any:
    """The token that a number of chance falls on, among the likeliest that together reach the share."""
    import torch

    warm = torch.where(heat > 0, heat, 1.0)[:, None]
    chances = torch.softmax(logits / warm, -1)
    if 0 < among < logits.shape[-1]:
        chances, tokens = chances.topk(among, dim=-1)
    else:
        chances, tokens = chances.sort(descending=True, stable=True, dim=-1)
    summed = chances.cumsum(-1)
    inside = (summed - chances < share[:, None]).sum(-1).clamp(min=1)
    reach = summed.gather(1, inside[:, None] - 1)
    place = torch.searchsorted(summed, chance[:, None] * reach, right=True)
    return tokens.gather(1, torch.minimum(place, inside[:, None] - 1))[:, 0]
