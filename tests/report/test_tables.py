"""Tables: pure functions of records, the numbers of diagnosis, and never a number nobody measured."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.diagnose.diagnosis import Diagnosis, diagnose
from thinkcap.logs.arms import Records
from thinkcap.report.material import Material, load
from thinkcap.report.tables import NOT_RUN, TABLES, make, make_all
from thinkcap.report.tables.published import beside, read
from thinkcap.report.tables.render import as_csv, latex, markdown


@pytest.fixture(scope="module")
def material(run: Path) -> Material:
    return load([run])


@pytest.fixture(scope="module")
def found(material: Material) -> Diagnosis:
    return diagnose(material.records)


def test_every_table_builds_in_every_format(material: Material) -> None:
    for table in make_all(material):
        texts = markdown(table), as_csv(table), latex(table)
        assert all(texts), table.name
        lines = list(csv.reader(io.StringIO(texts[1])))
        assert len({len(line) for line in lines}) == 1, f"{table.name}: CSV lines of different length"
        assert texts[2].count(r"\\") == len(table.rows) + 1


def test_only_what_was_not_run_is_empty(material: Material) -> None:
    assert {t.name for t in make_all(material) if t.empty} == {"sampling-pilot"}


def test_sweep_is_the_diagnosis(material: Material, found: Diagnosis) -> None:
    arms = {a.name: a for a in found.findings[0].arms}
    table = make("thinking-tax", material)
    for row in table.rows:
        name, budget, n, right, value, (low, high), tokens, ended, *_ = row.cells
        arm = arms[name]
        assert (n, right, budget) == (arm.n, arm.accuracy.k, arm.budget)
        assert (value, low, high) == (arm.accuracy.value, arm.accuracy.low, arm.accuracy.high)
        assert tokens == arm.mean_tokens
        assert arm.parts is not None
        assert ended == arm.parts.ended_share


def test_gaps_and_causes_are_the_diagnosis(material: Material, found: Diagnosis) -> None:
    by = {r.budget: r for r in found.findings[0].budgets}
    table = make("math500-tax-full", material)
    for budget, gap, (low, high), p in zip(
        *(table.column(c) for c in ("budget", "gap", "gap 95 %", "p")), strict=True
    ):
        seen = by[budget].comparison
        assert (gap, low, high, p) == (seen.difference, seen.result.low, seen.result.high, seen.p_holm)
    causes = make("theory-verification", material)
    for budget, loss, rest in zip(*(causes.column(c) for c in ("budget", "truncation", "reasoning")), strict=True):
        cost = by[budget].tax
        assert cost is not None
        assert (loss, rest) == (cost.truncation_loss, cost.reasoning_gap)


def test_cascades_and_tiers_are_the_diagnosis(material: Material, found: Diagnosis) -> None:
    grid = {(c.first, c.second): c.routing for c in found.findings[0].cascades}
    table = make("town-grid", material)
    for row in table.rows:
        first, second, n, value, tokens, *_, won, lost, net = row.cells
        seen = grid[first, second]
        assert (n, value, tokens, won, lost, net) == (
            seen.n, seen.accuracy, seen.mean_tokens, seen.recovered, seen.regretted, seen.net
        )  # fmt: skip
    tiers = found.findings[0].frontier
    assert tiers is not None
    counts = make("efficiency-frontier", material).column("count")
    assert counts[: len(tiers.by_budget)] == list(tiers.by_budget.values())


def test_failures_partition_the_wrong_answers(material: Material, found: Diagnosis) -> None:
    table = make("failure-modes", material)
    wrong = {a.name: a.n - a.accuracy.k for a in found.findings[0].arms}
    for method in set(table.column("method")):
        mine = [row for row in table.rows if row.cells[1] == method]
        assert sum(row.cells[2] for row in mine) == wrong[method]


def test_missing_records_say_not_run(other_run: Path) -> None:
    material = load([other_run])
    for name in ("gsm8k-mrsd-full", "bthink-ablation", "escalated-ablation", "improved-iris", "27b-multiseed"):
        table = make(name, material)
        assert table.empty, name
        assert "not run" in markdown(table)
    assert any(cell is NOT_RUN for row in make("compute-matched", material).rows for cell in row.cells)


def test_no_records_at_all() -> None:
    nothing = Material(Records(()))
    for table in make_all(nothing):
        assert table.empty


def test_other_hardware_is_flagged(run: Path, other_run: Path) -> None:
    material = load([run, other_run])
    there = dict(material.runs[1].summary)
    there["provenance"] = {**there["provenance"], "hardware": "another processor"}
    mixed = replace(material, runs=(material.runs[0], replace(material.runs[1], summary=there)))
    table = make("compute-matched", mixed)
    marked = {row.arms[0].file for i, row in enumerate(table.rows) if i in table.flagged}
    assert marked == {"second"}
    assert "\N{DAGGER}" in markdown(table)
    assert "other hardware" in as_csv(table).splitlines()[0]
    assert not make("compute-matched", material).flagged


def test_published_figures_stand_beside_and_never_instead(material: Material, tmp_path: Path) -> None:
    file = tmp_path / "printed.json"
    data = {"columns": ["mode", "budget", "acc"], "rows": [["think", 64, 12.5], ["think", 4096, 99.0]], "n": 7}
    file.write_text(json.dumps([{"id": "thinking-tax", "kind": "table", "data": data}]))
    plain = make("thinking-tax", material)
    table = beside(plain, read(file))
    assert [row.cells[:-1] for row in table.rows] == [row.cells for row in plain.rows]
    shown = dict(zip(table.column("config"), table.column("published (n = 7)"), strict=True))
    assert shown["think@64"] == "12.5"
    assert set(shown.values()) == {"12.5", ""}
    assert "published" not in markdown(plain)


def test_bad_published_file(tmp_path: Path) -> None:
    file = tmp_path / "printed.json"
    file.write_text('[{"id": "x"}]')
    with pytest.raises(DataError, match="entry 0"):
        read(file)


def test_unknown_table_names_the_nearest(material: Material) -> None:
    with pytest.raises(ConfigError, match="thinking-tax"):
        make("thinking-tacks", material)


def test_all_tables_of_the_paper_have_a_name() -> None:
    assert len(TABLES) == 31
    assert {"model-size-scaling", "natural-stop-oracle"} <= set(TABLES)


class TestAuthors:
    """The authors' own files: counts that were computed from them by other code."""

    def load(self, shared: Path, *patterns: str) -> Material:
        folder = shared / "data" / "authors"
        return load([file for pattern in patterns for file in sorted(folder.glob(pattern))])

    def test_sweep(self, shared: Path) -> None:
        material = self.load(shared, "results_kun/nothink_fullset/*.json", "results/gap_fill/8b_highbudget/*.json")
        table = make("thinking-tax", material)
        counts = dict(zip(table.column("config"), table.column("correct"), strict=True))
        assert counts == {"nothink@256": 1154, "nothink@512": 1228, "think@256": 238, "think@512": 751}
        ended = dict(zip(table.column("config"), table.column("ended"), strict=True))
        assert round(ended["think@512"] * 1319) == 563
        grid = {(r.cells[0], r.cells[1]): r.cells[3] for r in make("town-grid", material).rows}
        assert round(grid[256, 512] * 1319) == 1156

    def test_both_criteria_of_stopping(self, shared: Path) -> None:
        material = self.load(shared, "results/gap_fill/8b_highbudget/*121035.json")
        rows = {(r.cells[2], r.cells[3]): r.cells[5] for r in make("natural-stop-oracle", material).rows}
        assert rows["think@512", "tokens < b"] == 563
        assert rows["think@512", "stored flag (tokens < int(0.95 b))"] == 493

    def test_cascades(self, shared: Path) -> None:
        material = self.load(shared, "results/iris_math500_fullscale*/*_iris_compact.json")
        rows = {r.cells[0]: r.cells for r in make("bthink-ablation", material).rows}
        assert rows["iris(first=512,think=2048,answer=256)@2816"][5:8] == (216, 25, 259)
        assert rows["iris(first=512,think=4096,answer=256)@4864"][5:8] == (216, 127, 157)

    def test_escalated_and_failures(self, shared: Path) -> None:
        material = self.load(shared, "results/mrsd_pilot/*math500*")
        hard = make("escalated-ablation", material)
        assert dict(zip(hard.column("method"), hard.column("correct"), strict=True)) == {
            "town(first=512,think=1024)@1536": 11,
            "iris(first=512,think=1024,answer=256)@1792": 38,
            "mrsd(first=512,think=1024,answer=256)@4352": 45,
        }
        assert make("failure-modes", material).column("count") == [10, 25, 1]

    def test_forced_answers(self, shared: Path) -> None:
        material = self.load(shared, "results_kun/results/deepseek/*math500*")
        table = make("deepseek-math500", material)
        assert table.column("n") == [80, 80, 80]
        assert [round(t) for t in table.column("tokens with projection")] == [910, 1551, 2353]

    def test_every_table_of_every_file_builds(self, shared: Path) -> None:
        material = self.load(
            shared, "results_kun/**/*.json", "results/mrsd*/*.json", "results/split_budget/*.json"
        )
        made = make_all(material)
        assert sum(not t.empty for t in made) >= 20
        assert all(markdown(t) and as_csv(t) and latex(t) for t in made)
