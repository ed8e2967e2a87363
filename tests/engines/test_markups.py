"""The bundled model speaks other dialects as well as its own: same thoughts, same answers, same accuracy."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markups import MARKUPS, Markup, gguf_of

from thinkcap import api
from thinkcap.core.complete import complete
from thinkcap.core.engine import Engine, EngineCard
from thinkcap.core.flow import drive
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.thinking import Delta
from thinkcap.core.types import Completion, Question, Request
from thinkcap.dialects import of_template
from thinkcap.engines import open_engine
from thinkcap.policies.registry import policy

QUESTION = Question(
    "q", ({"role": "user", "content": PROMPTS.asked("What is 48 * 57 + 9?", "number")},), kind="number"
)
WHOLE = 400
CUT = 60


@pytest.fixture(scope="module", params=MARKUPS.values(), ids=lambda m: m.name)
def markup(request: pytest.FixtureRequest) -> Markup:
    found: Markup = request.param
    return found


@pytest.fixture(scope="module")
def path(markup: Markup, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return gguf_of(tmp_path_factory.mktemp("markup"), markup)


def test_the_template_tells_all(markup: Markup) -> None:
    found = of_template(markup.template)
    assert (found.open_tag, found.close_tag) == (markup.open_tag, markup.close_tag)
    assert (found.open, found.close) == (f"{markup.open_tag}\n", f"\n{markup.close_tag}\n\n")
    assert found.prompt_opens_when_on == markup.opens
    assert found.thinking == ("always" if markup.levels else "switch")
    assert (found.off or found.off_by_message) == markup.off
    assert found.levels == markup.levels


async def asked(engine: Engine, mode: str, budget: int) -> tuple[Completion, str, str]:
    """A completion, and what a reader saw of thought and answer meanwhile."""
    shown: list[Delta] = []
    request = Request(QUESTION, mode, budget, stage="s")  # type: ignore[arg-type]
    found = await complete(engine, request, shown.append)
    return found, *("".join(d.text for d in shown if d.channel == c) for c in ("thought", "answer"))


async def answered(engine: Engine, saved: int = 0, silent: bool = True) -> dict[str, Any]:
    """What the model makes of the question in every way; `saved` tokens of a thought were in the prompt."""
    card = engine.card
    assert card.dialect_by == "template"
    assert card.close_id is not None
    ways: dict[str, Any] = {}
    for mode, budget in (("think", WHOLE), ("think", CUT), *([("nothink", WHOLE)] if silent else [])):
        spared = saved if mode == "think" else 0
        found, thought, answer = await asked(engine, mode, budget - spared)
        assert thought == (found.thought or "")
        assert answer == (found.answer or "")
        tokens = found.think_tokens + (spared if found.thought else 0)
        ways[f"{mode} {budget}"] = (found.thought, found.answer, found.ended, tokens)
    cap = CUT + 40 - saved
    closed = await drive(policy("close", card.spoken(PROMPTS))(QUESTION, cap), engine, cap=cap)
    assert closed.steps[-1].completion.forced > 0
    ways["close"] = closed.answer.text
    return ways


@pytest.fixture(scope="module")
def original() -> dict[str, Any]:
    async def ways() -> dict[str, Any]:
        engine = await open_engine("bundled", concurrency=2)
        try:
            return await answered(engine)
        finally:
            await engine.aclose()

    return asyncio.run(ways())


async def test_thought_and_answer_are_the_original_ones(
    markup: Markup, path: Path, original: dict[str, Any]
) -> None:
    engine = await open_engine(str(path), concurrency=2)
    card = engine.card
    assert (card.open_tag, card.close_tag) == (markup.open_tag, markup.close_tag)
    assert card.switch == ("none" if markup.levels else "native")
    assert card.levels == markup.levels
    # What the prompt has opened the model does not write: two tokens, the mark and its line end.
    found = await answered(engine, saved=2 if markup.opens else 0, silent=not markup.levels)
    await engine.aclose()
    assert found == {way: original[way] for way in found}
    assert len(found) == (3 if markup.levels else 4)


@pytest.mark.slow
def test_a_study_finds_the_original_accuracies(markup: Markup, path: Path, tmp_path: Path) -> None:
    found = []
    # Thoughts that the prompt opens are two tokens shorter, so only where none is cut are the cells the same.
    budgets = [768] if markup.opens else [128]
    policies = "think[heuristic],close,split" + ("" if markup.levels else ",nothink,iris")
    for model in ("bundled", str(path)):
        out = str(tmp_path / f"{model[-4:]}")
        summary = api.study(model=model, out=out, budgets=budgets, policies=policies, limit=6)
        found.append([(c["policy"], c["budget"], c["accuracy"]) for c in summary["cells"]])
    assert found[0] == found[1]
    assert any(accuracy > 0 for *_, accuracy in found[0])


async def test_a_dialect_of_ones_own_overrides(tmp_path: Path) -> None:
    markup = MARKUPS["brackets"]
    file = tmp_path / "mine.toml"
    file.write_text(
        f'thinking = "switch"\nopen_tag = "{markup.open_tag}"\nclose_tag = "{markup.close_tag}"\n'
        f'close = "\\n{markup.close_tag}\\n\\n"\non = {{enable_thinking = true}}\n'
        f"off = {{enable_thinking = false}}\n"
    )
    engine = await open_engine(str(gguf_of(tmp_path, markup)), concurrency=1, dialect=str(file))
    assert (engine.card.dialect, engine.card.dialect_by) == ("mine", "option")
    found = await complete(engine, Request(QUESTION, "think", WHOLE, stage="s"))
    assert found.thought
    assert found.answer
    assert markup.close_tag not in found.answer
    await engine.aclose()


def test_prompts_of_ones_own_stay() -> None:
    card = EngineCard("scripted", "m", "f", "ids", closing="\n[/THINK]\n\n")
    assert card.spoken(PROMPTS).close == "\n[/THINK]\n\n"
    assert card.spoken(PROMPTS).project == "\n[/THINK]\n\nThe final answer:"
    mine = replace(PROMPTS, close="\nSo.\n[/THINK]\n")
    assert card.spoken(mine).close == mine.close
