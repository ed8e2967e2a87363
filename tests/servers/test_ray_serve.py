"""Gateways on a Ray cluster: from one replica to four and back under load, a node killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai
import pytest
from running import app_running, gateway_running
from started import free_port
from stub import Stub

pytest.importorskip("ray.serve", reason="needs Ray Serve: pip install 'thinkcap[ray-serve]'", exc_type=ImportError)

SRC = Path(__file__).parents[2] / "src"
PATIENCE_S = 240
LANES = 12
SETTINGS = """
model = "{server}/v1#stub"
cluster = "{cluster}"
port = {port}
max_replicas = 4
replica_tokens = 2500
replica_cpus = 0.1
grow_after_s = 4
shrink_after_s = 4
drain_s = 10
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without room for replicas and two nodes, all separate processes."""
    import ray
    from ray.cluster_utils import Cluster

    patch = pytest.MonkeyPatch()
    patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(SRC), os.environ.get("PYTHONPATH")])))
    # Replicas report every ten seconds unless told otherwise.
    patch.setenv("RAY_SERVE_REPLICA_AUTOSCALING_METRIC_PUSH_INTERVAL_S", "1")
    made = Cluster()
    try:
        fast = {"health_check_period_ms": 1000, "health_check_failure_threshold": 5}
        made.add_node(num_cpus=0, include_dashboard=False, _system_config=fast)
        for _ in range(2):
            made.add_node(num_cpus=1)
        ray.init(address=made.address, log_to_driver=False, logging_level="error")
        yield made
    finally:
        ray.shutdown()
        made.shutdown()
        patch.undo()


@dataclass
class Asked:
    began: float
    error: str = ""


class Load:
    """Twelve clients that ask one thing after another, every second answer as a stream, and never try again."""

    def __init__(self, address: str) -> None:
        self._client = openai.OpenAI(base_url=address, api_key="unused", max_retries=0, timeout=120)
        self.asked: list[Asked] = []
        self._over = threading.Event()
        self._lanes = ThreadPoolExecutor(LANES)

    def __enter__(self) -> Load:
        self._running = [self._lanes.submit(self._lane, lane) for lane in range(LANES)]
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for lane in self._running:
            lane.result(PATIENCE_S)
        self._lanes.shutdown()

    def _lane(self, number: int) -> None:
        while not self._over.is_set():
            one = Asked(time.monotonic())
            self.asked.append(one)
            try:
                assert self.answer(number % 2 == 0) == "the answer is 42 ."
            except (openai.APIError, AssertionError) as err:
                one.error = f"{type(err).__name__}: {err} {err.__cause__!r}"

    def answer(self, stream: bool) -> str:
        messages: Any = [{"role": "user", "content": "2?"}]
        asked: Any = {"model": "stub", "messages": messages, "max_tokens": 1000}
        if not stream:
            return str(self._client.chat.completions.create(**asked).choices[0].message.content)
        chunks = self._client.chat.completions.create(stream=True, **asked)
        return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices).strip()


def status() -> Any:
    from ray import serve
    from ray.serve.context import _set_global_client

    # Ray's own handle is kept for the life of a process, and gateways have ended and started Ray Serve since.
    _set_global_client(None)
    return serve.status()


@contextmanager
def served(config: Path, log: Path) -> Iterator[None]:
    """`thinkcap serve`, from the moment it serves; told to end afterwards, it ends well."""
    with log.open("wb") as out:
        words = [sys.executable, "-m", "thinkcap", "serve", "--config", str(config)]
        command = subprocess.Popen(words, stdout=out, stderr=out, start_new_session=True)
        try:
            wait_for(lambda: b"serves at" in log.read_bytes() or command.poll() is not None, "it never served")
            assert command.poll() is None, log.read_text()
            yield
            command.send_signal(signal.SIGTERM)
            assert command.wait(PATIENCE_S) == 0, log.read_text()
        finally:
            if command.poll() is None:
                os.killpg(command.pid, signal.SIGKILL)
                command.wait()


def replicas() -> int:
    found = status().applications.get("thinkcap")
    return int(found.deployments["gateway"].replica_states.get("RUNNING", 0)) if found else -1


def kill_busy_node(cluster: Any) -> None:
    """As when a machine loses its power: whatever runs on the node with most replicas is gone at once."""
    from ray._private.state import actors

    alive = [actor for actor in actors().values() if actor["State"] == "ALIVE"]
    places = [actor["Address"]["NodeID"] for actor in alive if "ServeReplica" in actor["ActorClassName"]]
    node = max(cluster.worker_nodes, key=lambda node: places.count(node.node_id))
    # Its own daemon first, which would start them again.
    cluster.remove_node(node, allow_graceful=False)
    there = [actor["Pid"] for actor in alive if actor["Address"]["NodeID"] == node.node_id]
    for pid in there:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    # A process that was killed gives its memory back before its sockets; a busy machine takes a while.
    wait_for(lambda: not any(map(has_sockets, there)), "the node's processes did not end")


def has_sockets(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(what: Callable[[], bool], why: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < deadline, why
        time.sleep(0.5)


def test_replicas_come_and_go_with_the_tokens_and_a_killed_node_loses_only_what_it_had_begun(
    cluster: Any, tmp_path: Path
) -> None:
    port = free_port()
    config, log = tmp_path / "serve.toml", tmp_path / "log"
    with app_running(Stub(delay_s=0.1)) as server:
        config.write_text(SETTINGS.format(server=server, cluster=cluster.address, port=port))
        with served(config, log):
            assert replicas() == 1
            with Load(f"http://127.0.0.1:{port}/v1") as load:
                assert load.answer(stream=False) == "the answer is 42 ."
                wait_for(lambda: replicas() == 4, "it never grew")
                grown = len(load.asked)
                wait_for(lambda: len(load.asked) > grown + 2 * LANES, "nothing was answered by four")
                kill_busy_node(cluster)
                killed = time.monotonic()
                wait_for(lambda: replicas() < 4, "nobody saw the node go")
                wait_for(lambda: replicas() == 4, "its replicas never came back")
                after = len(load.asked)
                wait_for(lambda: len(load.asked) > after + 2 * LANES, "nothing was answered afterwards")
            lost = [one for one in load.asked if one.error]
            assert [one for one in lost if one.began > killed] == [], f"killed at {killed}"
            assert len(lost) <= LANES
            wait_for(lambda: replicas() == 1, "it never shrank")
        assert replicas() == -1
    print(f"{len(load.asked)} requests, {len(lost)} lost, all begun before the node died")


INSIDE = """
model = "bundled"
cluster = "{cluster}"
port = {port}
min_replicas = 2
max_replicas = 2
replica_cpus = 0.4
drain_s = 10
"""
QUESTIONS = ("What is 17 + 25?", "What is 6 * 7?", "What is 90 - 48?")


def answers(address: str) -> list[str]:
    """By the profile, by a policy of two passes, whole and as streams, each question on its own."""
    client = openai.OpenAI(base_url=address, api_key="unused", max_retries=0, timeout=PATIENCE_S)
    found = []
    for model in ("pebble", "pebble+split(think=40)"):
        for text in QUESTIONS:
            messages: Any = [{"role": "user", "content": text}]
            asked: Any = {"model": model, "messages": messages, "max_tokens": 120, "temperature": 0}
            whole = client.chat.completions.create(**asked).choices[0].message.content or ""
            chunks = client.chat.completions.create(stream=True, **asked)
            assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == whole
            found.append(whole)
    return found


def programs() -> set[int]:
    """Of the replicas."""
    from ray._private.state import actors

    alive = [a for a in actors().values() if a["State"] == "ALIVE" and "ServeReplica" in a["ActorClassName"]]
    return {actor["Pid"] for actor in alive}


def test_models_that_replicas_open_themselves_answer_as_in_a_gateway_of_its_own(
    cluster: Any, tmp_path: Path
) -> None:
    with gateway_running("bundled") as (address, _):
        wanted = answers(address)
    port = free_port()
    config, log = tmp_path / "serve.toml", tmp_path / "log"
    config.write_text(INSIDE.format(cluster=cluster.address, port=port))
    with served(config, log):
        wait_for(lambda: replicas() == 2, "it never had two replicas")
        assert answers(f"http://127.0.0.1:{port}/v1") == wanted
        killed = min(programs())
        os.kill(killed, signal.SIGKILL)
        wait_for(lambda: killed not in programs() and replicas() == 2, "it was never replaced")
        assert answers(f"http://127.0.0.1:{port}/v1") == wanted


def test_a_running_ray_serve_is_used_where_it_listens_and_never_taken_for_another(
    cluster: Any, tmp_path: Path
) -> None:
    """Ray ignores a second address; a gateway that told it would be reachable by nobody."""
    from ray import serve

    assert not status().proxies, "a gateway that ended left Ray Serve running"
    port = free_port()
    serve.start(proxy_location="EveryNode", http_options={"host": "127.0.0.1", "port": port})
    try:
        config, log = tmp_path / "serve.toml", tmp_path / "log"
        words = [sys.executable, "-m", "thinkcap", "serve", "--config", str(config)]
        with app_running(Stub()) as server:
            settings = SETTINGS.format(server=server, cluster=cluster.address, port=port)
            config.write_text(settings.replace(f"port = {port}", f"port = {free_port()}"))
            done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S)
            assert done.returncode != 0
            assert f"already running on cluster '{cluster.address}' and listens at 127.0.0.1:{port}" in done.stderr
            assert "Traceback" not in done.stderr
            config.write_text(settings)
            with served(config, log):
                assert Load(f"http://127.0.0.1:{port}/v1").answer(stream=True) == "the answer is 42 ."
        # Whoever started it may still want it.
        assert status().proxies
        assert replicas() == -1
    finally:
        serve.shutdown()


@pytest.mark.parametrize(
    ("setting", "said"),
    [("port = 0", "name a port"), ("min_replicas = 9", "more than max_replicas"), ("watch = true", "--watch")],
)
def test_what_cannot_be_on_a_cluster_is_refused_before_one_is_joined(
    setting: str, said: str, tmp_path: Path
) -> None:
    config = tmp_path / "serve.toml"
    config.write_text(f'model = "http://127.0.0.1:9/v1"\ncluster = "local"\n{setting}\n')
    env = {**os.environ, "PYTHONPATH": str(SRC)}
    words = [sys.executable, "-m", "thinkcap", "serve", "--config", str(config)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr
