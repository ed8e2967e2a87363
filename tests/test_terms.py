"""Every policy, prompt, column and key has its line in the docs, and a reader finds what a term means.

Who adds a key gives it a line in docs/terms.md.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from thinkcap.core.engine import EngineCard
from thinkcap.core.prompts import Prompts
from thinkcap.diagnose.diagnosis import Diagnosis
from thinkcap.policies.registry import POLICIES
from thinkcap.statistics.choice import Recommendation
from thinkcap.statistics.survival import Survival, survival
from thinkcap.study.rows import Row, StageRow

DOCS = Path(__file__).parents[1] / "docs"


def named(*pages: str) -> set[str]:
    """Words in backticks."""
    text = "\n".join((DOCS / page).read_text(encoding="utf-8") for page in pages)
    return {word for quoted in re.findall(r"`([^`\n]+)`", text) for word in re.findall(r"\w+", quoted)}


TERMS = named("terms.md")


def fields_below(kind: Any, seen: set[Any]) -> Iterator[str]:
    """Keys of a dataclass as JSON, and of all that it holds; a length curve and advice have their own keys."""
    for part in get_args(kind):
        yield from fields_below(part, seen)
    if (
        not (isinstance(kind, type) and dataclasses.is_dataclass(kind))
        or kind in seen
        or kind in (Survival, Recommendation)
    ):
        return
    seen.add(kind)
    hints = get_type_hints(kind)
    for field in dataclasses.fields(kind):
        yield field.name
        yield from fields_below(hints[field.name], seen)
    for name, found in vars(kind).items():
        if isinstance(found, property):
            yield name
            yield from fields_below(get_type_hints(found.fget).get("return"), seen)


def test_every_policy_has_its_paragraph() -> None:
    page = (DOCS / "methods.md").read_text(encoding="utf-8")
    assert [name for name in POLICIES if f"\n## {name}\n" not in page] == []


def test_every_column_of_the_rows() -> None:
    assert {*Row.__struct_fields__, *StageRow.__annotations__} - TERMS == set()


def test_every_prompt() -> None:
    page = (DOCS / "terms.md").read_text(encoding="utf-8")
    keys = {
        found
        for cell in re.findall(r"^\| (`[^|]+) \|", page, re.MULTILINE)
        for found in re.findall(r"`(\w+)`", cell)
    }
    assert {field.name for field in dataclasses.fields(Prompts)} - keys == set()


def test_every_key_of_a_diagnosis() -> None:
    from thinkcap.diagnose.document import plain

    keys = set(fields_below(Diagnosis, set())) | plain(survival([3, 5, 8], [True, True, False])).keys()
    assert len(keys) > 250
    keys.remove("recommendation")  # the advice stands for it
    keys.remove("comparison")  # of both modes at a budget: it stands among `comparisons` instead
    assert keys - TERMS - named("diagnosis.md") == set()


def test_every_key_of_a_card() -> None:
    assert {field.name for field in dataclasses.fields(EngineCard)} - TERMS == set()


def test_every_key_of_a_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from thinkcap.api import run_study
    from thinkcap.core.sync import wait
    from thinkcap.engines.scripted import ScriptedEngine
    from thinkcap.study.config import StudyConfig

    (tmp_path / "q.csv").write_text("question,answer\n1+1?,2\n2+2?,4\n")
    config = StudyConfig.from_mapping(
        {
            "tasks": [str(tmp_path / "q.csv")],
            "policies": "nothink,think",
            "budgets": "16",
            "seeds": [1, 2],
            "price": {"output": 1},
            "out": tmp_path / "run",
        }
    )
    done = wait(run_study(config, engine=ScriptedEngine(lambda _: "#### 2")))
    summary = json.loads((done.folder / "summary.json").read_text())
    summary["provenance"]["versions"] = summary["provenance"]["tasks"]["q"] = {}
    tasks = summary["provenance"].pop("tasks")
    for cell in summary["cells"]:
        cell["stages"], cell["seeds"]["by_seed"] = {}, list(cell["seeds"]["by_seed"].values())
    assert list(tasks) == ["q"]
    assert set(keys_below(summary)) - TERMS - named("diagnosis.md") == set()


def keys_below(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys_below(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_below(inner)


def test_every_key_of_the_gateways_field() -> None:
    """As the gateway's source writes them: texts before a colon or in brackets where the field is made."""
    source = Path(__file__).parents[1] / "src" / "thinkcap" / "gateway"
    text = (source / "replies.py").read_text()
    made = text[text.index("def report") : text.index("class Wire")] + text[text.index("def decided") :]
    made = made[: made.index("def usage")]
    keys = set(re.findall(r'"(\w+)":', made)) | set(re.findall(r'found\["(\w+)"\]', made))
    keys |= set(re.findall(r'about\["(\w+)"\] = ', (source / "answering" / "relay.py").read_text()))
    assert len(keys) > 15
    assert keys - TERMS == set()


def test_a_fresh_reader_finds_at_least_twenty_terms() -> None:
    page = (DOCS / "terms.md").read_text(encoding="utf-8")
    words = page[page.index("## Words") : page.index("## Columns")]
    terms = [line for line in words.splitlines() if line.startswith("| **")]
    assert len(terms) >= 20
    for line in terms:
        assert len(line.split("|")[2].split()) >= 5, line
