"""`thinkcap ask`: where the question comes from, what is refused, and what the JSON holds."""

import io
import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

import thinkcap
from thinkcap.cli import main
from thinkcap.cli.ask import command
from thinkcap.tasks.families import FAMILIES


@pytest.mark.parametrize("words", [[], ["-"]])
def test_the_question_may_come_from_standard_input(words: list[str]) -> None:
    said = CliRunner().invoke(command, [*words, "--json"], input="What is 48 * 57 + 9?\n")
    found = json.loads(said.output)
    assert found["answer"] == "2745"
    assert found["tokens"] <= 512


@pytest.mark.parametrize("words", [["ask", ""], ["ask", " \n"], ["ask", "2 + 3?", "--cap", "0"], ["ask", "-"]])
def test_nothing_asked_and_no_tokens_are_refused_in_one_line(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "empty" in line or "at least 1 token" in line


def test_python_refuses_them_too() -> None:
    with pytest.raises(thinkcap.ThinkcapError, match="at least 1 token"):
        thinkcap.ask("What is 2 + 3?", cap=0)
    with pytest.raises(thinkcap.ThinkcapError, match="empty"):
        thinkcap.ask("  ", cap=10)


def test_a_newcomer_learns_what_the_bundled_model_knows() -> None:
    told = CliRunner().invoke(command, ["What is 2 + 3?", "--policy", "nothink", "--cap", "40"]).stderr
    (line,) = [line for line in told.splitlines() if line.startswith("the bundled model knows only ")]
    kinds = line.removeprefix("the bundled model knows only ").partition("; ")[0]
    assert len(kinds.split(", ")) == len(FAMILIES)
    assert "--model" in line


def test_asking_loads_nothing_that_only_studies_need() -> None:
    loaded = "import thinkcap.api, thinkcap.calibrate.choice, thinkcap.engines.llamacpp, thinkcap.grading"
    heavy = ("numpy", "pyarrow", "sympy", "matplotlib", "starlette")
    program = f"import sys; {loaded}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
