"""Command-line words to a study: the same checks as for a file, with presets filled in first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import guest, nearest, pairs
from thinkcap.settings import table_of
from thinkcap.study.cascades import CASCADES
from thinkcap.study.config import StudyConfig
from thinkcap.study.rivals import RIVALS

METHOD_CAPS = "128,256,512,1024"

Preset = Mapping[str, Any]

_GUEST = "thinkcap.paper.presets"
"""Presets of the paper, by name: not missed where its room is not installed."""

PRESETS: Mapping[str, Preset] = {
    "methods": {"policies": "all", "budgets": METHOD_CAPS},
    "cascades": CASCADES,
    "rivals": RIVALS,
}


def from_options(base: StudyConfig, options: Mapping[str, Any]) -> StudyConfig:
    """A study with the options applied over a file or the defaults, and a preset under both."""
    words = dict(options)
    values: dict[str, Any] = {}
    preset = words.pop("preset", None)
    if preset is not None:
        values.update(_preset(preset))
    seed = words.pop("seed", None)
    if seed is not None:
        if "seeds" in words:
            raise ConfigError("--seed and --seeds were both given; use one of them")
        words["seeds"] = (seed,)
    if isinstance(words.get("prompts"), str | Path):
        words["prompts"] = table_of(Path(words["prompts"]), "the prompts", "wanted a TOML file of prompt texts")
    if isinstance(words.get("price"), str):
        words["price"] = parse_price(words["price"])
    if isinstance(words.get("map"), str):
        words["map"] = parse_map(words["map"])
    if "policies" in words:
        values.pop("policy", None)
        if _is_all(words["policies"]) and "budgets" not in words and "budgets" not in values:
            if words.get("model", base.model) == "bundled":
                # At plain caps its first try settles nearly every question, and all cascades are the same.
                del words["policies"]
                values["policy"] = CASCADES["policy"]
            else:
                values["budgets"] = METHOD_CAPS
    values.update(words)
    changed = StudyConfig.from_mapping(values)
    named = {"policies" if key == "policy" else key for key in values}
    return replace(base, **{key: getattr(changed, key) for key in named})


def _is_all(policies: Any) -> bool:
    """As a word, or as the one word of a list."""
    return policies == ["all"] or (isinstance(policies, str) and policies.strip() == "all")


def known_presets() -> Mapping[str, Preset]:
    """Ours, and those of a room above this one where it is installed."""
    above = guest(_GUEST)
    return {**(above.PRESETS if above else {}), **PRESETS}


def _preset(name: str) -> Preset:
    known = known_presets()
    if name not in known:
        missing = "" if guest(_GUEST) else " (the paper's are not installed here)"
        raise ConfigError(f"unknown preset '{name}'{nearest(name, known)}{missing}")
    return known[name]


def parse_price(text: str) -> dict[str, float]:
    """`INPUT,CACHED,OUTPUT`, money per million tokens."""
    parts = text.split(",")
    try:
        given, cached, output = (float(part) for part in parts)
    except ValueError:
        raise ConfigError(f"cannot read price '{text}'; wanted INPUT,CACHED,OUTPUT such as 0.4,0.1,1.2") from None
    return {"input": given, "cached": cached, "output": output}


def parse_map(text: str) -> dict[str, str]:
    return pairs(text, "--map", "ROLE=COLUMN,... such as question=prompt,gold=answer")
