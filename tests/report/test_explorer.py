"""The page as a file: whole, small, and harmless whatever a model wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from chains import HOSTILE, study

from thinkcap.core.errors import ConfigError
from thinkcap.diagnose.diagnosis import diagnose
from thinkcap.logs.door import read
from thinkcap.report.explorer import page as page_module
from thinkcap.report.explorer.page import write_page
from thinkcap.report.explorer.shell import safe_json
from thinkcap.statistics.paired import mcnemar_counts
from thinkcap.verdict.say import say


def inside(page: Path, name: str) -> Any:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found
    return json.loads(found[1])


@pytest.fixture(scope="module")
def page(run: Path) -> Path:
    return write_page(run)


def test_numbers_are_those_of_diagnosis(page: Path, run: Path) -> None:
    data = inside(page, "data")
    found = diagnose(read([run]))
    assert data["verdict"] == [s.text for s in say(found).sentences if not s.detail]
    whole = data["views"][0]
    for arm in found.findings[0].arms:
        cell = whole["cells"][arm.policy][data["budgets"].index(arm.budget)]
        assert cell[:2] == [arm.accuracy.k, arm.n]
        assert cell[2] == pytest.approx(arm.accuracy.value, abs=1e-5)
        assert cell[3] == pytest.approx(arm.accuracy.low, abs=1e-5)
        assert cell[8] == arm.failed
    for row in found.findings[0].budgets:
        assert row.tax is not None
        loss = whole["loss"][data["budgets"].index(row.budget)]
        wanted = (row.tax.tax, row.difference.low, row.difference.high, row.tax.truncation_loss)
        assert loss[:4] == pytest.approx(wanted, abs=1e-5)


def test_every_row_is_in_it(page: Path, run: Path) -> None:
    data, details = inside(page, "data"), inside(page, "details")
    rows = pq.read_table(run / "rows.parquet").to_pydict()
    letters = {"right": "r", "wrong": "w", "unreadable": "u", None: "f"}
    at = {q: i for i, q in enumerate(data["questions"]["id"])}
    for question, policy, budget, verdict, answer in zip(
        *(rows[c] for c in ("question", "policy", "budget", "verdict", "answer")), strict=True
    ):
        q, p, b = at[question], data["policies"].index(policy), data["budgets"].index(budget)
        assert data["questions"]["codes"][q][p][b].lower() == letters[verdict]
        detail = details[str(q)]
        place = detail["cells"][p][b][0]
        assert (None if place is None else detail["texts"][place]) == answer


def test_groups_add_up_to_the_whole(page: Path) -> None:
    whole, *parts = inside(page, "data")["views"]
    assert len(parts) == 5
    for policy, cells in whole["cells"].items():
        for i, cell in enumerate(cells):
            assert cell[0] == sum(part["cells"][policy][i][0] for part in parts if part["cells"][policy][i])


def test_nothing_a_model_wrote_is_markup(page: Path, run: Path) -> None:
    assert HOSTILE in "".join(
        json.loads(line)["chains"]["think"]["text"] for line in (run / "chains.jsonl").open()
    )
    text = page.read_text()
    assert HOSTILE not in text
    assert "<img" not in text
    assert text.count("<script") == text.count("</script>") == 3


def test_safe_json_is_json_and_closes_nothing() -> None:
    value = {"a": "</script><!-- <script> \u2028 & ]]>", "b": [1, None, "\u00e9"]}
    text = safe_json(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028") & set(text)
    assert json.loads(safe_json("model \u202e end")) == "model \ufffd end"


def test_nothing_is_fetched(page: Path) -> None:
    text = page.read_text()
    assert not re.search(r"""(?:src|href)=["'](?!#)""", text)
    assert "default-src 'none'" in text


def test_many_questions_lie_beside_the_page(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "INLINE_BYTES", 20_000)
    page = write_page(run)
    data, details = inside(page, "data"), inside(page, "details")
    assert 0 < len(details) < 30
    assert data["inside"] == sorted(map(int, details))
    beside = {}
    for file in (run / "report-data").glob("*.js"):
        body = re.fullmatch(r"thinkcapShard\((.*)\);\n", file.read_text(), re.DOTALL)
        assert body
        beside |= json.loads(body[1])
    assert set(beside) | set(details) == {str(i) for i in range(30)}
    monkeypatch.undo()
    write_page(run)
    assert not (run / "report-data").exists()


def test_500_questions_fit(tmp_path: Path) -> None:
    study(tmp_path / "big", limit=500, policies="nothink,think", budgets="64,256,512")
    assert write_page(tmp_path / "big").stat().st_size < 3_000_000


def test_comparison_is_paired_where_questions_match(run: Path, other_run: Path) -> None:
    page = write_page(other_run, compare=run)
    other = inside(page, "data")["other"]
    assert {c["policy"] for c in other["cells"]} == {"nothink", "think"}
    for cell in other["cells"]:
        n, gap, low, high, only_second, only_first, adjusted = cell["paired"]
        assert n <= 30 < cell["first"][1] + 1
        assert gap == pytest.approx((only_second - only_first) / n)
        assert low <= gap <= high
        assert mcnemar_counts(only_second, only_first, n).p <= adjusted
    assert sum(codes is not None for codes in other["codes"]) == 30
    write_page(other_run)


def test_other_questions_are_not_paired(run: Path, tmp_path: Path) -> None:
    study(tmp_path / "later", limit=8, offset=40, policies="nothink,think", budgets="64,128")
    page = write_page(tmp_path / "later", compare=run)
    cells = inside(page, "data")["other"]["cells"]
    assert cells
    assert all("paired" not in c and "share no question" in c["refused"] for c in cells)


def test_a_run_is_not_compared_with_itself(run: Path) -> None:
    with pytest.raises(ConfigError, match="the run itself"):
        write_page(run, compare=run)


def test_a_run_without_stored_chains_still_has_a_page(other_run: Path) -> None:
    kept = (other_run / "chains.jsonl").rename(other_run / "kept")
    try:
        data = inside(write_page(other_run), "data")
        assert data["questions"]["snippet"][0] == data["questions"]["id"][0]
    finally:
        kept.rename(other_run / "chains.jsonl")


def test_a_run_in_which_everything_failed(tmp_path: Path) -> None:
    from thinkcap.api import run_study
    from thinkcap.core.errors import EngineTimeout
    from thinkcap.core.sync import wait
    from thinkcap.engines.scripted import ScriptedEngine
    from thinkcap.study.config import StudyConfig

    config = StudyConfig.from_mapping(
        {"limit": 3, "budgets": "64", "policies": "think", "out": str(tmp_path / "x")}
    )
    wait(run_study(config, engine=ScriptedEngine(lambda _: EngineTimeout("no answer in time"))))
    data = inside(write_page(tmp_path / "x"), "data")
    assert data["questions"]["codes"] == [["f"], ["f"], ["f"]]
    assert any("every row failed" in note for note in data["notes"])
