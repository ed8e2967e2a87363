"""The actors of a cluster: asked for, waited for, lost and found again. Placement and restarts are Ray's.

pool = ActorPool("bundled", {}, {"CPU": 1.0, "GPU": 0.0}, wanted=0, timeout_s=600)
card = await pool.begin()
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from thinkcap.core.engine import Engine, EngineCard, Output, Prompt
from thinkcap.core.errors import EngineUnreachable, ModelChanged, ThinkcapError
from thinkcap.core.types import Request, Sampling

T = TypeVar("T")
_AT_ONCE = 1000
"""Calls an actor takes side by side; its engine queues what is beyond its own number of flows."""
_PAUSE_S = 0.5
_MOST = 64
"""Actors that are asked for at the start where no number was given."""
_TROUBLES = 3
"""Nodes that cannot open the model before no further ones are tried."""


class Host:
    """Runs inside an actor: one engine, opened once. Errors come back as values, so that they stay ours."""

    def __init__(self, model: str, options: dict[str, Any]) -> None:
        self._model, self._options = model, options
        self._lock = asyncio.Lock()
        self._opened: Engine | None = None

    async def _engine(self) -> Engine:
        from thinkcap.engines import open_engine as open_here

        async with self._lock:
            if self._opened is None:
                self._opened = await open_here(self._model, **self._options)
        return self._opened

    async def card(self) -> EngineCard | ThinkcapError:
        return await _as_value(self._engine, lambda engine: _just(engine.card))

    async def prompt(self, request: Request) -> Prompt | ThinkcapError:
        return await _as_value(self._engine, lambda engine: engine.prompt(request))

    async def generate(self, prompt: Prompt, limit: int, sampling: Sampling) -> Output | ThinkcapError:
        return await _as_value(self._engine, lambda engine: engine.generate(prompt, limit, sampling))

    async def read(self, ids: Sequence[int]) -> str | ThinkcapError:
        return await _as_value(self._engine, lambda engine: engine.read(ids))


async def _just(value: T) -> T:
    return value


async def _as_value(
    engine: Callable[[], Awaitable[Engine]], call: Callable[[Engine], Awaitable[T]]
) -> T | ThinkcapError:
    try:
        return await call(await engine())
    except ThinkcapError as err:
        return err


@dataclass(eq=False)
class ActorSlot:
    """One actor as we know it."""

    handle: Any
    ready: bool = False
    busy: int = 0
    room: int = 1


class ActorPool:
    """The actors: asked for, waited for, lost and found again."""

    def __init__(
        self, model: str, options: dict[str, Any], demand: dict[str, float], wanted: int, timeout_s: float
    ) -> None:
        self._model, self._options, self._demand = model, options, demand
        self._wanted = wanted
        self.timeout_s = timeout_s
        self.slots: list[ActorSlot] = []
        self._card: EngineCard | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._troubles: list[ThinkcapError] = []

    @property
    def ready(self) -> list[ActorSlot]:
        return [slot for slot in self.slots if slot.ready]

    async def begin(self) -> EngineCard:
        """Asks for actors and waits for the first that answers."""
        for _ in range(self._wanted or self._fitting() + 1):
            self._ask_for_one()
        deadline = time.monotonic() + self.timeout_s
        while not self.ready:
            if self._troubles and not self.slots:
                raise self._troubles[0]
            await self.change(deadline)
        assert self._card is not None
        return self._card

    async def change(self, deadline: float | None) -> None:
        """Waits until an actor comes, goes or has room."""
        self._changed.clear()
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            await asyncio.wait_for(self._changed.wait(), left)
        except TimeoutError:
            raise EngineUnreachable(
                f"no engine on the cluster answered within {self.timeout_s:g} s: {self.status()}. Each needs "
                f"{self._demand}; add a node (`ray start --address`), or lower --cpus or --gpus"
            ) from None

    def touch(self) -> None:
        self._changed.set()

    def lost(self, slot: ActorSlot) -> None:
        """Its node or process is gone; Ray starts it again somewhere, or cannot."""
        if slot.ready:
            slot.ready = False
            self._watch(slot)

    def status(self) -> str:
        import ray

        nodes = sum(1 for node in ray.nodes() if node["Alive"])
        return f"{len(self.ready)} engines on {nodes} nodes"

    async def aclose(self) -> None:
        import ray

        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for slot in self.slots:
            ray.kill(slot.handle)
        self.slots.clear()

    def _fitting(self) -> int:
        import ray

        whole = ray.cluster_resources()
        fits = [int(whole.get(name, 0) / each) for name, each in self._demand.items() if each]
        return min([*fits, _MOST])

    def _ask_for_one(self) -> None:
        import ray

        made = ray.remote(Host).options(
            num_cpus=self._demand["CPU"],
            num_gpus=self._demand["GPU"],
            max_restarts=-1,
            max_concurrency=_AT_ONCE,
            scheduling_strategy="SPREAD",
        )
        slot = ActorSlot(made.remote(self._model, self._options))
        self.slots.append(slot)
        self._watch(slot)

    def _watch(self, slot: ActorSlot) -> None:
        task = asyncio.ensure_future(self._until_ready(slot))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _until_ready(self, slot: ActorSlot) -> None:
        import ray

        while True:
            try:
                card = await slot.handle.card.remote()
                break
            except ray.exceptions.ActorDiedError:
                # Not to be started again: another takes its place.
                self.slots.remove(slot)
                self._ask_for_one()
                return
            except ray.exceptions.RayError:
                await asyncio.sleep(_PAUSE_S)
        if isinstance(card, EngineCard) and self._card and card.fingerprint != self._card.fingerprint:
            card = ModelChanged(
                f"a node has another model under '{self._model}' ({card.fingerprint[:24]} instead of "
                f"{self._card.fingerprint[:24]}); it is not used"
            )
        if isinstance(card, EngineCard):
            self._card = self._card or card
            slot.ready, slot.room = True, card.concurrency
            # One more is always asked for, so that a node that joins is filled.
            pending = sum(not other.ready for other in self.slots)
            if not self._wanted and not pending and len(self._troubles) < _TROUBLES:
                self._ask_for_one()
        else:
            self._troubles.append(card)
            self.slots.remove(slot)
            ray.kill(slot.handle)
        self.touch()
