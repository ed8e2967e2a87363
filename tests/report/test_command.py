"""`thinkcap report` as people type it."""

from __future__ import annotations

import json
import shutil
import webbrowser
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from thinkcap.cli import main
from thinkcap.report.explorer.page import content


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    main(["report", *words])
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(["report", *words])
    assert stopped.value.code == 2
    found = capsys.readouterr().err
    assert "Traceback" not in found
    return found


def test_a_run_becomes_a_page(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, str(run)).strip() == str(run / "report.html")


def test_a_run_that_is_shared_without_its_texts(
    other_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Verdicts and counts make a page; a run without verdicts is refused by name."""
    shutil.copytree(other_run, tmp_path / "shared")
    rows = tmp_path / "shared" / "rows.parquet"
    table = pq.read_table(rows)
    pq.write_table(table.drop_columns(["text", "answer", "error", "guess"]), rows)
    assert said(capsys, str(tmp_path / "shared")).strip() == str(tmp_path / "shared" / "report.html")
    assert content(tmp_path / "shared").data["questions"] == content(other_run).data["questions"]
    pq.write_table(table.drop_columns(["stage"]), rows)
    assert "no column 'stage'" in refused(capsys, str(tmp_path / "shared"))


def test_tables_in_three_formats(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "| think@64 |" in said(capsys, str(run), "--table", "both-modes")
    assert said(capsys, str(run), "--table", "cascade-budgets", "--format", "csv").startswith("B1,B2,")
    assert r"\toprule" in said(capsys, str(run), "--table", "cascade-budgets", "--format", "latex")


def test_all_of_a_run(other_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, str(other_run), "--all", "--out", str(tmp_path))
    assert len(list((tmp_path / "tables").iterdir())) == 14 * 3
    assert (tmp_path / "figures" / "survival.svg").is_file()
    assert "figure cascade" in text


def test_other_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.jsonl"
    rows = [
        {"id": i, "correct": i % 2, "tokens": 10 + i, "mode": mode, "budget": 16} for mode in ("think", "nothink")
        for i in range(12)
    ]  # fmt: skip
    log.write_text("".join(json.dumps(r) + "\n" for r in rows))
    assert "| think@16 | 16 | 12 | 6 |" in said(capsys, str(log), "--table", "both-modes")
    assert "--table NAME" in refused(capsys, str(log))


def test_figure_and_picture(other_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, str(other_run), "--figure", "accuracy", "--figure", "cascade", "--out", str(tmp_path))
    assert str(tmp_path / "figures" / "accuracy.svg") in text
    assert "cascade: not run" in text
    assert said(capsys, str(other_run), "--picture", str(tmp_path / "x.png")).strip().endswith("x.png")
    assert ".svg or .png" in refused(capsys, str(other_run), "--picture", str(tmp_path / "x.gif"))


def test_open_and_compare(
    run: Path, other_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    said(capsys, str(other_run), "--compare", str(run), "--open")
    assert opened == [(other_run / "report.html").resolve().as_uri()]
    assert '"other":' in (other_run / "report.html").read_text()


def test_what_cannot_be_is_said_plainly(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such file" in refused(capsys, str(tmp_path / "nowhere"))
    assert "did you mean 'both-modes'" in refused(capsys, str(run), "--table", "both-mods")
    assert "unknown format" in refused(capsys, str(run), "--table", "both-modes", "--format", "cvs")
    assert "unknown figure" in refused(capsys, str(run), "--figure", "survivel")
    assert "finished study" in refused(capsys, str(run), "--compare", str(tmp_path))


def test_every_name_is_listed(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, str(run), "--list")
    assert "chain-ends" in text
    assert "tax-by-model" in text
