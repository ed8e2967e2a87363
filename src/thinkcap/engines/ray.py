"""Engines as actors on a Ray cluster, seen as one engine: flows and store stay here, generations go out.

Ray places the actors, starts them again when a node dies and fills nodes that join; this file chooses which of
those that answer gets the next generation, and asks again when one is gone. Tries are counted by time: a call to
an actor whose node was lost fails several times before the actor is back.

    engine = await open_engine("bundled", cluster="auto", gpus=0)
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from thinkcap.core.engine import Emit, Engine, EngineCard, Output, Prompt
from thinkcap.core.errors import ConfigError, EngineError, EngineUnreachable, ThinkcapError
from thinkcap.core.thinking import Delta
from thinkcap.core.types import Request, Sampling
from thinkcap.engines.ray_pool import ActorPool, ActorSlot

_GROWTH = 4
"""Where nodes may join, this many times the flows of the first actors wait for their turn."""
_KEPT = 65536


async def open_engine(
    model: str,
    *,
    cluster: str,
    actors: int = 0,
    cpus: float = 1.0,
    gpus: float = 0.0,
    timeout_s: float = 600.0,
    concurrency: int = 0,
    **options: Any,
) -> Engine:
    """`cluster` is `auto`, an address, or `local` for a cluster of this machine alone. Without a number of
    `actors` the cluster is filled, nodes that join later included; `cpus` and `gpus` are for one actor."""
    if actors < 0 or cpus < 0 or gpus < 0 or not cpus + gpus:
        raise ConfigError("actors, cpus and gpus cannot be negative, and an actor needs a CPU or a GPU")
    started = await asyncio.to_thread(connect, cluster)
    demand = {"CPU": cpus, "GPU": gpus}
    pool = ActorPool(model, _for_actor(model, options, cpus, timeout_s), demand, actors, timeout_s)
    try:
        card = await pool.begin()
        share = len(pool.ready) if actors == 0 else actors
        flows = concurrency or card.concurrency * share * (1 if actors else _GROWTH)
        return Clustered(pool, replace(card, concurrency=flows), started)
    except BaseException:
        await pool.aclose()
        if started:
            await asyncio.to_thread(disconnect)
        raise


def _for_actor(model: str, options: dict[str, Any], cpus: float, timeout_s: float) -> dict[str, Any]:
    from thinkcap.engines import engine_for

    kind = engine_for(model)
    if kind == "llamacpp":
        # Each actor has its own part of the node: one copy of a small model, and no more threads than CPUs.
        return {"threads": max(1, int(cpus)), **options}
    return {"timeout_s": timeout_s, **options} if kind == "openai" else options


def connect(cluster: str) -> bool:
    """Joins the cluster; says whether it was not joined before."""
    try:
        import ray
    except ImportError as err:
        raise ConfigError(f"--cluster needs an extra: pip install 'thinkcap[cluster]' ({err})") from err
    if ray.is_initialized():
        return False
    try:
        ray.init(address=cluster, log_to_driver=False, logging_level="error", configure_logging=True)
    except (ConnectionError, ValueError, RuntimeError, OSError) as err:
        raise ConfigError(
            f"no Ray cluster at '{cluster}' ({' '.join(str(err).split())[:200]}); start one with "
            f"`ray start --head`, name its address, or use --cluster local"
        ) from err
    return True


def disconnect() -> None:
    import ray

    ray.shutdown()


class Clustered:
    """The engine a study sees. A question's later stages go where its earlier ones were, while there is room."""

    def __init__(self, pool: ActorPool, card: EngineCard, started: bool) -> None:
        self.card = card
        self._pool = pool
        self._started = started
        self._about: OrderedDict[tuple[int, ...], str] = OrderedDict()
        self._homes: OrderedDict[str, ActorSlot] = OrderedDict()
        self.moved = 0
        """Calls that had to be asked again because an actor was lost."""

    async def prompt(self, request: Request) -> Prompt:
        prompt: Prompt = await self._ask(lambda slot: slot.handle.prompt.remote(request), None)
        if prompt.ids is not None:
            _keep(self._about, prompt.ids, f"{request.question.id} {request.question.messages[-1]}")
        return prompt

    async def generate(self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None = None) -> Output:
        # A continued trace begins with the ids of its prompt.
        about = self._about.get((prompt.ids or ())[: prompt.tokens])
        output: Output = await self._ask(
            lambda slot: slot.handle.generate.remote(prompt, limit, sampling), about or "", weight=1
        )
        if emit and output.ids is None and output.thought:
            emit(Delta(output.thought, "thought"))
            emit(Delta(output.answer or "", "answer"))
        elif emit:
            emit(Delta(output.text))
        return output

    async def read(self, ids: Sequence[int]) -> str:
        text: str = await self._ask(lambda slot: slot.handle.read.remote(ids), None)
        return text

    def status(self) -> str:
        return self._pool.status()

    async def aclose(self) -> None:
        await self._pool.aclose()
        if self._started:
            await asyncio.to_thread(disconnect)

    async def _ask(self, call: Callable[[ActorSlot], Any], about: str | None, weight: int = 0) -> Any:
        import ray

        deadline = time.monotonic() + self._pool.timeout_s
        while True:
            slot = self._choose(about, weight)
            if slot is None:
                # Waiting for room is no failure and has no end; waiting for a lost actor has one.
                await self._pool.change(None if self._pool.ready else deadline)
                continue
            slot.busy += weight
            ref = call(slot)
            try:
                answer = await ref
            except asyncio.CancelledError:
                ray.cancel(ref)
                raise
            except ray.exceptions.RayTaskError as err:
                raise EngineError(f"an engine on the cluster failed: {' '.join(str(err.cause).split())}") from err
            except ray.exceptions.RayError as err:
                self.moved += 1
                self._pool.lost(slot)
                if time.monotonic() > deadline:
                    raise EngineUnreachable(
                        f"the cluster did not answer within {self._pool.timeout_s:g} s, last: "
                        f"{type(err).__name__}; {self._pool.status()}"
                    ) from err
                continue
            finally:
                slot.busy -= weight
                self._pool.touch()
            if isinstance(answer, ThinkcapError):
                raise answer
            if about:
                _keep(self._homes, about, slot)
            return answer

    def _choose(self, about: str | None, weight: int) -> ActorSlot | None:
        """The question's home where it has room, else whoever has most; templates and texts go anywhere."""
        free = [slot for slot in self._pool.ready if not weight or slot.busy < slot.room]
        home = self._homes.get(about) if about else None
        if home in free:
            return home
        return min(free, key=lambda slot: slot.busy / slot.room, default=None)


def _keep(kept: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > _KEPT:
        kept.popitem(last=False)
