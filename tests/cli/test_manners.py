"""How the command line behaves: what it says beside a result, how loudly, and what the shell may complete."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from thinkcap.cli import group, main
from thinkcap.shown import percent, span, table

QUICK = ["study", "--limit", "2", "--budgets", "32,64", "--policy", "nothink"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def complete(words: str) -> list[str]:
    """What bash would offer for the last word."""
    typed = words.split(" ")
    environment = {"_THINKCAP_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(typed) - 1)}
    return CliRunner().invoke(group, [], prog_name="thinkcap", env=environment).output.splitlines()


def test_a_study_says_what_it_does_and_a_finished_one_that_it_is_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(QUICK)
    first = capsys.readouterr()
    assert "2 questions, 4 rows\nat most 128 tokens to generate" in first.err
    assert "4 of 4 rows, " in first.err
    assert "families on pebble, 2 questions: right answers in %, with 95 % interval" in first.out
    assert re.search(r"cap, tokens +nothink\n +32 +[\d.]+ \(\d+-\d+\)\n +64 ", first.out)
    # Nothing is left to ask a model, so none is opened.
    monkeypatch.setattr(sys.modules["thinkcap.study.run"], "opened", None)
    main(QUICK)
    again = capsys.readouterr()
    assert again.err == "2 questions, 4 rows, all done already: nothing will be generated\n"
    assert again.out == first.out
    main([*QUICK, "-q"])
    assert capsys.readouterr() == (first.out, "")
    main(["-v", *QUICK])
    assert 'model = "bundled"' in (said := capsys.readouterr().err)
    assert re.search(r"took \d+\.\d s", said)
    latest = Path("runs/study").resolve().name
    assert complete("thinkcap report runs/") == [f"plain,runs/{latest}", "plain,runs/study"]


def test_quiet_still_says_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["study", "-q", "--task", "nope"])
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("thinkcap: unknown task 'nope'")


def test_verbose_says_where_an_error_arose(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["study", "--task", "nope", "-v"])
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert said.splitlines()[-1].startswith("thinkcap: unknown task 'nope'")


def test_a_quiet_ask_prints_the_answer_alone(capsys: pytest.CaptureFixture[str]) -> None:
    main(["ask", "-q", "What is 48 * 57 + 9?"])
    assert capsys.readouterr() == ("2745\n", "")


def test_ask_names_its_policy(capsys: pytest.CaptureFixture[str]) -> None:
    main(["ask", "What is 4 + 5?", "--policy", "nothink", "--cap", "40", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (found["policy"], found["cap"]) == ("nothink", 40)
    main(["ask", "What is 4 + 5?", "--policy", "nothink", "--cap", "40", "-v"])
    assert "policy  nothink" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("thinkcap study --policy no", ["nothink", "no_trace"]),
        ("thinkcap study --policy nothink,town", ["nothink,town", "nothink,town_plus"]),
        ("thinkcap study --task aime", ["aime24", "aime25"]),
        ("thinkcap study --task family:b", ["family:boolean"]),
        ("thinkcap study --preset casc", ["cascades"]),
        ("thinkcap study --kind ye", ["yesno"]),
        ("thinkcap policies iris_", ["iris_plus"]),
        ("thinkcap ask --policy mrs", ["mrsd"]),
        ("thinkcap comp", ["completion"]),
    ],
)
def test_the_shell_completes_values(typed: str, offered: list[str]) -> None:
    assert complete(typed) == [f"plain,{word}" for word in offered]


def test_files_are_offered_where_no_name_fits() -> None:
    assert complete("thinkcap study --task que") == ["file,que"]
    assert complete("thinkcap diagnose logs/") == ["file,logs/"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_what_a_shell_reads(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", shell])
    assert f"_THINKCAP_COMPLETE={shell}_complete" in capsys.readouterr().out


def test_a_time_is_said_as_people_do() -> None:
    assert [span(s) for s in (0.4, 40, 95, 5_000, 12_000)] == ["0 s", "40 s", "2 min", "83 min", "3 h 20 min"]


def test_cells_have_intervals_rounded_outwards_and_gaps_are_seen() -> None:
    cells = [
        {"policy": "think", "budget": 64, "accuracy": 0.785, "ci": [0.7231, 0.8362]},
        {"policy": "close", "budget": 128, "accuracy": None, "ci": [None, None]},
    ]
    assert percent(cells[0]) == "78.5 (72-84)"
    assert [line.split() for line in table(cells).splitlines()[1:]] == [
        ["64", "78.5", "(72-84)", "-"],
        ["128", "-", "-"],
    ]
