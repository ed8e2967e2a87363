"""Coding agents in front of chat templates that reject late system messages or repeated roles."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2
import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment
from running import Client, gateway_before, gateway_running
from tool_server import TOOL, ToolServer

from thinkcap.core.turn_rules import TurnRules
from thinkcap.model import pebble_gguf

TEMPLATES = Path(__file__).parents[3] / "shared/data/templates/templates"
QWEN, MISTRAL = "Qwen3.5-4B.jinja", "mistralai-Ministral-3-14B-Reasoning-2512.jinja"
FUNCTION = TOOL["function"]
REFUSAL = "System message must be at the beginning."


class TemplateServer(ToolServer):
    """The scripted server behind a real template: what that rejects is rejected in the server's own way."""

    def __init__(self, kind: Any, template: str) -> None:
        super().__init__(kind)
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.globals["raise_exception"] = _raise
        environment.globals["strftime_now"] = lambda form: "2026-01-15"
        self._template = environment.from_string(template)
        self.refused: list[str] = []

    async def _answer(self, path: str, body: dict[str, Any], send: Any) -> None:
        try:
            if "messages" in body:
                self._render(body)
        except jinja2.TemplateError as err:
            self.refused.append(str(err))
            await _reject(send, *self._told(str(err)))
            return
        await super()._answer(path, body, send)

    def _render(self, body: dict[str, Any]) -> None:
        self._template.render(
            messages=[_with_mappings(m) for m in body["messages"]],
            tools=body.get("tools"),
            add_generation_prompt=True,
            bos_token="<s>",
            eos_token="</s>",
        )

    def _told(self, reason: str) -> tuple[int, str]:
        if self.kind == "vllm":
            return 400, reason
        return 500, f"\n------------\nWhile executing CallExpression at line 85\nError: Jinja Exception: {reason}"


def _with_mappings(message: dict[str, Any]) -> dict[str, Any]:
    """Servers hand templates the arguments of calls as objects, and a text where a message has none."""
    calls = [
        {
            **c,
            "id": "abcdefghi",
            "function": {**c["function"], "arguments": json.loads(c["function"]["arguments"])},
        }
        for c in message.get("tool_calls") or ()
    ]
    return {**message, "content": message.get("content") or "", **({"tool_calls": calls} if calls else {})}


def _raise(reason: str) -> None:
    raise jinja2.TemplateError(reason)


async def _reject(send: Any, status: int, words: str) -> None:
    error = {"error": {"code": status, "message": words, "type": "server_error"}}
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(error).encode()})


def _source(name: str) -> str:
    if not (TEMPLATES / name).is_file():
        pytest.skip(f"the template {name} is not in ../shared")
    return (TEMPLATES / name).read_text(encoding="utf-8")


@pytest.fixture(params=[(k, t) for t in (QWEN, MISTRAL) for k in ("llama", "vllm", "chat")], ids=str)
def server(request: pytest.FixtureRequest) -> TemplateServer:
    kind, name = request.param
    return TemplateServer(kind, _source(name))


@pytest.fixture
def client(server: TemplateServer) -> Iterator[Client]:
    with gateway_before(server) as address:
        # What the probes of the start met is no failure of a request.
        server.refused.clear()
        yield Client(address)


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


def test_codex_completes_a_tool_turn(client: Client, server: TemplateServer) -> None:
    def said(role: str, text: str) -> dict[str, Any]:
        return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}

    told = [said("developer", "<permissions>"), said("user", "<environment>"), said("developer", "<mode>")]
    told.append(said("user", "What does it say?"))
    body: dict[str, Any] = {
        "model": "m",
        "instructions": "You are a coding agent.",
        "tools": [{"type": "function", "strict": False, **FUNCTION}],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "reasoning": {"effort": "medium", "summary": "auto"},
        "store": False,
        "stream": True,
    }
    for turn in range(3):
        reply = client.post("/v1/responses", json={**body, "input": told})
        assert reply.status_code == 200, reply.text
        last = events(reply.text)[-1]
        assert last["type"] == "response.completed", last
        output = last["response"]["output"]
        told += output
        calls = [item for item in output if item["type"] == "function_call"]
        if not calls:
            break
        told.append({"type": "function_call_output", "call_id": calls[0]["call_id"], "output": f"result {turn}"})
        told.append(said("developer", f"<reminder {turn}>"))
    assert output[-1]["content"][0]["text"].startswith("It says: result 1")
    assert server.refused == []
    system = server.turned[-1].partition("[user]")[0]
    words = ["You are a coding agent.", "<permissions>", "<mode>", "<reminder 0>", "<reminder 1>"]
    assert system.endswith("[system]" + "\n\n".join(words))


def test_claude_code_completes_a_tool_turn(client: Client, server: TemplateServer) -> None:
    cached = {"cache_control": {"type": "ephemeral"}}
    told: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "<system-reminder>"}]},
        {"role": "user", "content": [{"type": "text", "text": "What does it say?", **cached}]},
        {"role": "system", "content": "<late reminder>"},
    ]
    body: dict[str, Any] = {
        "model": "m",
        "max_tokens": 1200,
        "system": [{"type": "text", "text": "You are"}, {"type": "text", "text": "a coding agent.", **cached}],
        "tools": [{"name": "look_up", "description": "", "input_schema": FUNCTION["parameters"]}],
        "thinking": {"type": "adaptive"},
        "stream": True,
    }
    for turn in range(3):
        reply = client.post("/v1/messages?beta=true", json={**body, "messages": told})
        assert reply.status_code == 200, reply.text
        found = events(reply.text)
        calls = [e["content_block"] for e in found if e["type"] == "content_block_start"]
        calls = [block for block in calls if block["type"] == "tool_use"]
        if not calls:
            break
        told.append({"role": "assistant", "content": calls})
        result = {"type": "tool_result", "tool_use_id": calls[0]["id"], "content": f"result {turn}"}
        told.append({"role": "user", "content": [result, {"type": "text", "text": f"<reminder {turn}>"}]})
    text = "".join(e["delta"].get("text", "") for e in found if e["type"] == "content_block_delta")
    assert text.startswith("It says: result 1")
    assert server.refused == []
    assert "[system]You are\na coding agent.\n\n<late reminder>[user]<system-reminder>" in server.turned[-1]


def test_a_template_that_renders_every_order_gets_the_messages_as_they_came() -> None:
    server = ToolServer("llama")
    asked = [{"role": "system", "content": "One"}, {"role": "user", "content": "Hi"}]
    asked.append({"role": "developer", "content": "Two"})
    with gateway_before(server) as address:
        reply = Client(address).post("/v1/chat/completions", json={"model": "m", "messages": asked})
        assert reply.status_code == 200, reply.text
    assert "[system]One[user]Hi[system]Two[assistant]" in server.turned[-1]


STRICT = """{%- for m in messages %}
{%- if m.role == 'system' and not loop.first %}{{- raise_exception('System message must be at the beginning.') }}
{%- endif %}
{%- if 'refuse' in m.content %}{{- raise_exception('Refused on request.') }}{%- endif %}
{{- '<|im_start|>' + m.role + '\\n' + (m.content or '') + '<|im_end|>\\n' }}
{%- endfor %}
{{- '<|im_start|>assistant\\n' }}"""
"""The rule of Qwen3.5's template in a few lines."""


@pytest.fixture(scope="module")
def real() -> Iterator[Client]:
    """The gateway in front of llama.cpp's own server with that template."""
    xllamacpp = pytest.importorskip("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path, params.chat_template = str(pebble_gguf()), STRICT
    params.use_jinja, params.warmup, params.fit_params, params.ui = True, False, False, False
    params.n_parallel, params.n_ctx, params.kv_unified = 2, 2048, False
    params.hostnames, params.port, params.verbosity = ["127.0.0.1"], 0, -1
    started = [xllamacpp.Server(params)]
    started[0].handle_completions({"prompt": "1", "n_predict": 0})
    with gateway_running([{"model": f"{started[0].listening_address}/v1", "name": "pebble"}]) as (
        address,
        gateway,
    ):
        (served,) = gateway.service.models.served.values()
        assert served.engine.card.turn_rules == TurnRules(one_system=True)
        yield Client(address)
    started.clear()


@pytest.mark.parametrize("policy", ["nothink", "close", "iris_plus"])
def test_llama_cpp_answers_late_system_messages(real: Client, policy: str) -> None:
    asked = [("system", "One"), ("user", "What is 2 + 3?"), ("developer", "Two"), ("user", "Say it. #### number")]
    messages = [{"role": role, "content": content} for role, content in asked]
    body = {"model": f"pebble+{policy}", "messages": messages, "max_tokens": 200, "thinkcap": {"kind": "number"}}
    reply = real.post("/v1/chat/completions", json=body)
    # This model was trained on another template: all that counts is that it was asked.
    assert reply.status_code == 200 or reply.json()["error"]["code"] == "no_answer", reply.text


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("policy", ["nothink", "close"])
def test_what_a_template_rejects_is_a_400_in_the_shape_of_the_api(real: Client, policy: str, stream: bool) -> None:
    model = {"model": f"pebble+{policy}", "stream": stream}
    messages = [{"role": "user", "content": "refuse"}]
    bodies: dict[str, dict[str, Any]] = {
        "/v1/chat/completions": {"messages": messages},
        "/v1/responses": {"input": "refuse"},
        "/v1/messages": {"messages": messages, "max_tokens": 64},
    }
    for path, body in bodies.items():
        reply = real.post(path, json={**model, **body})
        assert reply.status_code == 400, (path, reply.status_code, reply.text)
        error = reply.json()["error"]
        assert "chat template rejects these messages: Refused on request." in error["message"]
        assert error["type"] == "invalid_request_error"
        assert reply.json().get("type") == ("error" if path == "/v1/messages" else None)
