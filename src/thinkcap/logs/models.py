"""Names of one model are one model, however a log spells it.

>>> [canonical(name) for name in ("Qwen/Qwen3-8B", "Qwen3_8B", "/models/Qwen3-8B/", "models--Qwen--Qwen3-8B")]
['Qwen3-8B', 'Qwen3-8B', 'Qwen3-8B', 'Qwen3-8B']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_JOINTS = re.compile(r"[\s_:-]+")


def canonical(name: str) -> str:
    """Without organisation, folder and provider; words joined by hyphens."""
    last = name.strip().rstrip("/").rpartition("/")[2]
    if last.startswith("models--"):
        last = last.rpartition("--")[2]
    return _JOINTS.sub("-", last).strip("-")


def same_model(name: str) -> str:
    """What two spellings of one model have in common: `Qwen3.5-27B` and `qwen3_5_27b` are one."""
    return canonical(name).replace(".", "-").casefold()


def spellings(names: Iterable[str]) -> Mapping[str, str]:
    """One spelling for every group of names of the same model, whatever the order they came in."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(same_model(name), []).append(name)
    best = {key: max(group, key=lambda n: (n.count("."), n != n.lower(), n)) for key, group in groups.items()}
    return {name: best[same_model(name)] for group in groups.values() for name in group}
