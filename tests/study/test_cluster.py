"""A study over a Ray cluster of three nodes: one dies, one joins, and nothing that was done is done again."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="needs ray: pip install 'thinkcap[cluster]'", exc_type=ImportError)

from counting import LEDGER

from thinkcap.api import Studied as Result
from thinkcap.api import run_study as run
from thinkcap.core.complete import complete
from thinkcap.core.errors import ConfigError, EngineUnreachable
from thinkcap.core.types import Question, Request
from thinkcap.engines import open_engine
from thinkcap.study.config import StudyConfig
from thinkcap.study.progress import Progress

TESTS = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


def three_nodes(tries: int = 3) -> Any:
    """Ray gives a node thirty seconds to start, whatever the machine does besides, and then a bare Exception."""
    from ray.cluster_utils import Cluster

    fast = {"health_check_period_ms": 1000, "health_check_failure_threshold": 5}
    made = Cluster()
    try:
        made.add_node(num_cpus=0, include_dashboard=False, _system_config=fast)
        for _ in range(2):
            made.add_node(num_cpus=1)
    except Exception:
        made.shutdown()
        if tries == 1:
            raise
        return three_nodes(tries - 1)
    return made


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """A head without engines and two nodes with one place each, all separate processes."""
    import ray

    path = os.pathsep.join([str(TESTS / "engines"), *filter(None, [os.environ.get("PYTHONPATH")])])
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.setenv(LEDGER, str(tmp_path / "ledger.jsonl"))
    made = three_nodes()
    ray.init(address=made.address, log_to_driver=False, logging_level="error")
    yield made
    ray.shutdown()
    made.shutdown()


def config(questions: Path, out: Path, concurrency: int, **more: Any) -> StudyConfig:
    return StudyConfig.from_mapping(
        {
            "model": "counting:factory",
            "tasks": [str(questions)],
            "policies": "nothink,think,close",
            "budgets": "16,32,64",
            "concurrency": concurrency,
            "cluster": "auto",
            "out": str(out),
            "timeout_s": 120.0,
            **more,
        }
    )


class Disturbance:
    """Kills the node that worked last, adds one after some more rows, and remembers the rows that were there."""

    def __init__(self, cluster: Any, rows: Path, ledger: Path, kill_at: int, add_at: int) -> None:
        self._cluster, self._rows, self._ledger = cluster, rows, ledger
        self._kill_at, self._add_at = kill_at, add_at
        self.before, self.killed, self.at_the_kill = b"", "", 0
        self.places: set[str] = set()
        self.times: list[float] = []

    def __call__(self, progress: Progress) -> None:
        self.times.append(time.monotonic())
        if progress.where:
            self.places.add(progress.where())
        if progress.done == self._kill_at:
            self.before = self._rows.read_bytes()
            self.killed = nodes(self._ledger)[-1]
            (node,) = [node for node in self._cluster.worker_nodes if node.node_id == self.killed]
            self._cluster.remove_node(node, allow_graceful=False)
            self.at_the_kill = len(nodes(self._ledger))
        if progress.done == self._add_at:
            self._cluster.add_node(num_cpus=1)


def nodes(ledger: Path) -> list[str]:
    return [str(json.loads(line)["node"]) for line in ledger.read_text().splitlines()]


def generated(ledger: Path) -> tuple[int, int]:
    """Tokens of all generations, and the largest of one."""
    tokens = [json.loads(line)["tokens"] for line in ledger.read_text().splitlines()]
    return sum(tokens), max(tokens)


def stored(out: Path) -> int:
    with sqlite3.connect(out / "traces.sqlite") as store:
        (tokens,) = store.execute("select sum(generated) from traces").fetchone()
    return int(tokens)


@pytest.mark.parametrize("flows", [1, 8])
async def test_a_node_killed_and_one_added_in_the_middle(
    cluster: Any, flows: int, questions: Path, tmp_path: Path
) -> None:
    out, ledger = tmp_path / "disturbed", tmp_path / "ledger.jsonl"
    total = 12 * 3 * 3
    disturb = Disturbance(cluster, out / "rows.jsonl", ledger, kill_at=total // 3, add_at=total // 2)
    result: Result = await run(config(questions, out, flows), watch=disturb)
    assert len(result.rows) == total
    assert result.failed == 0
    rows = (out / "rows.jsonl").read_bytes()
    assert disturb.before
    assert rows.startswith(disturb.before), "rows finished before the kill stay byte for byte"
    assert any("on 3 nodes" in place for place in disturb.places)
    later = nodes(ledger)[disturb.at_the_kill :]
    # A worker outlives its node by a moment, in which what it had begun may end.
    assert later.count(disturb.killed) <= flows < len(later)
    assert disturb.killed not in later[len(later) // 2 :], "the others took over"

    tokens, largest = generated(ledger)
    twice = tokens - stored(out)
    assert 0 <= twice <= flows * largest, "only what was in flight on the lost node is generated again"

    if folder := os.environ.get("THINKCAP_CARDS"):
        figures = {
            "flows": flows,
            "rows": total,
            "rows_before": disturb.before.count(b"\n"),
            "tokens": tokens,
            "twice": twice,
            "in_flight": flows * largest,
            "pause_s": round(max(b - a for a, b in itertools.pairwise(disturb.times)), 1),
        }
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"cluster-{flows}.json").write_text(json.dumps(figures, indent=1) + "\n")

    if flows == 1:
        ledger.unlink()
        await run(config(questions, tmp_path / "calm", 1))
        assert rows == (tmp_path / "calm" / "rows.jsonl").read_bytes()


async def test_later_stages_of_a_question_go_where_it_was_before(cluster: Any, tmp_path: Path) -> None:
    engine = await open_engine("counting:factory", cluster="auto", actors=2)
    while "2 engines" not in engine.status():  # type: ignore[attr-defined]  # noqa: ASYNC110
        await asyncio.sleep(0.1)
    questions = [Question(f"q{n}", ({"role": "user", "content": "?" * (n + 1)},)) for n in range(8)]

    async def ask(question: Question) -> None:
        thought = await complete(engine, Request(question, "think", 20, stage="think"))
        again = Request(question, "think", 60, stage="close", prefill=(thought.span(), "</think>"))
        await complete(engine, again)

    for question in questions:
        before = len((tmp_path / "ledger.jsonl").read_text().splitlines()) if question.id != "q0" else 0
        await ask(question)
        lines = (tmp_path / "ledger.jsonl").read_text().splitlines()[before:]
        assert len({json.loads(line)["pid"] for line in lines}) == 1
    await engine.aclose()


async def test_what_the_cluster_cannot_give_is_said(cluster: Any) -> None:
    with pytest.raises(EngineUnreachable, match="lower --cpus or --gpus"):
        await open_engine("counting:factory", cluster="auto", gpus=1, timeout_s=3)
    with pytest.raises(ConfigError, match=r"cannot find|[Nn]o module"):
        await open_engine("nowhere_to_be_found:factory", cluster="auto", timeout_s=60)
