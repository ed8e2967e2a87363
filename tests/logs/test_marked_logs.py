"""Logs of models that mark their thoughts otherwise: found from what the log says, else from its texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thinkcap import logs
from thinkcap.core.errors import ConfigError
from thinkcap.dialects import KNOWN, recognised
from thinkcap.logs.thoughts import thoughts
from thinkcap.outputs import equal, extract

DIALECTS = {
    "brackets": ("[THINK]", "[/THINK]", ""),
    "colon": ("<think:mine>", "</think:mine>", ""),
    "channel": ("<|channel>thought", "<channel|>", ""),
    "harmony": ("<|channel|>analysis<|message|>", "<|end|>", "<|start|>assistant<|channel|>final<|message|>"),
    "sentences": ("Here is my thought process:", "Here is my response:", ""),
    "plain": ("<think>", "</think>", ""),
}


def told(name: str, right: bool = True) -> str:
    opened, closed, header = DIALECTS[name]
    return f"{opened}\n6 x 7 or #### 41\n{closed}{header}\n#### {42 if right else 13}"


def rows_of(path: Path, name: str) -> Path:
    cut = DIALECTS[name][0] + "\n6 x"
    texts = [told(name), told(name, right=False), told(name), cut]
    lines = [{"id": i, "output": text, "gold": "42", "budget": 100} for i, text in enumerate(texts)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("name", DIALECTS)
def test_rows_are_graded_by_their_answers(name: str, tmp_path: Path) -> None:
    (arm,) = logs.read([rows_of(tmp_path / "log.jsonl", name)]).arms
    assert arm.verdict.tolist() == [1, 0, 1, 0]
    assert arm.extra["unclosed"].tolist() == [False, False, False, True]
    assert arm.policy == "think"


def harness(folder: Path, name: str, template: str | None = None) -> Path:
    stamp = "2026-11-16T00-00-00.000000"
    (folder / f"results_{stamp}.json").write_text(
        json.dumps({"model_name": "mine", "chat_template": template, "results": {}})
    )
    path = folder / f"samples_sums_{stamp}.jsonl"
    with path.open("w") as file:
        for i, right in enumerate((True, False, True)):
            row = {"doc_id": i, "resps": [[told(name, right)]], "filtered_resps": ["42" if right else "13"]}
            row |= {"target": "42", "exact_match": float(right), "metrics": ["exact_match"], "filter": "none"}
            file.write(json.dumps(row) + "\n")
    return path


@pytest.mark.parametrize("name", DIALECTS)
def test_a_harness_log_of_any_dialect(name: str, tmp_path: Path) -> None:
    found = logs.read([harness(tmp_path, name)])
    (arm,) = found.arms
    assert arm.policy == "think", found.notes
    assert arm.verdict.tolist() == [1, 0, 1]
    assert not arm.extra["unclosed"].any()


def test_the_template_beside_a_harness_log_says_it(tmp_path: Path) -> None:
    template = (
        "{% for m in messages %}{{ '<|' + m.role + '|>' }}{% if m.reasoning_content %}"
        "<|thought|>{{ m.reasoning_content }}<|/thought|>{% endif %}{{ m.content }}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    DIALECTS["mine"] = ("<|thought|>", "<|/thought|>", "")
    try:
        (arm,) = logs.read([harness(tmp_path, "mine", template)]).arms
    finally:
        del DIALECTS["mine"]
    assert arm.policy == "think"
    assert dict(arm.provenance) == {"dialect": "<|thought|> ... <|/thought|>", "dialect_by": "template"}


def test_texts_of_a_level_are_read_by_its_own_marks() -> None:
    found = thoughts("k2-horizon", texts=["<ifm|think_fast>6 x 7</ifm|think_fast>42"])
    assert found.marks.close_tag == "</ifm|think_fast>"
    assert thoughts("k2-horizon").marks.close_tag == "</ifm|think>"


def test_a_dialect_that_is_named_overrides(tmp_path: Path) -> None:
    path = rows_of(tmp_path / "log.jsonl", "brackets")
    (arm,) = logs.read([path], dialect="qwen3").arms
    assert arm.policy == "answer"
    (arm,) = logs.read([path], dialect="magistral").arms
    assert arm.policy == "think"
    with pytest.raises(ConfigError, match="unknown dialect 'magistrl'"):
        logs.read([path], dialect="magistrl")


def test_a_models_name_counts_where_its_texts_agree() -> None:
    texts = [told("brackets")]
    assert thoughts(model="Qwen/Qwen3-8B", texts=texts).marks.close_tag == "[/THINK]"
    assert thoughts(model="Qwen/Qwen3-8B", texts=["5"]).marks.close_tag == "</think>"
    assert thoughts(model="mistralai/Magistral-Small", texts=["5"]).marks.close_tag == "[/THINK]"


@pytest.mark.parametrize("name", [n for n, d in KNOWN.items() if d.thinks])
def test_every_known_dialect_is_told_by_its_texts(name: str) -> None:
    known = KNOWN[name]
    text = f"{known.open}2+3{known.close}{known.answer_open or ''}5{known.answer_close or ''}"
    found = recognised([text, "5"])
    assert found is not None
    assert (found.open_tag, found.close_tag) == (known.open_tag, known.close_tag)
    thought, answer, closed = thoughts(texts=[text]).divide(text)
    assert (thought, answer.strip(), closed) == ("2+3", "5", True)


def test_no_marks_are_invented() -> None:
    assert recognised(["It is 5.", "Use <b>bold</b> and [OK] here.", "<answer>5</answer>", "<|end|>"]) is None


@pytest.mark.parametrize("name", DIALECTS)
def test_whole_outputs_are_read_in_any_dialect(name: str) -> None:
    assert extract(told(name), "number").answer == "42"
    assert equal("42", told(name), "number")
    assert not equal("41", told(name), "number")
    assert not equal("42", DIALECTS[name][0] + " 42", "number")
