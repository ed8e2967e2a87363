"""Races and scores on each real server that gives ids: what is charged, and how far two ways to score differ."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from started import Server
from watched import LANES, asked, checked_race, score_gap

from thinkcap.core.engine import Engine
from thinkcap.core.types import Request
from thinkcap.engines import open_engine

HOW = {"vllm": "one pass over the prompt", "llama": "written again"}


@pytest.fixture
async def engine(server: Server) -> AsyncIterator[Engine]:
    if server.kind not in HOW:
        pytest.skip("gives no token ids")
    found = await open_engine(server.url)
    yield found
    await found.aclose()


@pytest.mark.parametrize("races", [1, pytest.param(20, marks=pytest.mark.campaign)])
async def test_a_live_race_pays_for_what_was_written(
    engine: Engine, server: Server, races: int, campaign: Any
) -> None:
    before = written_by(server)
    raced = [await checked_race(engine, n, 1 + n % 2) for n in range(max(1, campaign.of(races)))]
    charged, whole = sum(r.charged for r in raced), sum(r.whole for r in raced)
    said = f"{len(raced)} races of {LANES} on {server.kind}: {sum(r.stopped for r in raced)} lanes stopped, "
    said += f"{charged:,} tokens charged instead of {whole:,}"
    if before is not None:
        # What it wrote before it heard that nobody listens; the lanes run whole afterwards count too.
        said += f"; the server wrote {(written_by(server) or 0) - before - whole - charged:,} more"
    campaign.says(said)
    print(said)


def written_by(server: Server) -> int | None:
    """By the server's own count, where it keeps one."""
    if server.kind != "vllm":
        return None
    with urllib.request.urlopen(server.url.partition("/v1")[0] + "/metrics", timeout=10) as reply:
        found = re.findall(r"^vllm:generation_tokens_total\S* (\S+)", reply.read().decode(), re.MULTILINE)
    return round(sum(map(float, found)))


@pytest.mark.parametrize("questions", [3, pytest.param(40, marks=pytest.mark.campaign)])
async def test_scores_of_a_stored_trace_are_those_of_its_writing(
    engine: Engine, server: Server, questions: int, tmp_path: Path, campaign: Any
) -> None:
    requests = [Request(asked(n), "think", 200, stage="t") for n in range(max(3, campaign.of(questions)))]
    gap = await score_gap(engine, tmp_path, requests)
    said = f"scored afterwards, {server.kind} ({HOW[server.kind]}): {gap}"
    campaign.says(said)
    print(said)
    assert gap.worst < 0.5
