"""Every verb with every option given a wrong value: a person reads one line, never a traceback."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import slow_engine

from thinkcap.api import run_study as run
from thinkcap.cli import VERBS, group, main
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.study.config import StudyConfig

WRONG = ("x", "-1", "1.5", "", "nan", "1e999", "a=b,c", "/dev/null/x", "split(think=x)", "\N{SNOWMAN}")
MISSING = "nowhere.gguf"
"""No model is ever opened: where all values pass, the command ends here."""


def commands(
    command: click.Command, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(command, click.Group):
        yield words, command
        return
    ctx = click.Context(command)
    for name in command.list_commands(ctx):
        below = command.get_command(ctx, name)
        assert below is not None
        yield from commands(below, (*words, name))


def options() -> Iterator[tuple[tuple[str, ...], click.Command, str]]:
    for words, command in commands(group):
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.is_flag:
                yield words, command, parameter.opts[-1]


ALL = list(options())


@pytest.fixture(scope="module")
def a_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    config = StudyConfig(tasks=("family:arithmetic",), budgets=(16, 64), limit=4, out=folder)
    asyncio.run(run(config, engine=ScriptedEngine(slow_engine.reply)))
    return folder


def minimal(words: tuple[str, ...], a_run: Path) -> list[str]:
    """Words after which only the option in question can be wrong."""
    match words[0]:
        case "study":
            return ["--model", MISSING, "--limit", "1", "--budgets", "8"]
        case "ask":
            return ["What is 1 + 1?", "--model", MISSING, "--cap", "8"]
        case "serve":
            return [MISSING, "--port", "0"]
        case "doctor":
            return ["http://127.0.0.1:9/v1"]
        case "traces" if words[1] in ("export", "import"):
            return [str(a_run), "exported.jsonl"]
        case "runs":
            return []
        case "view":
            # It would serve until somebody ends it.
            return ["no-such-folder"]
        case _:
            return [str(a_run)]


def code(words: list[str]) -> int:
    """What the command line would exit with; anything but an exit is the traceback nobody should see."""
    try:
        return int(main(words) or 0)
    except SystemExit as end:
        return int(end.code or 0)


def test_the_walk_reaches_every_verb() -> None:
    assert {words[0] for words, _ in commands(group)} == set(VERBS)
    assert len(ALL) > 60


def tried(words: tuple[str, ...] | list[str], command: object, option: str) -> object:
    # The paper's 31 tables are made for each value: too long for every change.
    marks = [pytest.mark.slow] if words[0] == "paper" else []
    return pytest.param(words, command, option, id=" ".join([*words, option]), marks=marks)


@pytest.mark.parametrize(("words", "command", "option"), [tried(*one) for one in ALL])
def test_no_wrong_value_ends_in_a_traceback(
    words: tuple[str, ...],
    command: click.Command,
    option: str,
    a_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for value in WRONG:
        found = code([*words, *minimal(words, a_run), option, value])
        said = capsys.readouterr().err
        assert "Traceback" not in said
        if found:
            assert found in (1, 2)
            assert sum(line.startswith("thinkcap: ") for line in said.splitlines()) == 1, (value, said)


@pytest.mark.parametrize("words", [[], ["traces"]], ids=["thinkcap", "thinkcap traces"])
def test_without_a_word_the_help_is_printed_as_it_is(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert code(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Usage: thinkcap")
    assert len(lines) > 8


def test_a_busy_port(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        assert code(["serve", MISSING, "--port", str(busy.getsockname()[1])]) == 2
    assert "Address already in use; choose another --port" in capsys.readouterr().err


def test_serve_without_its_extra(tmp_path: Path) -> None:
    """A plain install has no uvicorn; a module that cannot be imported stands in for it."""
    (tmp_path / "uvicorn.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'uvicorn'\", name='uvicorn')"
    )
    done = subprocess.run(
        [sys.executable, "-m", "thinkcap", "serve"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        "thinkcap: serving needs 'uvicorn', which is not installed; run: pip install 'thinkcap[serve]'\n"
    )
