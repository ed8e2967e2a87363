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


def test_no_answer_is_an_error_with_its_true_cause(capsys: pytest.CaptureFixture[str]) -> None:
    cause = "the model stopped without giving one, after 11 of 384 tokens"
    for words in (["ask", "What is 2+2?"], ["ask", "What is 2+2?", "--json"], ["-q", "ask", "What is 2+2?"]):
        with pytest.raises(SystemExit) as end:
            main(words)
        out, err = capsys.readouterr()
        assert end.value.code == 1
        assert err.splitlines()[-1] == f"thinkcap: no answer: {cause}"
        assert "--json" not in words or json.loads(out)["no_answer"] == cause
        assert "-q" not in words or out == ""
    assert thinkcap.ask("What is 2+2?", cap=512).no_answer == cause


def test_truncated_reasoning_is_reported_with_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["ask", "What is 48 * 57 + 9?", "--cap", "24", "--policy", "think"])
    assert end.value.code == 1
    assert "the reasoning used up its budget and was truncated (24 of 24 tokens)" in capsys.readouterr().err


@pytest.mark.parametrize("policy", ["nothink", "vote"])
@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_a_text_without_an_answer_of_the_kind_is_printed(
    policy: str, quiet: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["ask", "What is 48 * 57 + 9?", "--kind", "label", "--policy", policy, "--cap", "200"]
    assert not main([*quiet, *words])
    out, err = capsys.readouterr()
    assert "####" in out
    assert bool(quiet) or "note: the text contains no label" in err


def test_a_guess_from_truncated_reasoning_is_printed_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ask", "What is 48 * 57 + 9?", "--kind", "number", "--policy", "think[heuristic]", "--cap", "24"]
    assert not main(words)
    out, err = capsys.readouterr()
    assert out.split()[-1] == "56"
    assert "note: the answer is a guess from truncated reasoning (24 of 24 tokens)" in err
