"""Where a run lies: a folder named for what the study is, so that no study ever writes over another.

The same settings find the same folder and go on there; `runs/study` links to the latest.

    >>> run_name({"model": "http://localhost:8000/v1#Qwen/Qwen3-8B", "tasks": ["gsm8k"], "limit": 200})
    'Qwen3-8B-gsm8k-f4328365'
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from thinkcap.core.errors import ConfigError
from thinkcap.core.files import read_file

RUNS = Path("runs")
LATEST = RUNS / "study"

_FIXED = (
    *("model", "offset", "temperature", "top_p", "sampling", "online", "nothink_by", "dialect", "prompts"),
    *("map", "kind", "serve_with", "serve_args"),
)
"""Settings that all rows of a study share: with another one it is another study."""
_GROWING = ("tasks", "seeds", "limit", "policy", "budgets")
"""Settings a study may grow in: what is finished stays a part of it."""


def run_name(study: Mapping[str, Any]) -> str:
    """Model, task and a short hash of everything that decides what the rows say; how fast they come does not."""
    deciding = {key: study[key] for key in (*_FIXED, *_GROWING, "data") if key in study}
    digest = hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()[:8]
    tasks = [_word(task) for task in study["tasks"]]
    more = f"+{len(tasks) - 1}" if len(tasks) > 1 else ""
    return f"{_word(study['model'])}-{tasks[0]}{more}-{digest}"


def _word(name: str) -> str:
    """The telling end of a path, an address or `module:attribute`, in characters any file system takes."""
    address, _, served = name.partition("#")
    if address.startswith(("http://", "https://")):
        name = served or address.split("/")[2]
    name = re.sub(r"\.(gguf|jsonl|csv|tsv|json|parquet)$", "", name.rstrip("/").rpartition("/")[2])
    return re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.")[:40] or "run"


def refuse_other(folder: Path, study: Mapping[str, Any]) -> None:
    """A folder with a finished study takes the same one, or, where a person named it, one that has all of it and
    more; no other."""
    if not (folder / "summary.json").exists():
        return
    advice = "choose another --out, or give none for a folder of its own"
    try:
        finished = tomllib.loads(read_file(folder / "study.toml").decode())
        changed = [key for key in _FIXED if _settled(key, finished) != _settled(key, study)]
        changed += [key for key in ("tasks", "seeds") if not set(finished[key]) <= set(study[key])]
        if _questions(finished) > _questions(study):
            changed.append("limit")
        if not _cells(finished) <= _cells(study):
            changed.append("policies or budgets")
        if not changed and run_name(study) != (name := run_name(finished)) == folder.resolve().name:
            # Grown under its old name, it would stand in the way of the study that name is for.
            changed.append(f"larger than the one '{name}' is named for")
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as err:
        raise ConfigError(
            f"'{folder}' holds a finished study whose study.toml cannot be read ({err}); {advice}"
        ) from err
    if changed:
        raise ConfigError(
            f"'{folder}' holds a finished study with other settings ({', '.join(changed)}); {advice}"
        )


def _settled(key: str, study: Mapping[str, Any]) -> Any:
    """A server that came back at another address is the same model; the run compares its fingerprint."""
    value = study.get(key)
    if key == "model" and isinstance(value, str) and value.startswith(("http://", "https://")):
        return ("served", value.partition("#")[2])
    return value


def _questions(study: Mapping[str, Any]) -> float:
    return float(study.get("limit", "inf"))


def _cells(study: Mapping[str, Any]) -> set[tuple[str, int]]:
    """(policy with its options, budget) pairs, as they stand in a resolved study."""
    return {
        (json.dumps({k: v for k, v in plan.items() if k != "budgets"}, sort_keys=True), budget)
        for plan in study["policy"]
        for budget in plan.get("budgets") or study["budgets"]
    }


def link_latest(folder: Path) -> None:
    """Points `runs/study` to a run beside it. A real folder of that name is an older run's, and stays."""
    if LATEST.is_dir() and not LATEST.is_symlink():
        return
    # In a fresh folder first, then moved over the old link at once: nobody ever finds it missing.
    # A file system without links costs a second name, not a finished study; `said_of` promises none then.
    with suppress(OSError), tempfile.TemporaryDirectory(prefix=".study.", dir=RUNS) as made:
        fresh = Path(made) / LATEST.name
        fresh.symlink_to(folder.name)
        os.replace(fresh, LATEST)


def said_of(folder: Path) -> str:
    """How a run can be called besides its own name, for people."""
    if folder.parent != RUNS or folder == LATEST:
        return ""
    if LATEST.is_symlink():
        return f" (also as {LATEST})" if LATEST.resolve() == folder.resolve() else ""
    return f" ({LATEST} is an older run's folder and was left as it is)" if LATEST.is_dir() else ""
