"""An engine for studies in another process: its replies depend on the prompt alone, and take a little while."""

from __future__ import annotations

import hashlib
import os
import time

from thinkcap.engines.scripted import QUIET, ScriptedEngine


def reply(prompt: str) -> str:
    asked = prompt.split("[user]")[-1].split("\n")[0]
    size = int(hashlib.sha256(asked.encode()).hexdigest(), 16) % 60
    right = f"#### {len(asked)}"
    if "Work on this so far" in prompt or QUIET in prompt[-12:] or not prompt.endswith("[assistant]"):
        return right if size % 3 else "#### 0"
    return "<think>" + "x" * size + "</think>" + right


async def held(model: str, **options: object) -> ScriptedEngine:
    """Writes nothing until the file named by HELD_UNTIL is there."""

    def waiting(prompt: str) -> str:
        while not os.path.exists(os.environ["HELD_UNTIL"]):
            time.sleep(0.01)
        return reply(prompt)

    return ScriptedEngine(waiting)


async def factory(model: str, **options: object) -> ScriptedEngine:
    return ScriptedEngine(reply, delay_s=0.01)
