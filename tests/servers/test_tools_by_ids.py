"""Tools on real servers that speak ids: the thought ends at its budget, then the call is written whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import openai
import pytest
import xllamacpp
from markups import CALLING
from running import Client, gateway_running
from started import KEY, Server, launch, stop

from thinkcap.engines.llamacpp import start_server

BUDGET, CAP = 24, 200
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "stock",
        "description": "How many of a fruit are in stock.",
        "parameters": {
            "type": "object",
            "properties": {"fruit": {"type": "string", "enum": ["apples", "pears"]}},
            "required": ["fruit"],
        },
    },
}
PARSING = (
    "--reasoning-parser",
    "qwen3",
    "--enable-auto-tool-choice",
    "--tool-call-parser",
    "hermes",
    "--enable-scale-out",
)


@pytest.fixture(scope="module", params=["vllm", "llama"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    more = PARSING if request.param == "vllm" else ()
    process, found = launch(request.param, tmp_path_factory.mktemp(request.param), CALLING, more=more)
    yield found
    stop(process)


@pytest.mark.parametrize("stream", [False, True])
def test_the_thought_ends_at_its_budget_and_the_call_is_whole(served: Server, stream: bool) -> None:
    """llama.cpp's grammar lets text come before a forced call, and this model writes nothing else."""
    messages: list[Any] = [{"role": "user", "content": "How many apples are in stock?"}]
    asked: Any = {"model": "m", "tools": [TOOL], "tool_choice": "required", "max_tokens": CAP, "temperature": 0}
    asked |= {"parallel_tool_calls": False, "extra_body": {"thinking_token_budget": BUDGET}}
    with gateway_running([{"model": served.url, "name": "m"}]) as (address, _):
        client = openai.OpenAI(base_url=address, api_key="x", max_retries=0, timeout=600)
        for turn in range(2):
            about, message = (streamed if stream else whole)(client, {**asked, "messages": messages})
            assert about["thought_held_by"] == "ids"
            thought, *later = about["stages"]
            assert 0 < thought["reasoning_tokens"] <= BUDGET
            assert thought_of(message).strip()
            assert about["tokens"] == sum(stage["tokens"] for stage in about["stages"]) <= CAP
            assert later
            if served.kind == "llama":
                assert message["content"]
                return
            (call,) = message["tool_calls"]
            assert call["function"]["name"] == "stock"
            assert json.loads(call["function"]["arguments"])["fruit"] in ("apples", "pears")
            messages += [message, {"role": "tool", "tool_call_id": call["id"], "content": f"{turn}1"}]


def thought_of(message: Mapping[str, Any]) -> str:
    """By the name that the server behind has for it."""
    return str(message.get("reasoning_content") or message.get("reasoning") or "")


def whole(client: openai.OpenAI, asked: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    reply = client.chat.completions.create(**asked)
    return (reply.model_extra or {})["thinkcap"], reply.choices[0].message.model_dump(exclude_none=True)


def streamed(client: openai.OpenAI, asked: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    about: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant", "reasoning_content": "", "content": ""}
    for chunk in client.chat.completions.create(**asked, stream=True):
        about = (chunk.model_extra or {}).get("thinkcap") or about
        for delta in (choice.delta for choice in chunk.choices):
            message["content"] += delta.content or ""
            message["reasoning_content"] += thought_of(delta.model_dump())
            for call in delta.tool_calls or ():
                made = {"id": call.id, "type": "function", "function": call.function.model_dump()}
                message.setdefault("tool_calls", []).append(made)
    return about, message


MODEL = os.environ.get("THINKCAP_TOOL_MODEL", "")
STOCK = {"apples": "41", "pears": "17"}
PUSHES = (8.0, 14.0, 20.0, 26.0)
"""On the tag that opens a call; the smallest that makes one is taken."""


@pytest.fixture(scope="module")
def instruct() -> Iterator[tuple[str, int]]:
    """A real instruct model under a template that thinks and calls, and the token that opens a call."""
    if not MODEL:
        pytest.skip("THINKCAP_TOOL_MODEL names no GGUF of Qwen2.5-Coder-1.5B-Instruct or another that calls tools")
    with pytest.MonkeyPatch.context() as patch:
        params = xllamacpp.CommonParams

        def templated() -> Any:
            made = params()
            made.chat_template = CALLING.template
            return made

        patch.setattr(xllamacpp, "CommonParams", templated)
        server: list[Any] = [start_server(Path(MODEL), 2048, 1, 2, KEY)]
        (tag,) = (
            Client(server[0].listening_address, Authorization=f"Bearer {KEY}")
            .post("/tokenize", json={"content": "<tool_call>", "parse_special": True})
            .json()["tokens"]
        )
        yield f"{server[0].listening_address}/v1", tag
        server.clear()


@pytest.mark.campaign
def test_a_real_model_calls_and_uses_the_results_in_a_conversation(
    instruct: tuple[str, int], campaign: Any
) -> None:
    """Left to itself the model writes its calls in a code block, so the tag that opens one is pushed."""
    url, tag = instruct
    messages: list[Any] = []
    asked: Any = {"model": "m", "tools": [TOOL], "temperature": 0, "extra_body": {"thinking_token_budget": 16}}
    thought = calls = 0
    with gateway_running([{"model": url, "name": "m"}], request_timeout_s=3600) as (address, _):
        client = openai.OpenAI(base_url=address, api_key="x", max_retries=0, timeout=3600)

        def turn(**more: Any) -> dict[str, Any]:
            nonlocal thought
            about, message = whole(client, {**asked, "messages": messages, "max_tokens": 64, **more})
            assert about["thought_held_by"] == "ids"
            assert 0 < about["stages"][0]["reasoning_tokens"] <= 16
            assert about["tokens"] <= 64
            thought += about["stages"][0]["reasoning_tokens"]
            return message

        for fruit, number in STOCK.items():
            messages.append({"role": "user", "content": f"How many {fruit} are in stock?"})
            forced: Any = {"tool_choice": "required", "parallel_tool_calls": False}
            tried = (turn(**forced, logit_bias={str(tag): push}) for push in PUSHES)
            message = next(one for one in tried if one.get("tool_calls"))
            call = message["tool_calls"][0]
            assert json.loads(call["function"]["arguments"]) == {"fruit": fruit}
            calls += 1
            message["tool_calls"] = [call]
            messages += [message, {"role": "tool", "tool_call_id": call["id"], "content": number}]
            messages.append(turn(tool_choice="none"))
            assert number in messages[-1]["content"]
    campaign.says(
        f"{Path(MODEL).stem}: {calls} calls whole, their results used, {thought} tokens thought in budget"
    )
