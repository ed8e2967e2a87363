"""Does a profile ever hurt? Every question at every cap through the gateway, by the profile and by `close` forced.

    python bench/gateway_profile.py [--questions 200] [--profile profile.toml] [--traces runs/study/traces.sqlite]

The bundled model with its own profile, unless another is named. Questions are asked as a stranger would: a chat
message, no answer kind. A store of traces saves generating twice what a study of the same questions generated; the
answers are the same. Ends with code 1 where a request failed or a cap is surely worse than `close`.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import numpy as np

from thinkcap.calibrate.profile import Profile, profile_of
from thinkcap.core.types import Question
from thinkcap.engines import open_engine
from thinkcap.gateway.app import Gateway
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.models import Models, Served
from thinkcap.gateway.server import make_server
from thinkcap.gateway.telemetry.metrics import Metrics
from thinkcap.grading import Grader
from thinkcap.statistics.paired import difference
from thinkcap.tasks import load
from thinkcap.tasks.task import Task
from thinkcap.traces.remember import Remembering
from thinkcap.traces.store import TraceStore

CAPS = (32, 48, 80, 128, 200, 300, 512, 1024)
"""On the measured caps and between them."""


@dataclass(frozen=True)
class AtCap:
    """What the profile did at one cap, beside `close`."""

    cap: int
    policy: str
    failed: int
    right: float
    close: float
    low: float
    high: float

    @property
    def hurts(self) -> bool:
        return self.high < 0 or self.failed > 0

    def __str__(self) -> str:
        return (
            f"{self.cap:>6}  {self.policy:<10} {100 * self.right:5.1f} % right, close {100 * self.close:5.1f} %, "
            f"difference [{100 * self.low:+.1f}, {100 * self.high:+.1f}] points, {self.failed} failed"
        )


async def compare(
    task: Task, caps: tuple[int, ...], profile: Profile | None, traces: Path, tell: Callable[[AtCap], None]
) -> None:
    bare = await open_engine("bundled")
    with TraceStore.open(traces, bare.card.fingerprint) as store:
        models = Models([Served("pebble", Remembering(bare, store), profile)])
        config = ServeConfig.from_mapping({"model": "bundled", "port": 0})
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        server = make_server(Gateway(config, models, Metrics()), address.set_result)
        serving = asyncio.ensure_future(server.serve())
        try:
            base = (await address).removesuffix("/v1")
            async with (
                aiohttp.ClientSession(base, timeout=aiohttp.ClientTimeout(3600)) as session,
                Grader() as grader,
            ):
                for cap in caps:
                    tell(await _at(session, grader, task, cap))
        finally:
            server.should_exit = True
            await serving
            await models.aclose()


async def _at(session: aiohttp.ClientSession, grader: Grader, task: Task, cap: int) -> AtCap:
    slots = asyncio.Semaphore(16)

    async def one(question: Question, model: str) -> tuple[bool, str]:
        """Whether it was right, and by which policy; no policy where the request failed."""
        body = {"model": model, "messages": [dict(m) for m in question.messages], "max_tokens": cap}
        async with slots, session.post("/v1/chat/completions", json=body) as reply:
            found = await reply.json()
        if reply.status != 200:
            return False, ""
        text = found["choices"][0]["message"]["content"]
        verdict = await grader.grade(task.golds[question.id], text, question.kind or "math")
        return verdict == "right", str(found["thinkcap"]["policy"])

    mine = await asyncio.gather(*(one(q, "pebble") for q in task.questions))
    rival = await asyncio.gather(*(one(q, "pebble+close") for q in task.questions))
    right, other = np.array([r for r, _ in mine]), np.array([r for r, _ in rival])
    found = difference(right, other, "question")
    policies = {policy for _, policy in mine if policy}
    failed = sum(not policy for _, policy in mine)
    return AtCap(
        cap, "/".join(sorted(policies)), failed, float(right.mean()), float(other.mean()), found.low, found.high
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="not the one the profile was made from")
    parser.add_argument("--profile", type=Path)
    parser.add_argument("--traces", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        traces = args.traces or Path(folder) / "traces.sqlite"
        task = load("families", limit=args.questions, seed=args.seed)
        found: list[AtCap] = []

        def tell(row: AtCap) -> None:
            found.append(row)
            print(row, flush=True)

        asyncio.run(compare(task, CAPS, profile_of("bundled", args.profile), traces, tell))
    raise SystemExit(any(row.hurts for row in found))


if __name__ == "__main__":
    main()
