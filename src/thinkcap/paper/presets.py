"""Studies of the paper by name: its stage budgets, pipelines, seeds and hold-outs.

    thinkcap study --preset math500 --model http://host/v1#Qwen3-8B

A cascade's cap is the sum of its stages. A forced answer's tokens stand beside the chain's budget: think@512 with
a projection of 32 tokens has a cap of 544.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PROJECT = 32
"""Tokens of a forced answer."""
SEED = 42

PresetPolicy = dict[str, Any]
_TASKS = (
    "boolean_expressions",
    "causal_judgement",
    "date_understanding",
    "logical_deduction_five_objects",
    "tracking_shuffled_objects_three_objects",
)


def _nothink(*budgets: int) -> PresetPolicy:
    return {"name": "nothink", "budgets": list(budgets)}


def _projected(*budgets: int) -> list[PresetPolicy]:
    """Each chain has the whole of its budget; what is forced comes on top."""
    return [
        {"name": "think[projection]", "budget": b, "project": PROJECT, "budgets": [b + PROJECT]} for b in budgets
    ]


def _think(*budgets: int) -> list[PresetPolicy]:
    """The same chains read in the paper's three ways."""
    ways = [{"name": name, "budgets": list(budgets)} for name in ("think", "think[heuristic]")]
    return [*ways, *_projected(*budgets)]


def _town(first: int, second: int, name: str = "town") -> PresetPolicy:
    return {"name": name, "first": first, "second": second, "budgets": [first + second]}


def _iris(first: int, think: int, answer: int) -> PresetPolicy:
    return {"name": "iris", **_stages(first, think, answer), "budgets": [first + think + answer]}


def _mrsd(first: int, think: int, answer: int) -> PresetPolicy:
    cap = first + 3 * (think + answer)
    return {"name": "mrsd", **_stages(first, think, answer), "rounds": 3, "budgets": [cap]}


def _stages(first: int, think: int, answer: int) -> dict[str, int]:
    return {"first": first, "think": think, "answer": answer}


def _vote(samples: int, each: int) -> PresetPolicy:
    return {"name": "vote", "samples": samples, "each": each, "budgets": [samples * each]}


_IRIS_PLUS: PresetPolicy = {"name": "iris_plus", **_stages(512, 4096, 512), "retry": 512}
_IRIS_PLUS_CAP = 512 + 4096 + 512 + 512
_SAMPLES, _EACH = 5, 1024
_GATED: PresetPolicy = {"samples": _SAMPLES, "each": _EACH, "budgets": [_SAMPLES * _EACH + _IRIS_PLUS_CAP]}


def _study(tasks: str, policy: Sequence[PresetPolicy], **more: Any) -> dict[str, Any]:
    return {"tasks": tasks, "seeds": [SEED], "policy": list(policy), **more}


PRESETS: Mapping[str, Mapping[str, Any]] = {
    "gsm8k": _study(
        "gsm8k",
        [
            _nothink(32, 64, 128, 256, 512, 1024, 2048),
            *_think(128, 256, 512, 1024, 2048),
            _town(256, 512),
            _iris(256, 512, 128),
            _mrsd(256, 512, 128),
            {"name": "generous", "budgets": [512]},
            {"name": "two_pass", "think": 256, "answer": 256, "budgets": [512]},
        ],
    ),
    "math500": _study(
        "math500",
        [
            _nothink(128, 256, 512, 1024, 2048, 4096),
            *_think(256, 512, 1024, 2048, 4096),
            _town(512, 2048),
            _town(512, 4096),
            _town(512, 4096, "town_plus"),
            _iris(512, 2048, 256),
            _iris(512, 4096, 256),
            {**_IRIS_PLUS, "budgets": [_IRIS_PLUS_CAP]},
            _vote(3, 512),
            _vote(5, 512),
            _vote(_SAMPLES, _EACH),
            {"name": "gate", **_GATED, "otherwise": _IRIS_PLUS},
            {"name": "weighted_vote", **_GATED, "other": _IRIS_PLUS},
        ],
    ),
    "math500-pilot": _study(
        "math500",
        [
            _nothink(512),
            {"name": "think[heuristic]", "budgets": [1024]},
            _town(512, 1024),
            _iris(512, 1024, 256),
            _mrsd(512, 1024, 256),
        ],
        limit=200,
    ),
    "gsm8k-sampled": _study(
        "gsm8k",
        [_nothink(256), {"name": "think[heuristic]", "budgets": [256]}],
        limit=200,
        temperature=0.7,
    ),
    "27b-gsm8k": _study("gsm8k", [_nothink(128, 256, 512), *_projected(128, 256, 512)]),
    "27b-seeds": _study("math500", [_town(512, 4096), _iris(512, 4096, 512)], limit=200, seeds=[SEED, 123, 456]),
    "deepseek-gsm8k": _study("gsm8k", _projected(256, 512, 1024)),
    "deepseek-math500": _study("math500", _projected(1024, 2048, 4096)),
    **{
        # One hold-out a budget, each of its own questions.
        f"32b-holdout-{b}": _study(
            "gsm8k",
            [_nothink(b), {"name": "think[heuristic]", "budgets": [b]}],
            offset=offset,
            limit=limit,
            seeds=[43042],
        )
        for b, offset, limit in ((512, 50, 120), (1024, 200, 60), (2048, 300, 40))
    },
    "bbh": _study(
        ",".join(f"bbh:{name}" for name in _TASKS),
        [_nothink(256, 512, 1024, 2048), *_think(256, 512, 1024, 2048)],
    ),
}
