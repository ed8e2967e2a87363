"""Functions of ours between the command line and the model, by a study of one question that really runs.

    python bench/frames.py

A scripted engine looks who waits for it: the stack below it, and the tasks that wait for the one it runs in. The
engine's own functions are not counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import sys
import tempfile
import traceback
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from thinkcap.cli import main as command_line
from thinkcap.engines.scripted import ScriptedEngine

SRC = "src/thinkcap/"
BEFORE = 17
"""At the first count; the house's own guess had been about 15."""
WHY = {
    ("cli/__init__.py", "main"): "every error of ours ends in one line and an exit status",
    ("cli/study.py", "command"): "options become a study, with a progress line",
    ("core/sync.py", "wait"): "plain calls on top of async, also where a loop already runs",
    ("api.py", "run_study"): "the same door for Python: summary and report after the run",
    ("study/run.py", "run"): "what is done is left out; columns and provenance at the end",
    ("core/racing.py", "together"): "lanes; when one fails the others are cancelled and waited for",
    ("study/work.py", "work"): "one lane: the next cells, their rows",
    ("study/work.py", "_outcome"): "the policy is run and its answer graded; a failure becomes a row",
    ("core/flow.py", "drive"): "the flow: each request clipped to the rest of the cap, each error sent into it",
    ("core/complete.py", "complete"): "prompt, generation, thought and answer parted, tokens counted",
    ("traces/remember.py", "generate"): "one generation for all that need the same trace; cut where it suffices",
    ("traces/remember.py", "_grow"): "a longer trace is generated and stored",
}


def between() -> list[tuple[str, str]]:
    """File and function of each, from the command line down."""
    found: list[list[tuple[str, str]]] = []

    class Looking(ScriptedEngine):
        async def generate(self, *args: Any, **options: Any) -> Any:
            found.append(_waiting())
            return await super().generate(*args, **options)

    async def factory(model: str, **options: Any) -> Looking:
        return Looking(lambda prompt: "#### 4")

    sys.modules["looking"] = types.ModuleType("looking")
    sys.modules["looking"].factory = factory  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("q.jsonl").write_text(json.dumps({"question": "What is 2 + 2?", "answer": "4", "kind": "number"}))
        words = "study --task q.jsonl --policy nothink --budgets 16 --model looking:factory --out run"
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            command_line(words.split())
    return found[0]


def _waiting() -> list[tuple[str, str]]:
    here = asyncio.current_task()
    stack = _ours((frame.filename, frame.name) for frame in traceback.extract_stack())
    below = next(i for i, (file, _) in enumerate(stack) if file == "core/sync.py") + 1
    others = [_chain(task) for task in asyncio.all_tasks() if task is not here]
    # A study's tasks wait for each other: the run for its lanes, a lane for the request.
    others.sort(key=lambda chain: chain[0] != ("api.py", "run_study"))
    return [*stack[:below], *(frame for chain in others for frame in chain), *stack[below:]]


def _chain(task: asyncio.Task[Any]) -> list[tuple[str, str]]:
    frames: list[tuple[str, str]] = []
    coroutine: Any = task.get_coro()
    while hasattr(coroutine, "cr_code"):
        frames.append((coroutine.cr_code.co_filename, coroutine.cr_code.co_name))
        coroutine = coroutine.cr_await
    return _ours(frames)


def _ours(frames: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    known = [(file.replace(os.sep, "/").rpartition(SRC)[2], name) for file, name in frames if SRC in file]
    return [(file, name) for file, name in known if not file.startswith("engines/")]


def main() -> None:
    found = between()
    print(f"functions of ours between the command line and the model: {len(found)}; before {BEFORE}")
    for file, name in found:
        print(f"  {file + ' ' + name:<34} {WHY.get((file, name), 'NO REASON GIVEN')}")


if __name__ == "__main__":
    main()
