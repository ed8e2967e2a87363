"""Chains as text beside the rows: exact at every cut, and made without asking the model again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from thinkcap.api import run_study as run
from thinkcap.core.errors import DataError
from thinkcap.core.sync import wait
from thinkcap.engines.scripted import CLOSE, OPEN, QUIET, ScriptedEngine
from thinkcap.study.config import StudyConfig
from thinkcap.study.questions import FILE, _heads, read_questions
from thinkcap.traces.remember import Remembering
from thinkcap.traces.store import TraceStore

THOUGHT = "carry the \N{MATHEMATICAL BOLD DIGIT ONE} and go on " * 3
QUICK = "so #### 7"


def script(prompt: str) -> str:
    return QUICK if QUIET in prompt[-30:] else f"{OPEN}{THOUGHT}{CLOSE}#### 8"


def config(out: Path, **more: object) -> StudyConfig:
    words = {"limit": 3, "budgets": "8,32,512", "policies": "nothink,think,iris", "out": str(out), **more}
    return StudyConfig.from_mapping(words)


def browser_text(text: str, units: int) -> str:
    """The first so many UTF-16 units, as JavaScript's slice gives them."""
    return text.encode("utf-16-le")[: 2 * units].decode("utf-16-le")


def test_every_cut_is_what_a_run_at_that_budget_has(tmp_path: Path) -> None:
    wait(run(config(tmp_path), engine=ScriptedEngine(script)))
    asked = list(read_questions(tmp_path))
    assert len(asked) == 3
    whole = f"{OPEN}{THOUGHT}{CLOSE}#### 8"
    for question in asked:
        chain = question.chains["think"]
        assert chain.text == whole
        assert chain.ended
        # Tags are one token, every other character is one, and the end of the turn is one more.
        assert chain.tokens == len(whole) - len(OPEN) - len(CLOSE) + 2 + 1
        cuts = dict(chain.cuts)
        assert {8, 32} <= set(cuts)
        assert 512 not in cuts
        for budget, place in cuts.items():
            assert browser_text(whole, place) == whole[: budget - 1 + len(OPEN)]
        assert chain.closed is not None
        assert browser_text(whole, chain.closed).endswith(CLOSE)
        assert question.chains["nothink"].text == QUICK
        assert question.chains["nothink"].closed is None
        assert question.gold


def test_writing_asks_the_model_nothing(tmp_path: Path) -> None:
    first = ScriptedEngine(script)
    wait(run(config(tmp_path), engine=first))
    (tmp_path / FILE).unlink()
    again = ScriptedEngine(script)
    wait(run(config(tmp_path), engine=again))
    assert again.calls == []
    assert len(list(read_questions(tmp_path))) == 3


LINES = "one step\n" * 9


@pytest.mark.parametrize(
    "policy", ["sure(at=line)", "settle(at=line,last=2)", "wait", "estimate", "skip", "shortest"]
)
def test_thoughts_that_stop_early_are_not_written_to_their_end(tmp_path: Path, policy: str) -> None:
    """Every token the model wrote is in a row: none was written only to be shown."""

    def lines(prompt: str) -> str:
        if not prompt.endswith("[assistant]") and CLOSE in prompt:
            return "8\n"
        return QUICK if QUIET in prompt[-30:] else f"{OPEN}{LINES}{CLOSE}#### 8"

    engine = ScriptedEngine(lines)
    done = wait(run(config(tmp_path, policies=policy, budgets="96,512"), engine=engine))
    assert engine.generated == done.summary["tokens_generated"] > 0
    for question in read_questions(tmp_path):
        for chain in question.chains.values():
            assert f"{OPEN}{LINES}{CLOSE}#### 8".startswith(chain.text) or chain.text == QUICK


def test_online_runs_store_the_longest_chain(tmp_path: Path) -> None:
    engine = ScriptedEngine(script)
    wait(run(config(tmp_path, online=True), engine=engine))
    generated = engine.generated
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["tokens_generated"] == generated
    assert all(q.chains["think"].ended for q in read_questions(tmp_path))


def test_nothing_where_there_is_no_file(tmp_path: Path) -> None:
    assert list(read_questions(tmp_path)) == []


@pytest.mark.parametrize("line", [b"{}", b'{"task": "\xff"}', b"[" * 5000])
def test_a_broken_line_is_named(line: bytes, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(line + b"\n")
    with pytest.raises(DataError, match="line 1"):
        list(read_questions(tmp_path))


class Bytewise(ScriptedEngine):
    """Tokens are bytes, so that a cut may fall into the middle of a character."""

    async def read(self, ids: Sequence[int]) -> str:
        return bytes(ids).decode("utf-8", "replace")


@pytest.mark.parametrize(
    "text", ["plain words", "a \N{MATHEMATICAL BOLD DIGIT ONE}\N{MATHEMATICAL BOLD DIGIT TWO} b"]
)
def test_beginnings_of_a_chain_are_read_whole_where_its_pieces_do_not_make_it_up(
    tmp_path: Path, text: str
) -> None:
    async def check() -> None:
        engine = Bytewise(script)
        ids = tuple(text.encode())
        with TraceStore.open(tmp_path / "t.sqlite", engine.card.fingerprint) as store:
            for cuts in ([2, 6], [3, 4, 9], [len(ids) - 1], []):
                found = await _heads(Remembering(engine, store), ids, text, cuts)
                assert found == [await engine.read(ids[:cut]) for cut in cuts]

    wait(check())
