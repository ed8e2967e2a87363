"""Does this engine keep its word? Fresh runs at smaller budgets against cuts, continued chains against whole
ones. Batched greedy decoding is not bitwise stable on real engines, so this is measured, never assumed."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from thinkcap.core.engine import Engine
from thinkcap.core.types import GREEDY, Question, Request
from thinkcap.study.plan import StudyPlan


async def verify_prefix(engine: Engine, remembering: Engine, cells: StudyPlan, count: int) -> dict[str, Any]:
    """Agreement over `count` questions in both modes, at half of the largest budget."""
    if engine.card.transport != "ids":
        return {"checked": 0, "reason": "this engine gives no token ids, so no answer is ever cut"}
    largest = max(budget for _, budget in cells.ways)
    questions: dict[str, Question] = {}
    for asking in cells.asked:
        questions.setdefault(asking.question.id, asking.question)
    checked = cut_same = continued = continued_same = 0
    for question in list(questions.values())[:count]:
        for mode in engine.card.modes:
            prompt = await engine.prompt(Request(question, mode, largest, stage="verify"))
            assert prompt.ids is not None
            whole = await remembering.generate(prompt, largest, GREEDY)
            half = max(1, largest // 2)
            cut = await remembering.generate(prompt, half, GREEDY)
            fresh = await engine.generate(prompt, half, GREEDY)
            checked += 1
            cut_same += fresh.ids == cut.ids and fresh.ended == cut.ended
            if fresh.ids is not None and not fresh.ended:
                rest = await engine.generate(replace(prompt, ids=prompt.ids + fresh.ids), largest - half, GREEDY)
                continued += 1
                continued_same += fresh.ids + (rest.ids or ()) == whole.ids
    return {
        "checked": checked,
        "cut_equals_fresh": cut_same,
        "continued": continued,
        "continued_equals_whole": continued_same,
        "budgets": [half, largest],
    }
