"""`stop` and `auto` over an engine whose every token is known, and over stored traces."""

import json
from pathlib import Path

import pytest

from thinkcap.allocate.file import Allocation, CapEntry
from thinkcap.allocate.fit import Pool, train
from thinkcap.allocate.stop import StopCheck, Stopping, StopRule
from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import drive, stream
from thinkcap.core.types import Question, Run
from thinkcap.engines.scripted import QUIET, ScriptedEngine
from thinkcap.policies.registry import policy
from thinkcap.traces.remember import Remembering
from thinkcap.traces.store import TraceStore

Q = Question("q", ({"role": "user", "content": "2+3?"},), kind="number")
GO, STOP = StopCheck(9, 0.5, 0.0, 1.0), StopCheck(9, 0.1, 1.0, 0.0)


def engine(thought: str = "x" * 400) -> ScriptedEngine:
    def reply(prompt: str) -> str:
        if QUIET in prompt[-40:]:
            return "#### 7" if "Work on this" in prompt else "#### 5"
        return f"<think>{thought}</think>#### 6" if prompt.endswith("[assistant]") else "#### 8"

    return ScriptedEngine(reply)


def table(folder: Path, *rows: tuple[StopCheck, StopCheck, StopCheck]) -> str:
    """Checkpoints at 20, 40, 60 ... with these decisions."""
    points = tuple(20 * (i + 1) for i in range(len(rows)))
    path = folder / "table.json"
    path.write_text(Allocation(stop=Stopping(points, (StopRule(20 * len(rows) + 20, rows),))).to_json())
    return str(path)


async def run(word: str, cap: int, model: object) -> Run:
    return await drive(policy(word)(Q, cap), model, cap=cap)  # type: ignore[arg-type]


async def test_nothing_is_generated_after_the_stop(tmp_path: Path) -> None:
    rows = ((GO, GO, GO), (STOP, STOP, STOP), (GO, GO, GO))
    model = engine()
    done = await run(f"stop(table={table(tmp_path, *rows)},answer=30)", 200, model)
    assert [(s.request.stage, s.completion.tokens) for s in done.steps[:2]] == [("think", 20), ("think", 20)]
    assert done.answer.stage == "close"
    assert done.answer.text == "#### 8"
    assert done.answer.notes["stopped"] == 40
    assert model.generated == sum(s.completion.tokens for s in done.steps) < 60
    # Two steps of thought, the forced close, its answer and the end of the turn.
    assert done.charged == 40 + done.steps[2].completion.forced + len("#### 8") + 1


async def test_a_chain_that_ends_between_checkpoints_is_the_same_chain(tmp_path: Path) -> None:
    rows = ((GO, GO, GO),) * 4
    for length in (5, 19, 25, 45, 70):
        whole = await run("think", 300, engine("y" * length))
        steps = await run(f"stop(table={table(tmp_path, *rows)},answer=30)", 300, engine("y" * length))
        assert steps.answer.text == whole.answer.text == "#### 6"
        assert steps.charged == whole.charged
        assert steps.answer.stage == "think"


async def test_signals_decide(tmp_path: Path) -> None:
    rows = ((GO, STOP, GO), (GO, GO, GO))
    word = f"stop(table={table(tmp_path, *rows)},answer=30)"
    assert "stopped" not in (await run(word, 90, engine("a b c d " * 2 + "1 2 3 4 5 6"))).answer.notes
    stopped = await run(word, 90, engine("ab wait, no " + "1 2 3 4 5 6 7 8 9 " * 5))
    assert stopped.answer.notes["stopped"] == 20
    assert stopped.answer.notes["checks"] == ((20, 1),)


async def test_probe_and_extraction(tmp_path: Path) -> None:
    assert (await run("stop(first=20)", 200, engine())).answer.stage == "probe"
    word = f"stop(first=3,how=extract,answer=30,table={table(tmp_path, (STOP, STOP, STOP))})"
    done = await run(word, 200, engine())
    assert [s.request.stage for s in done.steps] == ["probe", "think", "extract"]
    assert done.answer.text == "#### 7"
    with pytest.raises(ConfigError, match="did you mean 'close'"):
        await run("stop(how=clos)", 100, engine())


async def test_steps_of_a_stored_thought_cost_no_token_again(tmp_path: Path) -> None:
    model = engine("z" * 90)
    word = f"stop(table={table(tmp_path, *((GO, GO, GO),) * 5)},answer=30)"
    with TraceStore.open(tmp_path / "t.sqlite", "f") as store:
        remembering = Remembering(model, store)
        whole = await run("think", 200, remembering)
        before = model.generated
        steps = await run(word, 200, remembering)
        assert model.generated == before
        assert steps.generated == 0
        assert steps.charged == whole.charged
        # The other way round: steps first, then the whole, continues where the steps ended.
        other = Question("p", ({"role": "user", "content": "4+4?"},), kind="number")
        cut = await drive(policy(word)(other, 90), remembering, cap=90)
        assert cut.answer.stage == "close"
        before = model.generated
        await drive(policy("think")(other, 200), remembering, cap=200)
        assert 0 < model.generated - before < whole.charged


async def test_a_reader_sees_the_thought_once(tmp_path: Path) -> None:
    word = f"stop(table={table(tmp_path, *((GO, GO, GO),) * 3)},answer=30)"
    shown = {"thought": "", "answer": ""}
    async for piece in stream(policy(word)(Q, 200), engine("t" * 50), cap=200):
        if not isinstance(piece, Run):
            shown[piece.channel] += piece.text
    assert shown["thought"].strip() == "t" * 50
    assert shown["answer"].strip() == "#### 6"


async def test_auto_does_what_its_file_says(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    entries = (CapEntry(10, "nothink"), CapEntry(100, "split(think=40,answer=30)", "split"))
    path.write_text(Allocation(entries).to_json())
    quick = await run(f"auto(table={path})", 50, engine())
    assert (quick.answer.text, quick.answer.notes["auto"]) == ("#### 5", "nothink")
    assert (await run(f"auto(table={path})", 150, engine())).answer.text == "#### 7"
    # A smaller cap than any measured one does not think.
    assert (await run(f"auto(table={path})", 9, engine())).answer.notes["auto"] == "nothink"


async def test_auto_gives_each_question_its_budget(tmp_path: Path) -> None:
    import numpy as np

    from thinkcap.allocate.features import features

    texts = ["2+3?", "Tell me, at length, what 2+3 would be if " + "both were larger " * 20]
    x = np.stack([features(t) for t in texts * 20])
    right = np.array([[True, True, True], [False, False, True]] * 20)
    fitted = train("logistic", Pool(x, (0, 20, 40), right, np.ones((40, 3), dtype=np.int64)))
    path = tmp_path / "a.json"
    entry = CapEntry(10, "stop(think=40,answer=30,checks=false)", "allocator", "nothink", 0.8)
    path.write_text(Allocation((entry,), allocator=fitted.to_mapping()).to_json())
    stages = []
    for text in texts:
        question = Question(text, ({"role": "user", "content": text},), kind="number")
        done = await drive(policy(f"auto(table={path})")(question, 100), engine(), cap=100)
        stages.append([(s.request.stage, s.request.budget) for s in done.steps])
    assert stages == [[("answer", 100)], [("think", 40), ("close", 30)]]


def test_a_bad_file_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    good = json.loads(Allocation().to_json())
    for text, message in (
        ("{", "not JSON"),
        ("[]", "wanted a table with caps"),
        (json.dumps({**good, "cap": []}), "did you mean 'caps'"),
        (
            json.dumps({**good, "caps": [{"at_least": 0, "policy": "nothink"}]}),
            "caps: number 1: at_least: wanted a number of tokens of at least 1, saw 0",
        ),
        (json.dumps({**good, "caps": [{"at_least": 1, "policy": "x", "sur": 1}]}), "did you mean 'sure'"),
        (json.dumps({**good, "caps": [{"at_least": 1, "policy": "nothink", "sure": 0.5}]}), "needs an allocator"),
        (json.dumps({**good, "allocator": {"kind": "mlp"}}), "cannot be read"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=message):
            Allocation.from_file(path)
    with pytest.raises(ConfigError, match="calibrate --allocate"):
        Allocation.from_file(tmp_path / "none.json")
