"""Bad words on the command line: one line on standard error, exit code 2, never a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

from patience import PATIENCE_S
from thinkcap.cli import main

APART = {"did you mean 'study'", "broken.gguf", "127.0.0.1:9"}
"""Also as a program of its own; for the others, starting one would show nothing more."""


def run(*words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "thinkcap", *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["stduy"], "did you mean 'study'"),
        (["study", "--bugdets", "3"], "bugdets"),
        (["study", "--budgets", "3;4"], "wanted whole numbers"),
        (
            ["study", "nowhere.toml"],
            "cannot read the study 'nowhere.toml': No such file or directory; wanted a TOML file",
        ),
        (["study", "broken.toml"], "the study 'broken.toml' is not TOML"),
        (["study", "wrong.toml"], "did you mean 'budgets'"),
        (["study", "--model", "nowhere.gguf"], "nowhere.gguf"),
        (["study", "--model", "broken.gguf", "--limit", "1"], "broken.gguf"),
        (["study", "--model", "htp://x"], "cannot tell what model"),
        (["study", "--model", "http://127.0.0.1:9/v1", "--limit", "1", "--timeout", "1"], "127.0.0.1:9"),
        (["study", "--task", "gsm9k"], "did you mean 'gsm8k'"),
        (["study", "--task", "family:arithmetics"], "did you mean 'arithmetic'"),
        (["study", "--task", "nowhere.jsonl"], "nowhere.jsonl"),
        (["study", "--policy", "iriss"], "did you mean 'iris'"),
        (["study", "--policy", "mine:policy"], "no module named 'mine'"),
        (["study", "--limit", "0"], "at least 1"),
        (["study", "--limit", "x"], "not a valid integer"),
        (["study", "--preset", "gsm"], "did you mean 'gsm8k'"),
        (["study", "--max-cost", "1"], "needs a price"),
        (["study", "--price", "1,2"], "INPUT,CACHED,OUTPUT"),
        (["study", "--seeds", "1,1"], "different seeds"),
        (["ask", "hi", "--cap", "0"], "cap is 0; wanted at least 1 token"),
        (["ask", "hi", "--policy", "nope"], "unknown policy 'nope'"),
        (["traces", "show", "nowhere"], "no trace store"),
        (["traces", "prune", "nowhere"], "--unended or --longer-than"),
        (["regrade", "nowhere"], "no rows at 'nowhere'"),
    ],
)
def test_one_line_and_exit_code(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "broken.toml").write_text("= nonsense")
    (tmp_path / "wrong.toml").write_text('buget = "64"')
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + b"\0" * 50)
    if said in APART:
        done = run(*words, cwd=tmp_path)
        code, shown = done.returncode, done.stderr
    else:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(SystemExit) as end:
            main(words)
        code, shown = end.value.code, capsys.readouterr().err  # type: ignore[assignment]
    assert said in shown
    assert "Traceback" not in shown
    assert len([line for line in shown.splitlines() if line.startswith("thinkcap: ")]) == 1
    # An endpoint that does not answer is not a mistake in the words: it failed.
    assert code == (1 if "127.0.0.1" in said else 2)


@pytest.mark.parametrize("words", [["study", "--help"], ["ask", "-h"], ["traces", "--help"], ["--version"]])
def test_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    assert "thinkcap" in capsys.readouterr().out


def test_help_of_the_program(tmp_path: Path) -> None:
    done = run("--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "thinkcap" in done.stdout
