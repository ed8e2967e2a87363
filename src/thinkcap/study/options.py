"""Command-line words to a study: the same checks as for a file, with presets filled in first."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest
from thinkcap.study.cascades import CASCADES
from thinkcap.study.config import StudyConfig

METHOD_CAPS = "128,256,512,1024"

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "methods": {"policies": "all", "budgets": METHOD_CAPS},
    "cascades": CASCADES,
    # Stage budgets of the paper's tables; a cascade's own budget is the sum of its stages.
    "gsm8k": {
        "tasks": "gsm8k",
        "policy": [
            {"name": "nothink", "budgets": [128, 256, 512, 1024, 2048]},
            {"name": "think[heuristic]", "budgets": [128, 256, 512, 1024, 2048]},
            {"name": "town", "first": 256, "second": 512, "budgets": [768]},
            {"name": "iris", "first": 256, "think": 512, "answer": 128, "budgets": [896]},
            {"name": "mrsd", "first": 256, "think": 512, "answer": 128, "rounds": 3, "budgets": [2176]},
        ],
    },
    "math500": {
        "tasks": "math500",
        "policy": [
            {"name": "nothink", "budgets": [512, 1024, 2048, 4096]},
            {"name": "think[heuristic]", "budgets": [512, 1024, 2048, 4096]},
            {"name": "town", "first": 512, "second": 4096, "budgets": [4608]},
            {"name": "town_plus", "first": 512, "second": 4096, "budgets": [4608]},
            {"name": "iris", "first": 512, "think": 2048, "answer": 256, "budgets": [2816]},
            {"name": "iris", "first": 512, "think": 4096, "answer": 256, "budgets": [4864]},
            {"name": "iris_plus", "first": 512, "think": 4096, "answer": 512, "retry": 512, "budgets": [5632]},
            {"name": "vote", "samples": 5, "each": 1024, "budgets": [5120]},
        ],
    },
    "math500-pilot": {
        "tasks": "math500",
        "limit": 200,
        "policy": [
            {"name": "town", "first": 512, "second": 1024, "budgets": [1536]},
            {"name": "iris", "first": 512, "think": 1024, "answer": 256, "budgets": [1792]},
            {"name": "mrsd", "first": 512, "think": 1024, "answer": 256, "rounds": 3, "budgets": [4352]},
        ],
    },
    "bbh": {
        "tasks": "bbh:boolean_expressions,bbh:causal_judgement,bbh:date_understanding,"
        "bbh:logical_deduction_five_objects,bbh:tracking_shuffled_objects_three_objects",
        "policies": "nothink,think,think[heuristic]",
        "budgets": [256, 512, 1024, 2048],
    },
}


def from_options(base: StudyConfig, options: Mapping[str, Any]) -> StudyConfig:
    """A study with the options applied over a file or the defaults, and a preset under both."""
    words = dict(options)
    values: dict[str, Any] = {}
    preset = words.pop("preset", None)
    if preset is not None:
        if preset not in PRESETS:
            raise ConfigError(f"unknown preset '{preset}'{nearest(preset, PRESETS)}")
        values.update(PRESETS[preset])
    seed = words.pop("seed", None)
    if seed is not None:
        if "seeds" in words:
            raise ConfigError("--seed and --seeds were both given; use one of them")
        words["seeds"] = (seed,)
    if "prompts" in words:
        words["prompts"] = _toml(words["prompts"])
    if "price" in words:
        words["price"] = _price(words["price"])
    if "policies" in words:
        values.pop("policy", None)
        if words["policies"].strip() == "all" and "budgets" not in words and "budgets" not in values:
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


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"no prompts file at '{path}'; wanted a TOML file of prompt texts") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as err:
        raise ConfigError(f"cannot read prompts from '{path}': {err}") from err


def _price(text: str) -> dict[str, float]:
    parts = text.split(",")
    try:
        given, cached, output = (float(part) for part in parts)
    except ValueError:
        raise ConfigError(f"cannot read price '{text}'; wanted INPUT,CACHED,OUTPUT such as 0.4,0.1,1.2") from None
    return {"input": given, "cached": cached, "output": output}
