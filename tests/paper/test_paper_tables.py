"""The paper's tables: shapes of the report with its subjects, and printed figures beside the same runs only."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from thinkcap.cli import main
from thinkcap.core.errors import ConfigError, DataError
from thinkcap.logs.arms import Records
from thinkcap.paper.published import beside, read
from thinkcap.paper.tables.catalogue import FIGURES, TABLES, make, make_all
from thinkcap.report.material import Material, load
from thinkcap.report.tables.render import as_csv, latex, markdown


@pytest.fixture(scope="module")
def material(run: Path) -> Material:
    return load([run])


def test_all_tables_and_figures_of_the_paper_have_a_name() -> None:
    assert len(TABLES) == 31
    assert len(FIGURES) == 6


def test_every_table_builds_in_every_format(material: Material) -> None:
    made = make_all(material)
    assert all(markdown(t) and as_csv(t) and latex(t) for t in made)
    assert {t.name for t in made if t.empty} <= {"sampling-pilot", "improved-iris", "27b-multiseed"}
    assert "the table shows what they hold" in markdown(make("thinking-tax", material))


def test_no_records_at_all() -> None:
    assert all(table.empty for table in make_all(Material(Records(()))))


def test_unknown_table_names_the_nearest(material: Material) -> None:
    with pytest.raises(ConfigError, match="thinking-tax"):
        make("thinking-tacks", material)


def test_files_go_into_the_folder_of_the_run(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    copy = tmp_path / "study"
    shutil.copytree(run, copy)
    main(["paper", str(copy), "--figure", "chain-lengths"])
    assert list((copy / "paper" / "figures").glob("*.svg"))
    assert not (tmp_path / "paper").exists()


def test_the_command(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["paper", str(run), "--table", "thinking-tax"])
    assert "| think@64 |" in capsys.readouterr().out
    main(["paper", str(run), "--out", str(tmp_path / "all")])
    assert len(list((tmp_path / "all" / "tables").iterdir())) == 31 * 3
    assert (tmp_path / "all" / "figures" / "survival.svg").is_file()
    main(["paper", "--list"])
    assert "27b-seeds" in capsys.readouterr().out
    for words in (["paper"], ["paper", "--audit"], ["paper", str(run), "--figure", "parato"]):
        with pytest.raises(SystemExit) as stopped:
            main(words)
        assert stopped.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1


class TestPublished:
    """Model, task, mode, method and budget must all be the same."""

    def file(self, folder: Path, model: str = "a", task: str = "families", **data: object) -> Path:
        table = {"columns": ["mode", "budget", "acc", "avg_tok"], "rows": [["think", 64, 12.5, 60]]}
        file = folder / "printed.json"
        entry = {"id": "thinking-tax", "data": {**table, "model": model, "benchmark": task, **data}}
        file.write_text(json.dumps([entry]))
        return file

    def shown(self, material: Material, file: Path) -> dict[str, tuple[str, str]]:
        table = beside(make("thinking-tax", material), read(file))
        names = ("config", "published acc", "published tokens")
        return {c: (a, t) for c, a, t in zip(*(table.column(n) for n in names), strict=True) if a or t}

    @pytest.fixture
    def named(self, material: Material) -> Material:
        """Another tool's records: they do not say how a cut chain was read."""
        arms = tuple(replace(a, model="m", task="t", provenance={}) for a in material.records.arms)
        kept = tuple(a for a in arms if "[" not in a.policy)
        return replace(material, records=replace(material.records, arms=kept))

    def test_the_same_run_has_every_measure(self, named: Material, tmp_path: Path) -> None:
        assert self.shown(named, self.file(tmp_path, "org/M", "t")) == {"think@64": ("12.5", "60")}

    @pytest.mark.parametrize(("model", "task"), [("other", "t"), ("m", "u"), ("", "t"), ("m", "")])
    def test_another_model_or_task_has_none(self, model: str, task: str, named: Material, tmp_path: Path) -> None:
        assert self.shown(named, self.file(tmp_path, model, task)) == {}

    def test_another_mode_or_budget_has_none(self, named: Material, tmp_path: Path) -> None:
        rows = [["think", 65, 1.0, 1], ["nothink", 4096, 2.0, 2]]
        assert self.shown(named, self.file(tmp_path, "m", "t", rows=rows)) == {}

    def test_a_chain_read_in_another_way_has_none(self, named: Material, tmp_path: Path) -> None:
        arms = tuple(replace(a, provenance={"grader": "ours"}) for a in named.records.arms)
        ours = replace(named, records=replace(named.records, arms=arms))
        assert self.shown(ours, self.file(tmp_path, "m", "t")) == {}

    def test_our_own_numbers_stay(self, named: Material, tmp_path: Path) -> None:
        plain = make("thinking-tax", named)
        table = beside(plain, read(self.file(tmp_path, "m", "t")))
        assert [row.cells[: len(plain.columns)] for row in table.rows] == [row.cells for row in plain.rows]
        assert "published" not in markdown(plain)

    def test_bad_file(self, tmp_path: Path) -> None:
        file = tmp_path / "printed.json"
        file.write_text('[{"id": "x"}]')
        with pytest.raises(DataError, match="entry 0"):
            read(file)


class TestPublishedByThePaper:
    def test_a_pebble_run_has_no_figure_of_the_paper(self, material: Material, shared: Path) -> None:
        printed = read(shared / "paper" / "published.json")
        for table in make_all(material):
            made = beside(table, printed)
            added = [row.cells[len(table.columns) :] for row in made.rows]
            assert not [cells for cells in added if any(cells)], table.name

    def test_a_printed_row_of_other_budgets_is_left_out(self, shared: Path) -> None:
        material = load(sorted((shared / "data" / "authors").glob("results/mrsd_pilot/*math500*")))
        table = beside(make("main-results", material), read(shared / "paper" / "published.json"))
        shown = dict(zip(table.column("method"), table.column("published acc"), strict=True))
        assert shown["town(first=512,think=1024)@1536"] == ""
        assert shown["mrsd(first=512,think=1024,answer=256)@4352"] == "61.0"

    def test_the_authors_own_runs_have_them(self, shared: Path) -> None:
        folder = shared / "data" / "authors"
        printed = read(shared / "paper" / "published.json")
        patterns = ("results_kun/nothink_fullset/*.json", "results/gap_fill/8b_highbudget/*.json")
        modes = load(sorted(f for p in patterns for f in folder.glob(p)))
        tax = beside(make("thinking-tax", modes), printed)
        shown = {row.cells[0]: row.cells[10:] for row in tax.rows}
        names = [c.name for c in tax.columns[10:]]
        assert dict(zip(names, shown["think@512"], strict=True))["published acc"] == "56.9"
        assert dict(zip(names, shown["nothink@256"], strict=True))["published tokens"] == "146"
        cascades = load(sorted(folder.glob("results/iris_math500_fullscale*/*_iris_compact.json")))
        arms = tuple(replace(a, model="Qwen3-8B", task="math500") for a in cascades.records.arms)
        cascades = replace(cascades, records=replace(cascades.records, arms=arms))
        stages = beside(make("bthink-ablation", cascades), printed)
        first = dict(zip(stages.column("method"), stages.column("published answer pass"), strict=True))
        assert first["iris(first=512,think=2048,answer=256)@2816"] == "259"
        assert first["iris(first=512,think=4096,answer=256)@4864"] == "157"


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
