"""Tables: pure functions of records, the numbers of diagnosis, and never a number nobody measured."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from thinkcap.cli import main
from thinkcap.core.errors import ConfigError
from thinkcap.diagnose.diagnosis import Diagnosis, diagnose
from thinkcap.diagnose.summary import load_summary
from thinkcap.logs.arms import Records
from thinkcap.report.material import Material, load
from thinkcap.report.tables import TABLES, make, make_all
from thinkcap.report.tables.render import as_csv, latex, markdown
from thinkcap.shown import result_text


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
    assert {t.name for t in make_all(material) if t.empty} <= {"wall-time"}


def test_sweep_is_the_diagnosis(material: Material, found: Diagnosis) -> None:
    arms = {a.name: a for a in found.findings[0].arms}
    table = make("both-modes", material)
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
    table = make("loss-by-budget", material)
    for budget, gap, (low, high), p in zip(
        *(table.column(c) for c in ("budget", "gap", "gap 95 %", "p (Holm)")), strict=True
    ):
        seen = by[budget].comparison
        assert (gap, low, high, p) == (seen.difference, seen.result.low, seen.result.high, seen.p_holm)
    causes = make("loss-by-cause", material)
    for budget, loss, rest in zip(*(causes.column(c) for c in ("budget", "truncation", "reasoning")), strict=True):
        cost = by[budget].tax
        assert cost is not None
        assert (loss, rest) == (cost.truncation_loss, cost.reasoning_gap)


def test_cascades_and_tiers_are_the_diagnosis(material: Material, found: Diagnosis) -> None:
    grid = {(c.first, c.second): c.routing for c in found.findings[0].cascades}
    table = make("cascade-budgets", material)
    for row in table.rows:
        first, second, n, value, tokens, *_, won, lost, net = row.cells
        seen = grid[first, second]
        assert (n, value, tokens, won, lost, net) == (
            seen.n, seen.accuracy, seen.mean_tokens, seen.recovered, seen.regretted, seen.net
        )  # fmt: skip
    tiers = found.findings[0].frontier
    assert tiers is not None
    counts = make("least-budget", material).column("count")
    assert counts[: len(tiers.by_budget)] == list(tiers.by_budget.values())


def test_failures_partition_the_wrong_answers(material: Material, found: Diagnosis) -> None:
    table = make("wrong-answers", material)
    wrong = {a.name: a.n - a.accuracy.k for a in found.findings[0].arms}
    for method in set(table.column("method")):
        mine = [row for row in table.rows if row.cells[1] == method]
        assert sum(row.cells[2] for row in mine) == wrong[method]


def test_missing_records_say_not_run(other_run: Path) -> None:
    material = load([other_run])
    for name in ("cascade-stages", "unsettled-questions", "wrong-answers"):
        table = make(name, material)
        assert table.empty, name
        assert "not run" in markdown(table)


def test_no_records_at_all() -> None:
    nothing = Material(Records(()))
    for table in make_all(nothing):
        assert table.empty


def test_other_hardware_is_flagged(run: Path, other_run: Path) -> None:
    material = load([run, other_run])
    there = dict(material.runs[1].summary)
    there["provenance"] = {**there["provenance"], "hardware": "another processor"}
    mixed = replace(material, runs=(material.runs[0], replace(material.runs[1], summary=there)))
    table = make("methods", mixed)
    marked = {row.arms[0].file for i, row in enumerate(table.rows) if i in table.flagged}
    assert marked == {"second"}
    assert "\N{DAGGER}" in markdown(table)
    assert "other hardware" in as_csv(table).splitlines()[0]
    assert not make("methods", material).flagged


def test_unknown_table_names_the_nearest(material: Material) -> None:
    with pytest.raises(ConfigError, match="both-modes"):
        make("both-mods", material)


def test_about_a_dozen_tables_named_for_what_they_show() -> None:
    assert len(TABLES) == 14
    assert {"by-level", "wall-time", "comparisons"} <= set(TABLES)
    assert not [name for name in TABLES if any(sign.isdigit() for sign in name)]


def test_no_two_tables_are_the_same(material: Material) -> None:
    texts = [markdown(t).partition("\n")[2] for t in make_all(material) if not t.empty]
    assert len(set(texts)) == len(texts)


def test_comparisons_are_the_diagnosis(material: Material, found: Diagnosis) -> None:
    table = make("comparisons", material)
    made = {(c.first, c.second): c for c in found.comparisons.made}
    assert len(table.rows) == len(made) > 10
    for row in table.rows:
        first, second, matched_by, n, only_first, only_second, difference, _, p = row.cells
        seen = made[first, second].to_dict()
        assert (matched_by, n, difference, p) == tuple(
            seen[k] for k in ("matched_by", "n", "difference", "p_holm")
        )
        assert (only_first, only_second) == (seen["only_first"], seen["only_second"])


def test_accuracy_by_level_adds_up(material: Material, found: Diagnosis) -> None:
    arms = {a.name: a for a in found.findings[0].arms}
    table = make("by-level", material)
    for name in set(table.column("config")):
        mine = [row.cells for row in table.rows if row.cells[1] == name]
        assert sum(cells[3] for cells in mine) == arms[name].n
        assert round(sum(cells[3] * cells[4] for cells in mine)) == arms[name].accuracy.k


def test_wall_time_of_a_log_that_stores_it(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    rows = [
        {"id": i, "correct": i % 2, "tokens": 100, "mode": "think", "budget": 128, "latency_s": 0.5 + i}
        for i in range(4)
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (row,) = make("wall-time", load([log])).rows
    assert row.cells[:4] == ("think@128", 128, 4, 4)
    assert row.cells[4:6] == (2.0, 2.0)
    assert row.cells[7] == 20.0


def test_study_diagnosis_and_report_print_one_p(
    run: Path, material: Material, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", str(run), "--json"]) == 0
    diagnosed = json.loads(capsys.readouterr().out)["comparisons"]
    summary = load_summary(run)
    assert summary["comparisons"] == diagnosed
    table = make("comparisons", material)
    columns = zip(*(table.column(name) for name in ("first", "second", "p (Holm)")), strict=True)
    reported = {(first, second): p for first, second, p in columns}
    assert reported == {(c["first"], c["second"]): c["p_holm"] for c in diagnosed}
    printed = re.findall(r"p=(\S+)", result_text(summary, run))
    assert len(printed) > 10
    assert set(printed) <= {f"{c['p_holm']:.2g}" for c in diagnosed}
