"""An engine for clusters of the tests: slow enough to be killed, and it writes down every token it generates."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

from thinkcap.core.engine import Emit, Output, Prompt
from thinkcap.core.types import Sampling
from thinkcap.engines.scripted import QUIET, ScriptedEngine

LEDGER = "THINKCAP_TEST_LEDGER"


def reply(prompt: str) -> str:
    asked = prompt.split("[user]")[-1].split("\n")[0]
    size = int(hashlib.sha256(asked.encode()).hexdigest(), 16) % 60
    right = f"#### {len(asked)}"
    if "Work on this so far" in prompt or QUIET in prompt[-12:] or not prompt.endswith("[assistant]"):
        return right if size % 3 else "#### 0"
    return "<think>" + "x" * size + "</think>" + right


class Counting(ScriptedEngine):
    async def generate(self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None = None) -> Output:
        output = await super().generate(prompt, limit, sampling, emit)
        import ray

        node = ray.get_runtime_context().get_node_id()
        line = json.dumps({"pid": os.getpid(), "node": node, "tokens": output.tokens}) + "\n"
        descriptor = os.open(Path(os.environ[LEDGER]), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, line.encode())
        os.close(descriptor)
        return output


async def factory(model: str, **options: object) -> Counting:
    engine = Counting(reply, delay_s=0.05)
    engine.card = replace(engine.card, concurrency=4)
    return engine
