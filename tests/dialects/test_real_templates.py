"""Real templates with ground truth: every record, render and output, counted and printed."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from thinkcap.dialects import Dialect, of_template

FIELDS = [
    "thinking",
    "default",
    "on",
    "off",
    "off_by_message",
    "open_tag",
    "close_tag",
    "open",
    "close",
    "prompt_opens_when_on",
    "off_writes",
    "answer_open",
    "answer_close",
    "end_of_turn",
    "effort",
    "native_budget",
    "interleaved",
    "history_keeps",
    "closes_implicitly",
]
NOT_TOLD = {("rwkv-world", "close"), ("lfm2.5-8b-a1b", "closes_implicitly")}
"""What these templates do not show and no other knowledge of ours has."""


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    found = shared / "data" / "templates"
    if not (found / "families.json").exists():
        pytest.skip("needs the real data; name its folder in THINKCAP_SHARED")
    return found


def records(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "families.json").read_text("utf-8"))["families"]
    return found


def plain(value: Any) -> Any:
    return None if value in ([], (), None) else list(value) if isinstance(value, tuple) else value


@cache
def found_in(template: Path) -> Dialect:
    return of_template(template.read_text("utf-8"))


def test_every_record_is_found(folder: Path) -> None:
    right, wrong = Counter[str](), []
    for record in (r for r in records(folder) if r["template"]):
        found = found_in(folder / "templates" / record["template"])
        fields = FIELDS if record["thinking"] != "none" else FIELDS[:4]
        for field in fields:
            if plain(getattr(found, field)) == plain(record[field]):
                right[field] += 1
            elif (record["id"], field) not in NOT_TOLD:
                wrong.append(f"{record['id']}.{field}: {getattr(found, field)!r}, not {record[field]!r}")
    print(f"right {right.total()}, not told {len(NOT_TOLD)}, wrong {len(wrong)}; by field {dict(right)}")
    assert wrong == []


def test_every_output_is_parted(folder: Path) -> None:
    known = {r["id"]: r for r in records(folder)}
    dialects: dict[tuple[str, str], Dialect] = {}
    names = set(Dialect.__dataclass_fields__) - {"name", "found_by", "sampling"}
    for name, record in known.items():
        dialects[name, "record"] = Dialect(**{k: record[k] for k in names if k in record})
        if record["template"]:
            dialects[name, "template"] = found_in(folder / "templates" / record["template"])
    wrong = []
    lines = (folder / "outputs.jsonl").read_text("utf-8").splitlines()
    for case in map(json.loads, lines):
        for way in ("record", "template"):
            dialect = dialects.get((case["id"], way))
            if dialect is None:
                continue
            mode = "think" if case["mode"] == "on" else "nothink"
            got = dialect.split(case["text"], mode=mode, opened=case["opened"], closed=case["closed"])
            thought, answer = (part if part is None else part.strip() for part in got)
            if (thought, answer or None) != (case["expected"]["thought"], case["expected"]["answer"]):
                wrong.append((case["id"], case["case"], way, got))
    print(f"{len(lines)} outputs, {len(wrong)} wrong")
    assert wrong == []
