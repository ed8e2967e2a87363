"""The whole way to an Ollama server: its list, `/api/show`, chat with `reasoning`, in the documented shapes."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web
from hostile import Hostile

from thinkcap.core.complete import complete
from thinkcap.core.flow import drive
from thinkcap.core.types import Question, Request
from thinkcap.doctor.examine import examine
from thinkcap.engines import open_engine
from thinkcap.policies.registry import policy

QUESTION = Question("q", ({"role": "user", "content": "What is 40 + 2?"},), kind="number")
TEMPLATE = "{{ range .Messages }}{{ if .Thinking }}<muse>{{ .Thinking }}</muse>{{ end }}{{ .Content }}{{ end }}"


class Ollama(Hostile):
    def __init__(self, shown: dict[str, Any]) -> None:
        super().__init__(field="reasoning", model="muse:8b", owner="library")
        self.shown = shown
        self.asked: list[Any] = []

    def more(self) -> list[web.RouteDef]:
        return [web.post("/api/show", self._show)]

    def thinks(self, body: dict[str, Any]) -> bool:
        """It knows no arguments of templates; `reasoning_effort` is what turns thinking off."""
        return "thinking" in self.shown["capabilities"] and body.get("reasoning_effort") != "none"

    async def _show(self, request: web.Request) -> web.Response:
        self.asked.append(await request.json())
        details = {"format": "gguf", "family": "muse", "parameter_size": "8B", "quantization_level": "Q4_K_M"}
        fixed = {"modelfile": "FROM muse", "parameters": "", "details": details, "model_info": {}}
        return web.json_response({**fixed, **self.shown})


@pytest.fixture
def thinking() -> Ollama:
    return Ollama({"template": TEMPLATE, "capabilities": ["completion", "thinking"]})


async def test_the_dialect_is_shown_and_the_switch_is_found(thinking: Ollama) -> None:
    async with thinking as server:
        engine = await open_engine(server.url, canary_every=0)
        assert server.asked == [{"model": "muse:8b"}]
        card = engine.card
        assert (card.open_tag, card.close_tag, card.dialect_by) == ("<muse>", "</muse>", "Ollama's template")
        assert card.switch == "native"
        thought = await complete(engine, Request(QUESTION, "think", 60, "s"))
        quiet = await complete(engine, Request(QUESTION, "nothink", 60, "s"))
        assert (thought.thought, thought.answer) == ("let me see it is clear now", "the answer is 42")
        assert (quiet.thought, quiet.answer) == (None, "the answer is 42")
        await engine.aclose()


async def test_doctor_says_where_it_was_found(thinking: Ollama) -> None:
    async with thinking as server:
        said = (await examine(server.url, tokens=64)).table()
    assert "<muse> ... </muse>" in said
    assert "Ollama's template" in said


async def test_a_model_without_thinking_is_asked_without_it() -> None:
    async with Ollama({"template": "{{ .Prompt }}", "capabilities": ["completion"]}) as server:
        engine = await open_engine(server.url, canary_every=0)
        assert engine.card.dialect_by == "Ollama's capabilities"
        run = await drive(policy("nothink")(QUESTION, 60), engine, cap=60)
        assert run.answer.text == "the answer is 42"
        await engine.aclose()
