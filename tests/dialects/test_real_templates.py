"""Real templates with ground truth: every record, render and output, counted and printed."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from thinkcap.core.types import Mode
from thinkcap.dialects import Dialect, of_model, of_template
from thinkcap.dialects.rendering import Template, user

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


def row(what: str, right: int, wrong: int, not_said: int = 0) -> str:
    """A line of the table that `pytest -s` prints."""
    return f"{what:24} right {right:4}  wrong {wrong:3}  not said {not_said:3}"


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
    print(row("fields of records", right.total(), len(wrong), len(NOT_TOLD)))
    for field in FIELDS:
        print(row(f"- {field}", right[field], sum(f".{field}:" in line for line in wrong)))
    assert wrong == []


MODELS = {
    "glm-4.5": "GLM-4.5",
    "exaone-4": "EXAONE-4.0-32B",
    "ernie-4.5": "ERNIE-4.5-21B-A3B-Thinking",
    "magistral": "Magistral-Small-2509",
    "mistral-small-4": "Mistral-Small-4",
    "phi-4-reasoning": "Phi-4-reasoning",
    "granite-3.2": "granite-3.2-8b-instruct",
    "kimi-vl-thinking": "Kimi-VL-A3B-Thinking",
    "command-a-reasoning": "command-a-reasoning-08-2025",
    "cogito": "cogito-v2-preview-llama-70B",
}
"""Records without a template, with the name of a model that speaks so."""


def test_records_without_a_template_are_known_by_the_models_name(folder: Path) -> None:
    right, wrong, not_said = 0, [], 0
    for record in (r for r in records(folder) if not r["template"]):
        known = of_model(MODELS[record["id"]])
        for field in FIELDS:
            if field in ("off_writes", "interleaved", "history_keeps") and not record[field]:
                # No parser shows what a prompt does.
                not_said += 1
            elif plain(getattr(known, field)) == plain(record[field]):
                right += 1
            else:
                wrong.append(f"{record['id']}.{field}: {getattr(known, field)!r}, not {record[field]!r}")
    print(row("fields by model name", right, len(wrong), not_said))
    assert wrong == []


def test_every_render_is_as_the_dialect_says(folder: Path) -> None:
    """The arguments that were found render what the true ones do, and the texts are as the dialect has it."""
    told = json.loads((folder / "rendered.json").read_text("utf-8"))
    asked, again, thought = user(told["question"]), user(told["second_question"]), told["tool_thought"]
    right, wrong = 0, []
    for name, stored in told["templates"].items():
        path = folder / "templates" / name
        found = found_in(path)
        tokens = {key: stored["inputs"].get(key, "") for key in ("bos_token", "eos_token")}
        template = Template(path.read_text("utf-8"), **tokens)
        shown: list[tuple[str, str | None, bool]] = []
        ends = {"on": found.open_tag if found.prompt_opens_when_on else "", "off": found.off_writes}
        for way, said in stored["single"].items():
            mode: Mode = "nothink" if way == "off" else "think"
            switches = {} if way in ("default", "off_by_message") else found.switches(mode)
            text = template.render(said.get("messages", [asked]), **switches)
            shown.append((f"single {way}", said.get("text"), text == said.get("text")))
            if way in ends and found.thinks:
                shown.append((f"end {way}", text, (text or "").rstrip().endswith((ends[way] or "").rstrip())))
        for way, said in stored["three_turns"].items() if found.thinks else ():
            for mode_name, mode in (("on", "think"), ("off", "nothink")):
                if "text" in said.get(mode_name, {}):
                    text = template.render([asked, said["assistant"], again], **found.switches(mode))
                    shown.append((f"three {way} {mode_name}", text, text == said[mode_name]["text"]))
            if "text" in said.get("on", {}):
                kept = told["thought"] in said["on"]["text"]
                shown.append((f"kept {way}", str(kept), (found.history_keeps or {}).get(way) == kept))
        if found.thinks and "text" in stored["tool_loop"]["on"]:
            shown.append(
                ("interleaved", thought, found.interleaved == (thought in stored["tool_loop"]["on"]["text"]))
            )
        right += sum(good for _, _, good in shown)
        wrong += [f"{name}, {what}: {seen!r}" for what, seen, good in shown if not good]
    print(row("renders", right, len(wrong)))
    assert wrong == []


def test_every_output_is_parted(folder: Path) -> None:
    known = {r["id"]: r for r in records(folder)}
    dialects: dict[tuple[str, str], Dialect] = {}
    names = set(Dialect.__dataclass_fields__) - {"name", "found_by", "sampling"}
    for name, record in known.items():
        dialects[name, "record"] = Dialect(**{k: record[k] for k in names if k in record})
        if record["template"]:
            dialects[name, "template"] = found_in(folder / "templates" / record["template"])
    wrong, unread = [], 0
    lines = (folder / "outputs.jsonl").read_text("utf-8").splitlines()
    for case in map(json.loads, lines):
        for way in ("record", "template"):
            dialect = dialects.get((case["id"], way))
            if dialect is None:
                unread += 1
                continue
            mode = "think" if case["mode"] == "on" else "nothink"
            got = dialect.split(case["text"], mode=mode, opened=case["opened"], closed=case["closed"])
            thought, answer = (part if part is None else part.strip() for part in got)
            if (thought, answer or None) != (case["expected"]["thought"], case["expected"]["answer"]):
                wrong.append((case["id"], case["case"], way, got))
    print(row("outputs", 2 * len(lines) - len(wrong) - unread, len(wrong)))
    assert wrong == []
