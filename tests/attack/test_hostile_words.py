"""Names and words of strangers on a terminal, in Markdown and in LaTeX: shown, never obeyed."""

from __future__ import annotations

import ast
import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from thinkcap.cli import group, main
from thinkcap.cli.terminal import REWRITE, quiet, say
from thinkcap.core.errors import StoreError
from thinkcap.doctor.examine import DoctorReport, Finding
from thinkcap.report.tables.render import latex, markdown
from thinkcap.report.tables.table import Column, Table, TableRow
from thinkcap.traces.store import TraceStore

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\rgood\u202eevil\x08\ud800"
COMMANDS = [c for c in EVIL if not c.isascii() or not c.isprintable()]
CLI = Path(__file__).parents[2] / "src" / "thinkcap" / "cli"


def harmless(text: str) -> bool:
    return not any(c in text for c in COMMANDS)


@pytest.mark.parametrize("path", sorted(CLI.glob("*.py")), ids=lambda p: p.name)
def test_every_verb_speaks_through_the_one_door(path: Path) -> None:
    """A new `click.echo` or `print` would be a way around it."""
    if path.name == "terminal.py":
        return
    calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    said = [ast.unparse(call) for call in calls]
    assert not {"click.echo", "click.secho", "print", "sys.stdout.write", "sys.stderr.write"} & set(said)


def test_what_a_terminal_would_obey_is_marked() -> None:
    assert harmless(quiet(EVIL))
    assert quiet("a\tb\r\nc\n") == "a\tb\nc\n"
    assert (
        quiet("1\N{NO-BREAK SPACE}000 \N{ZERO WIDTH JOINER} 加 √2")
        == "1\N{NO-BREAK SPACE}000 \N{ZERO WIDTH JOINER} 加 √2"
    )


def test_sequences_of_our_own_stand_apart(capsys: pytest.CaptureFixture[str]) -> None:
    say(EVIL, before=REWRITE, nl=False)
    shown = capsys.readouterr().out
    # click takes our own sequence out where nobody sits at a terminal; the carriage return stays.
    assert harmless(shown.removeprefix("\r"))


def test_runs_with_names_of_strangers(tmp_path: Path) -> None:
    run = tmp_path / "a\x1b[31m\nb"
    run.mkdir()
    (run / "study.toml").write_text(f"model = {json.dumps('m' + chr(27) + '[2J')}\n")
    (run / "rows.jsonl").write_text("")
    found = CliRunner().invoke(group, ["runs", str(tmp_path)])
    assert "\x1b" not in found.output
    assert "\nb" not in found.output


def test_a_store_with_a_model_of_strangers(tmp_path: Path) -> None:
    with TraceStore.open(tmp_path / "traces.sqlite", EVIL[:-1] + "\nmodel      other"):
        pass
    found = CliRunner().invoke(group, ["traces", "show", str(tmp_path)])
    assert found.exit_code == 0
    assert harmless(found.output)
    assert "\nmodel      other" not in found.output


def test_a_servers_own_names_in_the_doctors_table() -> None:
    card = {
        "transport": "chat",
        "model": "m\nfake",
        "version": "v\nfake",
        "dialect": "d",
        "open_tag": "\n",
        "close_tag": "x",
    }
    report = DoctorReport(
        "http://x", {**card, "dialect_by": "probe", "switch": "none"}, (Finding("n", "yes", "seen"),)
    )
    assert len(report.table().splitlines()) == 3


def test_titles_notes_and_cells_in_markdown_and_latex() -> None:
    evil = "a|b\n# c \\input{/etc/passwd} $x_1$ \x1b[31m%"
    made = Table("t", evil, (Column("name", "text"),), (TableRow((evil,)),), notes=(evil,))
    text = markdown(made)
    assert "\x1b" not in text
    assert "\n# c" not in text
    tex = latex(made)
    assert "\x1b" not in tex
    assert "\\input" not in tex
    assert "$" not in tex.replace("\\$", "")


def test_progress_and_errors_are_words_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["diagnose", str(tmp_path / "no\x1b[31mfile")])
    assert harmless(capsys.readouterr().err)


def test_traces_that_are_programs_are_refused(tmp_path: Path) -> None:
    """A view or a trigger in a stranger's store could run for ever."""
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n"
    for program in (
        f"create view outputs as {endless}",
        "create trigger t before insert on traces begin select 1; end",
    ):
        path = tmp_path / f"{len(program)}.sqlite"
        with TraceStore.open(path, "f"):
            pass
        with sqlite3.connect(path) as db:
            db.execute("drop table outputs")
            db.execute(program)
        for readonly in (True, False):
            with pytest.raises(StoreError, match="which no trace store has"):
                TraceStore.open(path, "f", readonly=readonly)
