"""Replace what changes from run to run: times, ids, hashes, versions, ports, paths and floating noise.

Normaliser({"/tmp/x": "WORK"}).text("/tmp/x/a.json of 2026-01-01T10:00:00Z")  # WORK/a.json of DATE
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

WIDTH = 115
_EPOCH = range(1_500_000_000, 2_500_000_000)
_PATTERNS = (
    (re.compile(r"\b(wall_s|first_s)=\d[\d.e-]*"), r"\1=SECONDS"),
    (re.compile(r"(127\.0\.0\.1:)(?!9\b)\d+"), r"\1PORT"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?)?"), "DATE"),
    (re.compile(r"(?<![\w.-])\d+\.\d+\.\d+(?:\.?[a-z]+\d+)?(?![\w.])"), "VERSION"),
    (re.compile(r"\b(?:[0-9a-f]{16,}|(?=[a-f]*\d)[0-9a-f]{12})\b"), "HASH"),
    (re.compile(r"^[\w ]+, \d+ cores?$"), "HARDWARE"),
    (re.compile(r"(?<=[a-z]-)(?=[a-f]*\d)[0-9a-f]{8}\b"), "HASH"),
    (re.compile(r"\b\d[\d.,]* tokens/s.*"), "RATE"),
    (re.compile(r"\b(took|waited)( +)[\d.,]+ s\b"), r"\1\2SECONDS"),
    (re.compile(r"\b[\d.,]+ ms\b"), "MILLISECONDS"),
)
_ID = re.compile(r"\b([a-z]+[_-])([0-9a-f]{16,})\b")
_LONG_FLOAT = re.compile(r"(?<![\w.])\d+\.\d{7,}(?:e-?\d+)?(?![\w.])")
_PROGRESS = re.compile(r"(?m)^\d[\d,]* of \d[\d,]* \w+, .*\n(?=\d[\d,]* of )")


class Normaliser:
    """One per document: equal ids get equal numbers, so references between events stay visible."""

    def __init__(self, folders: Mapping[str, str], seconds: frozenset[str] = frozenset()) -> None:
        """`folders` maps absolute paths to placeholders; values under a key in `seconds` are durations."""
        self._folders = sorted(folders.items(), key=lambda item: -len(item[0]))
        self._seconds = seconds
        self._ids: dict[str, str] = {}

    def text(self, text: str) -> str:
        for folder, placeholder in self._folders:
            text = text.replace(folder, placeholder)
        text = _PROGRESS.sub("", text)
        text = _ID.sub(self._number, text)
        for pattern, placeholder in _PATTERNS:
            text = pattern.sub(placeholder, text)
        return _LONG_FLOAT.sub(lambda found: f"{float(found[0]):.6g}", text)

    def value(self, value: Any) -> Any:
        match value:
            case str():
                return self.text(value)
            case bool() | None:
                return value
            case int():
                return "EPOCH" if value in _EPOCH else value
            case float():
                return "EPOCH" if int(value) in _EPOCH else float(f"{value:.6g}")
            case list():
                return [self.value(item) for item in value]
            case dict():
                return {
                    self.text(key): "SECONDS" if key in self._seconds and item is not None else self.value(item)
                    for key, item in value.items()
                }
        raise TypeError(f"cannot normalise {value!r}")

    def _number(self, found: re.Match[str]) -> str:
        return self._ids.setdefault(found[0], f"{found[1]}ID{len(self._ids) + 1}")


def dump(value: Any, indent: int = 0) -> str:
    """JSON in which every list or object that fits stands on one line; keys keep their order."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + indent <= WIDTH or not value or not isinstance(value, list | dict):
        return flat
    pad = " " * (indent + 1)
    if isinstance(value, list):
        inner = [pad + dump(item, indent + 1) for item in value]
        return "[\n" + ",\n".join(inner) + "\n" + " " * indent + "]"
    inner = [
        f"{pad}{json.dumps(key, ensure_ascii=False)}: {dump(item, indent + 1)}" for key, item in value.items()
    ]
    return "{\n" + ",\n".join(inner) + "\n" + " " * indent + "}"
