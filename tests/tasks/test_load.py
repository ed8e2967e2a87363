"""Tasks by name: order, pilots, hold-outs, checks, and errors that help."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.tasks import Item, Source, check, load
from thinkcap.tasks.task import asked

TOYS = Source("toys", tuple(Item(asked(f"t{i}", f"{i} + 1?", "number"), str(i + 1)) for i in range(20)), "0" * 64)


def toys() -> Source:
    return TOYS


def test_a_pilot_is_a_prefix_and_an_offset_holds_out() -> None:
    whole = TOYS.task(seed=42)
    pilot = TOYS.task(seed=42, limit=6)
    rest = TOYS.task(seed=42, offset=6)
    assert whole.questions == pilot.questions + rest.questions
    order = list(range(20))
    random.Random(42).shuffle(order)
    assert [q.id for q in whole.questions] == [f"t{i}" for i in order]
    assert [q.id for q in TOYS.task().questions] == [f"t{i}" for i in range(20)]
    assert pilot.hash == whole.hash
    assert set(pilot.golds) == {q.id for q in pilot.questions}
    assert pilot.gold_hash(pilot.questions[0].id) != pilot.gold_hash(pilot.questions[1].id)


def test_impossible_parts_are_refused() -> None:
    with pytest.raises(ConfigError, match="leaves nothing"):
        TOYS.task(offset=20)
    with pytest.raises(ConfigError, match="negative"):
        TOYS.task(limit=-1)


def test_a_module_of_ones_own() -> None:
    assert len(load("test_load:toys", limit=3, seed=1).questions) == 3
    assert len(load("test_load:TOYS").questions) == 20
    with pytest.raises(ConfigError, match="wanted a Task"):
        load("test_load:json")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gsm8", "did you mean 'gsm8k'"),
        ("bbh", "bbh:causal_judgement"),
        ("bbh:date_understandin", "did you mean 'date_understanding'"),
        ("family:arithmetics", "did you mean 'arithmetic'"),
        ("gsm8k:hard", "no part 'hard'"),
    ],
)
def test_unknown_names(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        load(name, data=tmp_path)


def test_families_are_fresh_and_their_pilot_is_a_prefix() -> None:
    small, large = load("families", limit=10, seed=5), load("families", limit=25, seed=5)
    assert small.questions == large.questions[:10]
    assert small.hash == large.hash != load("families", limit=10, seed=6).hash
    check(large)
    held = load("family:arithmetic", limit=5, offset=20, seed=5)
    assert not {q.id for q in held.questions} & {
        q.id for q in load("family:arithmetic", limit=20, seed=5).questions
    }
    assert all(q.group == "arithmetic" for q in held.questions)


def test_benchmarks_from_a_folder(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = shared / "data"
    gsm8k = load("gsm8k", data=data, limit=3)
    assert gsm8k.questions[0].messages[0]["content"].endswith("#### number")
    assert load("gsm8k", data=data / "gsm8k", limit=3).questions == gsm8k.questions
    assert load("gsm8k", data=data / "gsm8k" / "test.jsonl", limit=3).questions == gsm8k.questions
    monkeypatch.setenv("THINKCAP_DATA", str(data))
    math500 = load("math500", seed=42)
    levels = [facts["level"] for facts in math500.facts.values()]
    assert [levels.count(str(n)) for n in range(1, 6)] == [43, 90, 105, 128, 134]
    assert {"Algebra", "Precalculus"} <= {facts["subject"] for facts in math500.facts.values()}
    assert load("bbh:boolean_expressions").questions[0].answer_form == "truth"


def test_a_changed_benchmark_is_refused_with_both_hashes(shared: Path, tmp_path: Path) -> None:
    lines = (shared / "data" / "gsm8k" / "test.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "test.jsonl").write_text("\n".join(lines[:-1]), encoding="utf-8")
    with pytest.raises(
        DataError, match=r"1318 questions with hash [0-9a-f]{64}, wanted 1319 with hash [0-9a-f]{64}"
    ):
        load("gsm8k", data=tmp_path)
    with pytest.raises(DataError, match="looked for"):
        load("math500", data=tmp_path / "none")
    (tmp_path / "test.jsonl").write_text(json.dumps({"question": "?"}), encoding="utf-8")
    with pytest.raises(DataError, match="'answer'"):
        load("gsm8k", data=tmp_path)


def test_without_folder_and_hub_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THINKCAP_DATA", raising=False)
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with pytest.raises(ConfigError, match=r"--data or THINKCAP_DATA, or `pip install 'thinkcap\[hub\]'`"):
        load("gsm8k")


def test_the_hub_is_asked_for_the_pinned_revision(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    asked_for = {}

    def download(repo: str, file: str, **options: str) -> str:
        asked_for.update(repo=repo, file=file, **options)
        return str(shared / "data" / "math500" / "test.jsonl")

    monkeypatch.delenv("THINKCAP_DATA", raising=False)
    monkeypatch.setattr(hub, "hf_hub_download", download)
    assert len(load("math500").questions) == 500
    assert asked_for["repo"] == "HuggingFaceH4/MATH-500"
    assert len(asked_for["revision"]) == 40
