"""Sequences written together by a transformers model, one token per step; others join and leave between steps.

Shorter ones are padded on the left, so that all end in the same column: the cache of a newcomer is moved to the
right until it does. Each sequence has positions, limit and random state of its own.

    batch = Batch(model, pad=0)
    done = batch.join(jobs)
    while batch:
        done += batch.step()
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from thinkcap.core.scores import TOP
from thinkcap.core.types import Sampling

PREFILL = 16384
"""Prompt tokens, padding included, that are read at once."""


@dataclass(eq=False)
class BatchJob:
    """One generation, and what is written of it so far."""

    prompt: tuple[int, ...]
    limit: int
    sampling: Sampling
    ends: frozenset[int]
    stops: Callable[[Sequence[int]], bool] | None = None
    """Whether the text so far holds a word that ends it."""
    halts: Callable[[BatchJob], bool] | None = None
    """Whether the writing stops here, the turn unended."""
    scored: bool = False
    odds: list[tuple[float, float, float]] = field(default_factory=list)
    """What `Scores` hold, a token each."""
    halted: bool = False
    wrote: Callable[[int], None] | None = None
    """Told of every token as it is chosen."""
    ids: list[int] = field(default_factory=list)
    ended: bool = False
    cancelled: bool = False
    random: Any = None

    def take(self, token: int, odds: tuple[float, float, float] | None = None) -> None:
        self.ids.append(token)
        if odds is not None and self.scored:
            self.odds.append(odds)
        self.ended = token in self.ends or bool(self.stops and self.stops(self.ids))
        self.halted = not self.ended and bool(self.halts and self.halts(self))
        if self.wrote:
            self.wrote(token)

    @property
    def done(self) -> bool:
        return self.ended or self.halted or self.cancelled or len(self.ids) >= self.limit


class Batch:
    def __init__(self, model: Any, pad: int) -> None:
        self._model = model
        self._pad = pad
        self._jobs: list[BatchJob] = []
        self._cache: Any = None
        self._padded: Any = None
        """How many columns of the cache are padding, for each sequence."""

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def jobs(self) -> tuple[BatchJob, ...]:
        return tuple(self._jobs)

    def join(self, jobs: Sequence[BatchJob]) -> list[BatchJob]:
        """Reads the prompts and writes a token for each; returns those that are done with it."""
        import torch

        logits, cache = read_prompts(self._model, self._pad, jobs)
        longest = max(len(job.prompt) for job in jobs)
        padded = torch.tensor([longest - len(job.prompt) for job in jobs], device=self._model.device)
        self._choose(jobs, logits)
        self._merge(jobs, cache, padded)
        return self._leave()

    def takes(self, job: BatchJob, new: Sequence[BatchJob]) -> bool:
        """Whether one more may join beside those who are about to."""
        return True

    def step(self) -> list[BatchJob]:
        """One more token for every sequence; returns those that are done."""
        past = int(self._cache.get_seq_length())
        rows = [[job.ids[-1]] for job in self._jobs]
        logits = _forward(self._model, rows, self._padded, self._cache, past)
        self._choose(self._jobs, logits)
        return self._leave()

    def clear(self) -> None:
        self._jobs, self._cache, self._padded = [], None, None

    def _choose(self, jobs: Sequence[BatchJob], logits: Any) -> None:
        take(jobs, logits)

    def _merge(self, jobs: Sequence[BatchJob], cache: Any, padded: Any) -> None:
        import torch

        if not self._jobs:
            self._jobs, self._cache, self._padded = list(jobs), cache, padded
            return
        ours, theirs = int(self._cache.get_seq_length()), int(cache.get_seq_length())
        width = max(ours, theirs)
        for old, new in zip(self._cache.layers, cache.layers, strict=True):
            old.keys = torch.cat([_moved(old.keys, width), _moved(new.keys, width)])
            old.values = torch.cat([_moved(old.values, width), _moved(new.values, width)])
        self._padded = torch.cat([self._padded + (width - ours), padded + (width - theirs)])
        self._jobs += jobs

    def _leave(self) -> list[BatchJob]:
        gone = [job for job in self._jobs if job.done]
        if not gone:
            return []
        kept = [row for row, job in enumerate(self._jobs) if not job.done]
        if not kept:
            self.clear()
            return gone
        import torch

        rows = torch.tensor(kept, device=self._padded.device)
        self._padded = self._padded[rows]
        # Columns that are padding for all who stay are of no use to anyone.
        spare = int(self._padded.min())
        for layer in self._cache.layers:
            layer.keys = layer.keys[rows, :, spare:]
            layer.values = layer.values[rows, :, spare:]
        self._padded = self._padded - spare
        self._jobs = [self._jobs[row] for row in kept]
        return gone


def read_prompts(model: Any, pad: int, jobs: Sequence[BatchJob]) -> tuple[Any, Any]:
    """The logits behind each prompt and a cache in which all prompts end in the last column."""
    import torch
    from transformers import DynamicCache

    longest = max(len(job.prompt) for job in jobs)
    padded = torch.tensor([longest - len(job.prompt) for job in jobs], device=model.device)
    rows = [[pad] * (longest - len(job.prompt)) + list(job.prompt) for job in jobs]
    # Without a configuration every layer keeps all of its past: windows are the mask's business, and caches
    # of different length can be joined.
    cache = DynamicCache()
    return _forward(model, rows, padded, cache, 0), cache


def _forward(model: Any, rows: list[list[int]], padded: Any, cache: Any, past: int) -> Any:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    # Not cuDNN's attention: it makes a new plan for every length, so for every token, and that takes longer
    # than all the rest of a step.
    kernels = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    device = model.device
    ids = torch.tensor(rows, device=device)
    columns = torch.arange(past + ids.shape[1], device=device)
    seen = (columns[None, :] >= padded[:, None]).long()
    places = (columns[None, past:] - padded[:, None]).clamp(min=0)
    with torch.inference_mode(), sdpa_kernel(kernels):
        out = model(
            input_ids=ids,
            attention_mask=seen,
            position_ids=places,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
    return out.logits[:, -1].float()


def take(jobs: Sequence[BatchJob], logits: Any) -> None:
    """The next token into every job that is not done, with its odds where they are wanted."""
    import torch

    tokens = chosen(jobs, logits)
    wanted = any(job.scored for job in jobs)
    found = odds(logits, torch.tensor(tokens, device=logits.device)).tolist() if wanted else [None] * len(jobs)
    for job, token, sure in zip(jobs, tokens, found, strict=True):
        if not job.done:
            job.take(token, sure)


def odds(logits: Any, tokens: Any) -> Any:
    """For each row: log probability of its token, mean of the likeliest twenty, entropy; see `core.scores`."""
    import torch

    logs = torch.log_softmax(logits.float(), -1)
    top = logs.topk(min(TOP, logs.shape[-1]), -1).values
    chances = top.exp()
    left = (1 - chances.sum(-1)).clamp(min=0)
    entropy = -(chances * top).sum(-1) - torch.xlogy(left, left)
    return torch.stack([logs.gather(-1, tokens[..., None])[..., 0], top.mean(-1), entropy], -1)


def chosen(jobs: Sequence[BatchJob], logits: Any) -> list[int]:
    """The next token of each: the likeliest, or one by chance; a job that is done draws nothing."""
    best: list[int] = logits.argmax(-1).tolist()
    return [
        best[row] if job.sampling.greedy or job.done else _drawn(logits[row], job) for row, job in enumerate(jobs)
    ]


def _moved(states: Any, width: int) -> Any:
    """The same states, ending in column `width`."""
    import torch

    return torch.nn.functional.pad(states, (0, 0, width - states.shape[-2], 0))


def _drawn(logits: Any, job: BatchJob) -> int:
    """The token that the job's next number falls on."""
    import torch

    number = float(drawn_numbers(job, 1))
    chances, tokens = torch.softmax(logits.cpu() / job.sampling.temperature, -1).sort(descending=True, stable=True)
    summed = chances.cumsum(-1)
    # The smallest set whose chances reach top_p; the likeliest is always in it.
    inside = max(1, int((summed - chances < job.sampling.top_p).sum()))
    chance = number * summed[inside - 1]
    return int(tokens[min(int(torch.searchsorted(summed[:inside], chance, right=True)), inside - 1)])


def drawn_numbers(job: BatchJob, count: int) -> Any:
    """The job's next numbers between 0 and 1: one a token, so that a shorter run draws the same beginning."""
    import torch

    if job.random is None:
        job.random = torch.Generator().manual_seed(job.sampling.seed)
    return torch.rand(count, generator=job.random)
