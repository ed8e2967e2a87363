"""Sequences that begin and end together: for models whose layers keep a state that cannot be cut out and joined.

Linear attention and state-space layers have no keys and values of single tokens, only a state of all so far. The
model's own cache holds it, under the name its makers gave it; who is done waits for the others.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from thinkcap.engines.hf_batch import PREFILL, BatchJob, take

_CACHES = ("past_key_values", "cache_params", "state")
"""What models call their cache: nearly all, Mamba's kin, RWKV's."""


class Wave:
    def __init__(self, model: Any, pad: int) -> None:
        self._model, self._pad = model, pad
        takes = inspect.signature(model.forward).parameters
        self._named = next((name for name in _CACHES if name in takes), _CACHES[0])
        self._jobs: list[BatchJob] = []
        self._told: set[BatchJob] = set()
        self._cache: Any = None
        self._seen: Any = None

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def jobs(self) -> tuple[BatchJob, ...]:
        return tuple(self._jobs)

    def takes(self, job: BatchJob, new: Sequence[BatchJob]) -> bool:
        """Nobody joins a wave that runs, and all prompts of one have one length: padding would enter the state."""
        alike = all(len(job.prompt) == len(other.prompt) for other in new)
        return not self._jobs and alike and (not new or len(job.prompt) * (len(new) + 1) <= PREFILL)

    def join(self, jobs: Sequence[BatchJob]) -> list[BatchJob]:
        self._jobs, self._told, self._cache = list(jobs), set(), None
        self._forward([list(job.prompt) for job in jobs])
        return self._done()

    def step(self) -> list[BatchJob]:
        """One more token for those who are not done; the others write on unheard."""
        if all(job.done for job in self._jobs):
            return self._done()
        self._forward([[job.ids[-1]] for job in self._jobs])
        return self._done()

    def clear(self) -> None:
        self._jobs, self._told, self._cache = [], set(), None

    def _forward(self, rows: list[list[int]]) -> None:
        import torch

        with torch.inference_mode():
            out = self._model(
                input_ids=torch.tensor(rows, device=self._model.device),
                use_cache=True,
                logits_to_keep=1,
                **{self._named: self._cache},
            )
        self._cache = getattr(out, self._named)
        take(self._jobs, out.logits[:, -1].float())

    def _done(self) -> list[BatchJob]:
        found = [job for job in self._jobs if job.done and job not in self._told]
        self._told |= set(found)
        if all(job.done for job in self._jobs):
            self.clear()
        return found
