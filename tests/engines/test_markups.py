"""The bundled model speaks other dialects as well as its own: same thoughts, same answers, same accuracy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from markups import MARKS, opened_by_prompt, renamed

from thinkcap import api
from thinkcap.core.engine import Engine, complete
from thinkcap.core.flow import drive
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.thinking import Delta
from thinkcap.core.types import Completion, Question, Request
from thinkcap.engines import open_engine
from thinkcap.policies.registry import policy

QUESTION = Question(
    "q", ({"role": "user", "content": PROMPTS.asked("What is 48 * 57 + 9?", "number")},), kind="number"
)
WHOLE = 400
CUT = 60


@pytest.fixture(scope="module", params=[*MARKS, "opened"])
def other(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    path = tmp_path_factory.mktemp("markup") / "pebble.gguf"
    return request.param, opened_by_prompt(path) if request.param == "opened" else renamed(path, request.param)


async def asked(engine: Engine, mode: str, budget: int) -> tuple[Completion, str, str]:
    """A completion, and what a reader saw of thought and answer meanwhile."""
    shown: list[Delta] = []
    request = Request(QUESTION, mode, budget, stage="s")  # type: ignore[arg-type]
    found = await complete(engine, request, shown.append)
    return found, *("".join(d.text for d in shown if d.channel == c) for c in ("thought", "answer"))


async def test_thought_and_answer_are_the_original_ones(other: tuple[str, Path]) -> None:
    name, path = other
    seen = []
    for model in ("bundled", str(path)):
        engine = await open_engine(model, concurrency=2)
        card = engine.card
        assert card.switch == "native"
        assert card.dialect_by == "template"
        assert card.close_id is not None
        if model != "bundled" and name in MARKS:
            assert (card.open_tag, card.close_tag) == tuple(m.decode() for m in MARKS[name])
        ways = []
        for mode, budget in (("think", WHOLE), ("think", CUT), ("nothink", WHOLE)):
            # What the prompt has opened the model does not write: two tokens, the mark and its line end.
            saved = 2 if model != "bundled" and name == "opened" and mode == "think" else 0
            found, thought, answer = await asked(engine, mode, budget - saved)
            assert thought == (found.thought or "")
            assert answer == (found.answer or "")
            ways.append(
                (found.thought, found.answer, found.ended, found.think_tokens + (saved if found.thought else 0))
            )
        closed = await drive(policy("close", card.spoken(PROMPTS))(QUESTION, CUT + 40), engine, cap=CUT + 40)
        ways.append(closed.answer.text if name != "opened" else bool(closed.answer.text))
        assert closed.steps[-1].completion.forced > 0
        seen.append(ways)
        await engine.aclose()
    assert seen[0] == seen[1]


@pytest.mark.slow
def test_a_study_finds_the_original_accuracies(other: tuple[str, Path], tmp_path: Path) -> None:
    name, path = other
    found = []
    for model in ("bundled", str(path)):
        options = {"policies": "nothink,think[heuristic],close,iris", "limit": 6}
        # Thoughts that the prompt opens are two tokens shorter, so only where none is cut are the cells the same.
        budgets = [768] if name == "opened" else [128]
        summary = api.study(model=model, out=str(tmp_path / f"{model[-4:]}"), budgets=budgets, **options)
        found.append([(c["policy"], c["budget"], c["accuracy"]) for c in summary["cells"]])
    assert found[0] == found[1]
    assert any(accuracy > 0 for *_, accuracy in found[0])


async def test_a_dialect_of_ones_own_overrides(other: tuple[str, Path], tmp_path: Path) -> None:
    name, path = other
    if name == "opened":
        pytest.skip("its marks are the common ones")
    opened, closed = (m.decode() for m in MARKS[name])
    file = tmp_path / "mine.toml"
    file.write_text(
        f'thinking = "switch"\nopen_tag = "{opened}"\nclose_tag = "{closed}"\n'
        f'close = "\\n{closed}\\n\\n"\non = {{enable_thinking = true}}\noff = {{enable_thinking = false}}\n'
    )
    engine = await open_engine(str(path), concurrency=1, dialect=str(file))
    assert (engine.card.dialect, engine.card.dialect_by) == ("mine", "option")
    found = await complete(engine, Request(QUESTION, "think", WHOLE, stage="s"))
    assert found.thought
    assert found.answer
    assert closed not in found.answer
    await engine.aclose()


def test_prompts_of_ones_own_stay() -> None:
    from thinkcap.core.engine import EngineCard

    card = EngineCard("scripted", "m", "f", "ids", closing="\n[/THINK]\n\n")
    assert card.spoken(PROMPTS).close == "\n[/THINK]\n\n"
    assert card.spoken(PROMPTS).project == "\n[/THINK]\n\nThe final answer:"
    mine = replace(PROMPTS, close="\nSo.\n[/THINK]\n")
    assert card.spoken(mine).close == mine.close
