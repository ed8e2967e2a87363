"""Requests in the shape in which coding agents send them: Codex over responses, Claude Code over messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from running import Client, gateway_before
from tool_server import TOOL, ToolServer

FUNCTION = TOOL["function"]


@pytest.fixture(params=["llama", "vllm", "chat"])
def server(request: pytest.FixtureRequest) -> ToolServer:
    return ToolServer(request.param)


@pytest.fixture
def client(server: ToolServer) -> Iterator[Client]:
    with gateway_before(server) as address:
        yield Client(address)


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


def test_codex(client: Client, server: ToolServer) -> None:
    """Always streamed, with tools of several types and bookkeeping of its own; output goes back as it came."""
    told: list[dict[str, Any]] = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "<permissions>"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment>"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What does it say?"}]},
    ]
    body: dict[str, Any] = {
        "model": "m",
        "instructions": "You are a coding agent.",
        "tools": [
            {"type": "function", "strict": False, **FUNCTION},
            {"type": "custom", "name": "apply_patch", "format": {"type": "grammar", "syntax": "lark"}},
            {"type": "web_search", "external_web_access": False},
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "reasoning": {"effort": "medium", "summary": "auto"},
        "store": False,
        "stream": True,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "5f3e",
        "client_metadata": {"x-codex-installation-id": "1"},
    }
    for turn in range(3):
        last = events(client.post("/v1/responses", json={**body, "input": told}).text)[-1]
        assert last["type"] == "response.completed", last
        output = last["response"]["output"]
        told += output
        calls = [item for item in output if item["type"] == "function_call"]
        if not calls:
            break
        told.append({"type": "function_call_output", "call_id": calls[0]["call_id"], "output": f"result {turn}"})
    assert output[-1]["content"][0]["text"] == "It says: result 1"
    assert last["response"]["thinkcap"]["ignored"] == ["tool custom", "tool web_search"]
    assert "[system]<permissions>" in server.turned[-1]


def test_codex_asks_for_one_token_to_see_who_is_there(client: Client) -> None:
    probe = {"model": "m", "input": "ping", "max_output_tokens": 1, "store": False}
    found = client.post("/v1/responses", json=probe).json()
    assert found["status"] == "incomplete"
    assert found["incomplete_details"] == {"reason": "max_output_tokens"}
    assert found["usage"]["output_tokens"] == 1


def test_claude_code(client: Client, server: ToolServer) -> None:
    """Streamed with thinking, everything marked for a cache, context to be edited, and betas in the address."""
    cached = {"cache_control": {"type": "ephemeral"}}
    told: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "What does it say?", **cached}]}
    ]
    body: dict[str, Any] = {
        "model": "m",
        "max_tokens": 1200,
        "system": [{"type": "text", "text": "You are a coding agent.", **cached}],
        "tools": [
            {"name": "look_up", "description": "", "input_schema": FUNCTION["parameters"], **cached},
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 8},
        ],
        "metadata": {"user_id": "user_1_session_2"},
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "medium"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "stream": True,
    }
    headers = {"anthropic-version": "2023-06-01", "anthropic-beta": "claude-code-20250219", "x-app": "cli"}
    for turn in range(3):
        text = client.post("/v1/messages?beta=true", json={**body, "messages": told}, headers=headers).text
        blocks, reason = written(events(text))
        told.append({"role": "assistant", "content": blocks})
        if reason != "tool_use":
            break
        assert [block["type"] for block in blocks] == ["thinking", "tool_use"]
        result = {"type": "tool_result", "tool_use_id": blocks[-1]["id"], "content": f"result {turn}", **cached}
        told.append({"role": "user", "content": [result]})
    assert reason == "end_turn"
    assert blocks[-1]["text"] == "It says: result 1"
    counted = {name: body[name] for name in ("model", "system", "tools", "thinking")}
    if server.kind != "chat":
        reply = client.post("/v1/messages/count_tokens?beta=true", json={**counted, "messages": told[:1]})
        assert reply.json()["input_tokens"] > 0


def written(found: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """The blocks that the events of a message add up to, and why it ended."""
    blocks: list[dict[str, Any]] = []
    reason, given = "", ""
    for event in found:
        if event["type"] == "content_block_start":
            blocks.append(dict(event["content_block"]))
            given = ""
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            if delta["type"] == "input_json_delta":
                given += delta["partial_json"]
                blocks[-1]["input"] = json.loads(given)
            else:
                name = delta["type"].removesuffix("_delta")
                blocks[-1][name] += delta[name]
        elif event["type"] == "message_delta":
            reason = event["delta"]["stop_reason"]
    return blocks, reason
