"""Sequences written in lanes of one static cache: the fast way of the `hf` engine on a GPU.

All lanes write their next key and value into the same slot. A lane's own slots end there, whatever its length: its
prompt was copied in just before it, and what is not its own is hidden by a bias. Positions are in the keys, so the
order of slots does not matter. A step has fixed shapes for a bucket of lanes and of slots; on a GPU it is captured
once as a graph and replayed. The host looks at what was written every few dozen steps, and lets others in then.

    lanes = Lanes(model, pad=0, most=256)
    done = lanes.join(jobs)
    while lanes:
        done += lanes.step()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thinkcap.engines.hf_batch import BatchJob, read_prompts
from thinkcap.engines.hf_cache import LaneCache, prepare, room_for
from thinkcap.engines.hf_choice import TokenChoice

_LOOK = 32
"""Steps between two looks of the host: it costs a few of them to find out that a lane is free."""
_LOOK_STREAMED = 4
_SLOTS = 128
"""Slots are looked at by this many at a time: a graph for each."""


class Lanes:
    def __init__(self, model: Any, pad: int, most: int) -> None:
        prepare(model)
        self._model, self._pad, self._most = model, pad, most
        self._graphed = model.device.type == "cuda"
        self._cache = LaneCache(model)
        self._room = room_for(self._cache, model.device)
        self._jobs: dict[int, BatchJob] = {}
        """The job of each lane that has one."""
        self._length: dict[int, int] = {}
        """Slots a lane has filled."""
        self._slot = 0
        """The next one to be written, the same for all."""
        self._choice = TokenChoice(model.device, pad)
        self._graphs: dict[tuple[int, int, int, bool], Any] = {}
        self._pool: Any = None

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def jobs(self) -> tuple[BatchJob, ...]:
        return tuple(self._jobs.values())

    def takes(self, job: BatchJob, new: Sequence[BatchJob]) -> bool:
        """Whether one more finds a lane beside those about to join, and memory, should all reach their limits."""
        longest = max(len(j.prompt) + j.limit for j in (job, *new, *self._jobs.values()))
        lanes = min(self._most, max(1, self._room // _bucket(longest + _LOOK, _SLOTS)))
        return len(self._jobs) + len(new) < lanes

    def join(self, jobs: Sequence[BatchJob]) -> list[BatchJob]:
        """Reads the prompts in a cache of their own, copies them in, and writes a token for each."""
        import torch

        with torch.inference_mode():
            logits, read = read_prompts(self._model, self._pad, jobs)
            first, sure = self._choice.first(logits, jobs)
            for row, (job, token) in enumerate(zip(jobs, first, strict=True)):
                job.take(token, sure[row] if sure else None)
            going = [(row, job) for row, job in enumerate(jobs) if not job.done]
            if going:
                self._enter(going, read)
        return [job for job in jobs if job.done]

    def _enter(self, going: list[tuple[int, BatchJob]], read: Any) -> None:
        longest = max(len(job.prompt) for _, job in going)
        if not self._jobs:
            self._slot = 0
        free = [lane for lane in range(len(self._jobs) + len(going)) if lane not in self._jobs]
        lanes = free[: len(going)]
        shift = max(0, longest - self._slot)
        self._hold(max(lanes) + 1, max(len(j.prompt) + j.limit for j in (*self.jobs, *(j for _, j in going))))
        if shift:
            self._cache.move(self._slot, self._slot + shift, self._slot)
            self._slot += shift
        self._cache.fill(lanes, [row for row, _ in going], read, self._slot, [len(j.prompt) for _, j in going])
        for lane, (_, job) in zip(lanes, going, strict=True):
            self._jobs[lane], self._length[lane] = job, len(job.prompt)
        self._choice.start(lanes, [job for _, job in going], self._cache.lanes)

    def step(self) -> list[BatchJob]:
        """A few dozen tokens for every lane; returns the jobs that are done with them."""
        import torch

        with torch.inference_mode():
            for lane in [lane for lane, job in self._jobs.items() if job.cancelled]:
                self._choice.stop(lane)
            look = _LOOK_STREAMED if any(job.wrote for job in self._jobs.values()) else _LOOK
            steps = min(look, max(job.limit - len(job.ids) for job in self._jobs.values()))
            self._tidy(steps)
            lanes = _power(max(self._jobs) + 1)
            among = self._choice.prepare(self._jobs, steps, self._slot)
            scored = any(job.scored for job in self._jobs.values())
            run = self._captured(lanes, _bucket(self._slot + steps, _SLOTS), among, scored)
            for _ in range(steps):
                run()
            self._slot += steps
            sure = self._choice.sure(steps, lanes) if scored else None
            return self._settle(self._choice.written(steps, lanes), sure, steps)

    def clear(self) -> None:
        self._jobs, self._length, self._slot = {}, {}, 0

    def _settle(self, tokens: list[list[int]], sure: list[list[Any]] | None, steps: int) -> list[BatchJob]:
        done = []
        for lane, job in list(self._jobs.items()):
            for step in range(steps):
                if job.done:
                    break
                job.take(tokens[step][lane], sure[step][lane] if sure else None)
            self._length[lane] += steps
            if job.done:
                done.append(job)
                del self._jobs[lane], self._length[lane]
                self._choice.stop(lane)
        return done

    def _tidy(self, steps: int) -> None:
        """Lanes close up and slots that nobody needs are given up, where a smaller graph can then be used."""
        while _power(max(self._jobs) + 1) > _power(len(self._jobs)):
            last = max(self._jobs)
            hole = next(lane for lane in range(last) if lane not in self._jobs)
            self._cache.move_lane(last, hole, self._slot)
            self._choice.move(last, hole)
            self._jobs[hole], self._length[hole] = self._jobs.pop(last), self._length.pop(last)
        live = max(self._length.values())
        if _bucket(live + steps, _SLOTS) < _bucket(self._slot + steps, _SLOTS):
            self._cache.move(self._slot, live, live)
            self._slot = live

    def _hold(self, lanes: int, longest: int) -> None:
        """Makes the cache large enough for all to reach their limits, with as many lanes as there may be.

        Graphs of a smaller one are of no use any more, so it grows as rarely as it can.
        """
        slots = _bucket(longest + _LOOK, _SLOTS)
        most = min(self._most, max(lanes, self._room // max(slots, self._cache.slots)))
        if self._cache.grow(most, slots, self._slot):
            self._graphs.clear()
            # The graphs' memory went with them; the next ones share a new pool.
            self._pool = None
        self._choice.grow(self._cache.lanes, _LOOK)

    def _captured(self, lanes: int, slots: int, among: int, scored: bool) -> Any:
        def run() -> None:
            self._one(lanes, slots, among, scored)

        if not self._graphed:
            return run
        import torch

        key = (lanes, slots, among, scored)
        if key not in self._graphs:
            kept = self._choice.kept(), self._cache.kept()
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(2):
                    run()
                    self._choice.restore(kept[0])
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self._pool):
                run()
            self._pool = self._pool or graph.pool()
            # Trying it out wrote tokens that nobody asked for.
            self._choice.restore(kept[0])
            self._cache.restore(kept[1])
            self._graphs[key] = graph
        return self._graphs[key].replay

    def _one(self, lanes: int, slots: int, among: int, scored: bool) -> None:
        choice = self._choice
        out = self._model(
            input_ids=choice.token[:lanes, None],
            attention_mask=self._cache.look(lanes, slots, choice.slot),
            position_ids=choice.place[:lanes, None],
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        choice.take(out.logits[:, -1].float(), among, scored)


def _bucket(count: int, size: int) -> int:
    return -(-count // size) * size


def _power(count: int) -> int:
    return 1 << max(0, count - 1).bit_length()
