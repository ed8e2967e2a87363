"""The requests of a study, noted and sent again by a client that does nothing with the answers but read them.

asked, _ = noted("http://localhost:8000/v1#pebble", ("think", "nothink"), [128, 256], 200, 256, Path("runs/noted"))
seconds = asyncio.run(sent("http://localhost:8000/v1#pebble", asked, 256))
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from thinkcap.api import run_study
from thinkcap.core.errors import EngineRefused
from thinkcap.engines.client import Client
from thinkcap.engines.retry import key_for
from thinkcap.report.explorer.page import write_page
from thinkcap.study.config import StudyConfig


@dataclass(frozen=True)
class Asked:
    path: str
    body: Any


def noted(
    url: str, modes: Sequence[str], budgets: Sequence[int], questions: int, flows: int, out: Path
) -> tuple[list[Asked], float]:
    """A study's requests in the order they went out, but for those that were refused; and the seconds it took."""
    found: list[Asked] = []
    post = Client.post

    async def noting(self: Client, path: str, body: Any, *parse: Any) -> Any:
        one = Asked(path, body)
        found.append(one)
        try:
            return await post(self, path, body, *parse)
        except EngineRefused:
            # A question whether the server has something; it has not.
            found.remove(one)
            raise

    table = {"model": url, "policies": ",".join(modes), "budgets": ",".join(map(str, budgets)), "out": str(out)}
    config = StudyConfig.from_mapping({**table, "limit": questions, "concurrency": flows})
    Client.post = noting  # type: ignore[method-assign, assignment]
    started = time.perf_counter()
    try:
        write_page(asyncio.run(run_study(config)).folder)
    finally:
        Client.post = post  # type: ignore[method-assign]
    return found, time.perf_counter() - started


async def sent(url: str, asked: Sequence[Asked], flows: int) -> float:
    """Seconds for all of them, so many at a time."""
    root = url.partition("#")[0].rstrip("/").removesuffix("/v1")
    key = key_for(root)
    waiting = iter(asked)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=None),
        headers={"Authorization": f"Bearer {key}"} if key else {},
    ) as client:

        async def lane() -> None:
            for one in waiting:
                async with client.post(root + one.path, json=one.body) as reply:
                    reply.raise_for_status()
                    await reply.read()

        started = time.perf_counter()
        await asyncio.gather(*(lane() for _ in range(flows)))
        return time.perf_counter() - started
