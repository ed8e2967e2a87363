"""Agents that may think: tool loops of several turns on all three wires, thoughts bounded, calls whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import openai
import pytest
from running import Client, gateway_before
from tool_server import TOOL, ToolServer

ASKED = "What does the table say?"
FUNCTION = TOOL["function"]


@contextmanager
def serving(kind: Any, **more: Any) -> Iterator[tuple[str, ToolServer]]:
    server = ToolServer(kind, **more)
    with gateway_before(server) as address:
        yield address, server


KINDS = pytest.mark.parametrize("kind", ["llama", "vllm", "chat"])
HELD = {"llama": "ids", "vllm": "ids", "chat": "thinking_token_budget"}


def streamed(chunks: Any) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """What happened, the reason for the end, and the message that the events add up to."""
    about: dict[str, Any] = {}
    finish = ""
    message: dict[str, Any] = {"role": "assistant", "reasoning_content": "", "content": ""}
    for chunk in chunks:
        about = (chunk.model_extra or {}).get("thinkcap") or about
        for choice in chunk.choices:
            finish = choice.finish_reason or finish
            message["content"] += choice.delta.content or ""
            message["reasoning_content"] += getattr(choice.delta, "reasoning_content", None) or ""
            for call in choice.delta.tool_calls or ():
                whole = {"id": call.id, "type": "function", "function": call.function.model_dump()}
                message.setdefault("tool_calls", []).append(whole)
    return about, finish, message


def chat_loop(address: str, stream: bool, budget: int) -> tuple[list[dict[str, Any]], str]:
    """What each turn was told, and the answer; thoughts go back as clients send them back."""
    client = openai.OpenAI(base_url=address, api_key="x", max_retries=0)
    messages: list[Any] = [{"role": "user", "content": ASKED}]
    told: list[dict[str, Any]] = []
    for _ in range(5):
        asked: Any = {"model": "m", "messages": messages, "tools": [TOOL], "max_tokens": 600}
        asked["extra_body"] = {"thinking_token_budget": budget}
        if stream:
            about, finish, message = streamed(client.chat.completions.create(**asked, stream=True))
        else:
            reply: Any = client.chat.completions.create(**asked)
            about, finish = reply.model_extra["thinkcap"], reply.choices[0].finish_reason
            message = reply.choices[0].message.model_dump(exclude_none=True)
        told.append({**about, "thought": message["reasoning_content"]})
        if not message.get("tool_calls"):
            return told, message["content"]
        assert finish == "tool_calls"
        messages.append(message)
        for call in message["tool_calls"]:
            step = json.loads(call["function"]["arguments"])["step"]
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": f"result {step}"})
    raise AssertionError("the loop does not end")


@KINDS
@pytest.mark.parametrize("stream", [False, True])
def test_a_loop_over_chat_thinks_within_its_budget_and_calls_whole(kind: Any, stream: bool) -> None:
    with serving(kind) as (address, server):
        told, answer = chat_loop(address, stream, 50)
    assert answer == "It says: result 1"
    assert len(told) == 3
    for turn in told:
        assert 0 < len(turn["thought"]) <= 50
        assert turn["thought_held_by"] == HELD[kind]
        assert turn["tokens"] <= 600
    # Earlier thoughts of this very question are in the prompt, as the template wants them.
    last = server.turned[-1]
    assert last.count(told[0]["thought"].strip()) >= 2
    assert last.index("result 0") < last.index("result 1")


def test_a_vllm_that_parses_no_ids_holds_the_budget_itself() -> None:
    with serving("vllm", parses=False) as (address, _):
        told, answer = chat_loop(address, False, 50)
    assert answer == "It says: result 1"
    assert {turn["thought_held_by"] for turn in told} == {"thinking_token_budget"}
    assert all(0 < len(turn["thought"]) <= 50 for turn in told)


NAMED = {"type": "function", "function": {"name": FUNCTION["name"]}}


@pytest.mark.parametrize("more", [{}, {"stream": True}, {"reasoning_effort": "none"}], ids=str)
@pytest.mark.parametrize("choice", ["required", NAMED], ids=["required", "named"])
@pytest.mark.parametrize("kind", ["llama", "vllm"])
def test_a_forced_call_is_held_to_its_form_by_our_grammar(kind: Any, choice: Any, more: dict[str, Any]) -> None:
    """By themselves llama.cpp's server lets a model write on without calling, and vLLM lets it write blanks."""
    with serving(kind, thought="so") as (address, server):
        client = openai.OpenAI(base_url=address, api_key="x", max_retries=0)
        body: Any = {"model": "m", "messages": [{"role": "user", "content": ASKED}], "tools": [TOOL]}
        reply: Any = client.chat.completions.create(**body, max_tokens=400, tool_choice=choice, **more)
        chunks = [choice for chunk in reply for choice in chunk.choices] if "stream" in more else []
        sent = [told for path, told in server.bodies if path in ("/completion", "/v1/completions")][-1]
    grammar = sent["grammar"] if kind == "llama" else sent["structured_outputs"]["grammar"]
    assert "step" in grammar
    assert (FUNCTION["name"] in grammar) == (choice == "required")
    assert "forced" not in sent
    if chunks:
        (call,) = (call for chunk in chunks for call in chunk.delta.tool_calls or ())
        assert not any(chunk.delta.content for chunk in chunks)
        assert chunks[-1].finish_reason == "tool_calls"
    else:
        (call,) = reply.choices[0].message.tool_calls
        assert reply.choices[0].finish_reason == "tool_calls"
        assert not reply.choices[0].message.content
    assert call.function.name == FUNCTION["name"]
    assert json.loads(call.function.arguments) == {"step": 0}


@KINDS
def test_a_loop_over_messages(kind: Any) -> None:
    tool: Any = {"name": FUNCTION["name"], "input_schema": FUNCTION["parameters"]}
    messages: list[Any] = [{"role": "user", "content": ASKED}]
    with serving(kind) as (address, server):
        client = anthropic.Anthropic(base_url=address.removesuffix("/v1"), api_key="x", max_retries=0)
        for turn in range(3):
            thinking: Any = {"type": "enabled", "budget_tokens": 50}
            asked: Any = {"model": "m", "messages": messages, "max_tokens": 600, "tools": [tool]}
            if turn % 2:
                with client.messages.stream(**asked, thinking=thinking) as events:
                    reply = events.get_final_message()
            else:
                reply = client.messages.create(**asked, thinking=thinking)
            thought = next(block.thinking for block in reply.content if block.type == "thinking")
            assert 0 < len(thought) <= 50
            calls = [block for block in reply.content if block.type == "tool_use"]
            if not calls:
                break
            assert reply.stop_reason == "tool_use"
            (call,) = calls
            assert call.input == {"step": turn}
            result = {"type": "tool_result", "tool_use_id": call.id, "content": f"result {turn}"}
            messages += [
                {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in reply.content]},
                {"role": "user", "content": [result]},
            ]
    assert [block.text for block in reply.content if block.type == "text"] == ["It says: result 1"]
    assert server.turned[-1].count(thought.strip()) >= 2


@KINDS
def test_a_loop_over_responses(kind: Any) -> None:
    tool: Any = {"type": "function", **FUNCTION, "strict": False}
    items: list[Any] = [{"role": "user", "content": ASKED}]
    with serving(kind) as (address, server):
        client = openai.OpenAI(base_url=address, api_key="x", max_retries=0)
        for turn in range(3):
            asked: Any = {"model": "m", "input": items, "tools": [tool], "max_output_tokens": 600}
            asked["extra_body"] = {"reasoning": {"max_tokens": 50}}
            if turn % 2:
                with client.responses.stream(**asked) as events:
                    reply: Any = events.get_final_response()
            else:
                reply = client.responses.create(**asked)
            thought = next(i for i in reply.output if i.type == "reasoning").content[0].text
            assert 0 < len(thought) <= 50
            items += [item.model_dump(exclude_none=True) for item in reply.output]
            calls = [item for item in reply.output if item.type == "function_call"]
            if not calls:
                break
            assert json.loads(calls[0].arguments) == {"step": turn}
            items.append({"type": "function_call_output", "call_id": calls[0].call_id, "output": f"result {turn}"})
    assert reply.output_text == "It says: result 1"
    assert server.turned[-1].count(thought.strip()) >= 2


@pytest.mark.parametrize("kind", ["llama", "vllm"])
def test_without_a_budget_the_call_has_at_least_half_of_the_cap(kind: Any) -> None:
    with serving(kind, thought="so " * 1000) as (address, _):
        body = {"model": "m", "messages": [{"role": "user", "content": ASKED}], "tools": [TOOL]}
        reply = Client(address).post("/v1/chat/completions", json={**body, "max_tokens": 400}).json()
        small = Client(address).post("/v1/chat/completions", json={**body, "max_tokens": 200}).json()
        effort = {**body, "max_tokens": 400, "reasoning_effort": "low"}
        low = Client(address).post("/v1/chat/completions", json=effort).json()
    (call,) = reply["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"step": 0}
    assert reply["thinkcap"]["stages"][0]["tokens"] == 200
    assert reply["thinkcap"]["policy"] == "close(reserve=200)"
    assert reply["usage"]["completion_tokens"] <= 400
    # Below the threshold there is no room for a thought, with tools or without.
    assert (small["thinkcap"]["policy"], small["thinkcap"]["thought_held_by"]) == ("nothink", "off")
    assert small["choices"][0]["message"]["tool_calls"]
    assert low["thinkcap"]["stages"][0]["tokens"] == 100


def test_a_thought_that_ends_in_time_is_not_written_twice() -> None:
    with serving("llama", thought="short") as (address, server):
        body = {"model": "m", "messages": [{"role": "user", "content": ASKED}], "tools": [TOOL], "max_tokens": 400}
        reply = Client(address).post("/v1/chat/completions", json=body).json()
        first, second = reply["thinkcap"]["stages"]
        assert first["tokens"] == len("short") + 2, "the thought and its two marks"
        assert second["stage"] == "close"
        assert reply["choices"][0]["message"]["reasoning_content"] == "short"
        (asked,) = [body for path, body in server.bodies[-8:] if path == "/completion"]
        called = server.bodies[-1][1]
    assert asked["stop"] == ["</think>", "<tool_call>"]
    assert called["messages"][-1] == {"role": "assistant", "reasoning_content": "short", "content": ""}


def test_a_server_without_a_budget_of_its_own_calls_without_thinking() -> None:
    with serving("chat") as (address, server):
        pass
    assert [body.get("thinking_token_budget") for _, body in server.bodies].count(4) == 1, "asked for once"

    class Bare(ToolServer):
        async def chat(self, body: dict[str, Any], send: Any) -> None:
            await super().chat({k: v for k, v in body.items() if k != "thinking_token_budget"}, send)

        async def _answer(self, path: str, body: dict[str, Any], send: Any) -> None:
            if path == "/v1/chat/completions":
                await self.chat(body, send)
            else:
                await super()._answer(path, body, send)

    bare = Bare("chat")
    with gateway_before(bare) as address:
        body = {"model": "m", "messages": [{"role": "user", "content": ASKED}], "tools": [TOOL], "max_tokens": 400}
        reply = Client(address).post("/v1/chat/completions", json=body).json()
    assert reply["thinkcap"]["thought_held_by"] == "off"
    assert not reply["choices"][0]["message"].get("reasoning_content")
    assert reply["choices"][0]["message"]["tool_calls"]
