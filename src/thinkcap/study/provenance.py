"""Where numbers come from: everything another person needs to get the same ones, or to see why not."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from thinkcap.core.engine import EngineCard
from thinkcap.grading import Grader
from thinkcap.study.config import StudyConfig
from thinkcap.study.plan import StudyPlan

_PACKAGES = ("thinkcap", "xllamacpp", "aiohttp", "math-verify", "sympy", "numpy")


def provenance(
    config: StudyConfig, card: EngineCard, cells: StudyPlan, *, started: float, concurrency: int
) -> dict[str, Any]:
    tasks = {asking.task.name: asking.task for asking in cells.asked}
    return {
        "status": "actual",
        "engine": card.to_dict(),
        "versions": {name: _version(name) for name in _PACKAGES},
        "python": sys.version.split()[0],
        # A server's hardware is its own affair: this machine only asks it.
        "hardware": card.hardware or ("" if _served(config.model) else _processor()),
        "client": _processor(),
        "dtype": card.dtype,
        "seeds": list(config.seeds),
        "temperature": config.temperature,
        "top_p": config.top_p,
        "tasks": {
            name: {"hash": task.hash, "questions": len(task.questions), "order": _order(task.questions)}
            for name, task in tasks.items()
        },
        "prompts": config.prompts.hash,
        "grader": Grader.version,
        "budgets": list(config.budgets),
        "policies": [plan.spec.label for plan in config.policies],
        "concurrency": concurrency,
        "online": config.online,
        "stop_criteria": {
            "ended": "the end-of-turn token was produced (used for F_L and triage)",
            "lt_95": "fewer than 95 % of the budget's tokens were used (reported for comparison)",
        },
        "commit": _commit(),
        "started": _stamp(started),
        "ended": _stamp(time.time()),
    }


def _served(model: object) -> bool:
    return isinstance(model, str) and model.startswith(("http://", "https://"))


def _order(questions: Sequence[Any]) -> str:
    """Names the order the questions were asked in."""
    ids = json.dumps([q.id for q in questions])
    return hashlib.sha256(ids.encode()).hexdigest()[:16]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    model = platform.processor() or platform.machine()
    if info.exists():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else model
    return f"{model}, {os.cpu_count()} cores"


def _commit() -> str:
    """The source's commit where it is run from a checkout."""
    try:
        done = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=12", "HEAD"],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def _stamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
