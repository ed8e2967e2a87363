"""Modes and names of runs as people write them.

>>> read_mode("nonthinking_cot"), read_mode(True), read_mode("iris")
(WrittenMode(mode='nothink', variant='cot'), WrittenMode(mode='think', variant=''), None)
>>> read_name("Qwen3-8B/no-think_512")
Name(mode='nothink', budget=512, seed=None, rest='Qwen3-8B')
>>> split_label("gate(each=64,otherwise=iris(first=64,answer=32))")
('gate', {'each': 64, 'otherwise': 'iris(first=64,answer=32)'})
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from thinkcap.core.errors import ConfigError
from thinkcap.policies.registry import PolicySpec
from thinkcap.policies.syntax import read, written

_WITHOUT = (
    r"no[_ -]?think(?:ing)?|non[_ -]?think(?:ing)?|without[_ -]think(?:ing)?"
    r"|think(?:ing)?[_ -]?(?:off|disabled|false)"
    r"|enable_thinking[=: ]+(?:false|0|off)|no[_ -]?reasoning|non[_ -]?reasoning|reasoning[_ -]off"
)
_WITH = (
    r"with[_ -]think(?:ing)?|think(?:ing)?[_ -](?:on|enabled|true|yes)|enable_thinking[=: ]+(?:true|1|on)"
    r"|reasoning[_ -]on|think(?:ing)?|reasoning"
)
_ALONE = {
    "off": "nothink", "direct": "nothink", "disabled": "nothink", "none": "nothink", "false": "nothink",
    "no": "nothink", "instruct": "nothink", "on": "think", "enabled": "think", "true": "think", "yes": "think",
    "minimal": "think", "low": "think", "medium": "think", "high": "think", "xhigh": "think", "max": "think",
}  # fmt: skip
"""Words that say a mode only where a mode is asked for. Degrees of effort are thinking."""

_EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")
_MODE = re.compile(rf"(?P<off>{_WITHOUT})|(?P<on>{_WITH})", re.IGNORECASE)
_INSIDE = re.compile(rf"(?<![A-Za-z])(?:(?P<off>{_WITHOUT})|(?P<on>{_WITH}))(?![A-Za-z\[])", re.IGNORECASE)
_BUDGET = re.compile(
    r"(?<![A-Za-z0-9.])(?:b|budget|cap|max|max_?tokens|max_?new_?tokens|tokens|tok)?[_=: -]?(\d{2,7})"
    r"(?:_?(?:tok|tokens|t))?(?![A-Za-z0-9.])",
    re.IGNORECASE | re.ASCII,
)
_THOUSANDS = re.compile(r"(?<![A-Za-z0-9.])(\d{1,3})k(?![A-Za-z0-9])", re.IGNORECASE | re.ASCII)
_SEED = re.compile(
    r"(?<![A-Za-z])(?:seed|sample|run|epoch|trial)[_=: -]?(\d{1,6})(?![0-9])", re.IGNORECASE | re.ASCII
)


class WrittenMode(NamedTuple):
    mode: str
    variant: str
    """What was written beside the mode: `cot`, `direct`, `high`."""


class Name(NamedTuple):
    mode: str
    budget: int | None
    seed: int | None
    rest: str


def read_mode(value: Any) -> WrittenMode | None:
    """The mode a value of a mode column says, or None where it names something else."""
    if isinstance(value, bool):
        return WrittenMode("think" if value else "nothink", "")
    text = value.strip()[:200] if isinstance(value, str) else ""
    alone = _ALONE.get(text.lower())
    if alone:
        return WrittenMode(alone, text.lower() if text.lower() in _EFFORTS else "")
    found = _MODE.match(text)
    if not found or text[found.end() : found.end() + 1].isalpha() or text[found.end() : found.end() + 1] == "[":
        return None
    variant = text[found.end() :].strip(" _-:/.()")
    return WrittenMode("nothink" if found["off"] else "think", variant)


def read_name(text: str) -> Name:
    """Mode, budget and seed from the name of a run, and what is left of it."""
    text = text[:400]
    mode, budget, seed = "", None, None
    if found := _INSIDE.search(text):
        mode = "nothink" if found["off"] else "think"
        text = f"{text[: found.start()]}/{text[found.end() :]}"
    if found := _SEED.search(text):
        seed = int(found[1])
        text = f"{text[: found.start()]}/{text[found.end() :]}"
    if found := _THOUSANDS.search(text) or _BUDGET.search(text):
        budget = int(found[1]) * (1024 if found.re is _THOUSANDS else 1)
        text = f"{text[: found.start()]}/{text[found.end() :]}"
    rest = re.sub(r"[/_ ]{0,64}/[/_ -]*", "/", text).strip("/_ -:=@")
    return Name(mode, budget or None, seed, rest)


def split_label(label: str) -> tuple[str, dict[str, Any]]:
    """A policy's base name and options, known here or not; a text not built like a label is a name."""
    try:
        spec: PolicySpec = read(label, PolicySpec)
    except ConfigError:
        return label, {}
    return spec.name, {k: v if type(v) is int else written(v) for k, v in spec.options.items()}
