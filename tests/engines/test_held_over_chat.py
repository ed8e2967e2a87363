"""A thought held by a server that is asked over chat: the field is sent, and what comes back is checked."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web
from hostile import Hostile

from thinkcap.core.errors import EngineRefused, Unsupported
from thinkcap.core.flow import drive
from thinkcap.core.types import Question
from thinkcap.engines import open_engine
from thinkcap.policies.registry import policy

QUESTION = Question("q", ({"role": "user", "content": "What is 40 + 2?"},), kind="number")
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
)
HOLDS = "reasoning_budget_tokens"


class Llama(Hostile):
    """llama.cpp's server as far as chat needs it; one that does not `hold` ignores the field."""

    def __init__(self, hold: bool = True) -> None:
        super().__init__(think=lambda question: "hm " * 500)
        self.hold = hold

    def more(self) -> list[web.RouteDef]:
        told = {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 2, "chat_template": TEMPLATE}

        async def props(request: web.Request) -> web.Response:
            return web.json_response(told)

        async def rendered(request: web.Request) -> web.Response:
            body = await request.json()
            off = body.get("chat_template_kwargs", {}).get("enable_thinking") is False
            return web.json_response({"prompt": "Hi<|im_start|>assistant\n" + "<think>\n\n</think>\n\n" * off})

        async def tokens(request: web.Request) -> web.Response:
            return web.json_response({"tokens": [1] * len((await request.json())["content"].split())})

        return [
            web.get("/props", props),
            web.post("/apply-template", rendered),
            web.post("/tokenize", tokens),
        ]

    def _words(self, body: dict[str, Any], behaviour: str) -> tuple[list[str], list[str], bool]:
        if self.hold and HOLDS in body:
            whole = self.think
            self.think = lambda question: " ".join(whole(question).split()[: body[HOLDS]])
            try:
                return super()._words(body, behaviour)
            finally:
                self.think = whole
        return super()._words(body, behaviour)


async def test_the_budget_is_sent_and_the_answer_comes_back() -> None:
    async with Llama() as server:
        engine = await open_engine(server.url, transport="chat", canary_every=0)
        run = await drive(policy("native(reserve=50)")(QUESTION, 150), engine, cap=150)
        await engine.aclose()
        assert server.bodies[-1][HOLDS] == 100
        assert (run.answer.text, run.charged) == ("the answer is 42", 105)


async def test_a_server_that_thinks_on_is_refused() -> None:
    async with Llama(hold=False) as server:
        engine = await open_engine(server.url, transport="chat", canary_every=0)
        with pytest.raises(EngineRefused, match=f"thought for 300 tokens where {HOLDS} was 200"):
            await drive(policy("native(reserve=100)")(QUESTION, 300), engine, cap=300)
        await engine.aclose()


async def test_another_server_has_no_such_field() -> None:
    async with Hostile() as server:
        engine = await open_engine(server.url, canary_every=0)
        with pytest.raises(Unsupported, match="to the server to end a thought, which 'openai' at 'small'"):
            await drive(policy("native")(QUESTION, 100), engine, cap=100)
        await engine.aclose()
