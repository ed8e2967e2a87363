"""Tools on real servers that speak ids: the thought ends at its budget, then the call is written whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import openai
import pytest
import running
from markups import CALLING
from running import gateway_running
from started import KEY, Server, launch, stop

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
PRICE: dict[str, Any] = {
    "type": "function",
    "function": {**TOOL["function"], "name": "price", "description": "What a kilogram of a fruit costs."},
}
ASKED = (
    ("How many apples are in stock?", "stock", "apples", "41 apples in stock"),
    ("What does a kilogram of pears cost?", "price", "pears", "17 crowns"),
)
"""What is asked, the call it needs, and what the tool says then."""
OPENED = CALLING.template.replace("\\n\\n' }}{% endif %}", "\\n\\n' }}{% else %}{{- '<think>\\n' }}{% endif %}")
"""The prompt opens the thought, as that of DeepSeek-R1 does: this model would not think by itself."""
SHOP = (
    "You are a shop assistant. Look up numbers with the functions. "
    "When a result is there, answer the customer in a sentence with that number."
)


SERVING = """
import signal, sys
from pathlib import Path
import xllamacpp
from thinkcap.engines.llamacpp import start_server
plain = xllamacpp.CommonParams
def templated():
    made = plain()
    made.chat_template = sys.argv[2]
    return made
xllamacpp.CommonParams = templated
server = start_server(Path(sys.argv[1]), 2048, 1, 1, sys.argv[3])
print(server.listening_address, flush=True)
signal.pause()
"""


@pytest.fixture(scope="module")
def instruct() -> Iterator[str]:
    """A real instruct model under a template that thinks and calls, in a process that a failed test can end."""
    if not MODEL:
        pytest.skip("THINKCAP_TOOL_MODEL names no GGUF of Qwen2.5-Coder-1.5B-Instruct or another that calls tools")
    words = [sys.executable, "-c", SERVING, MODEL, OPENED, KEY]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            yield f"{process.stdout.readline().strip()}/v1"
        finally:
            stop(process)


@pytest.mark.campaign
def test_a_real_model_calls_and_uses_the_results_in_a_conversation(
    instruct: str, campaign: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Left to itself this model writes a call in a code block, which llama.cpp reads as text: calls are forced."""
    messages: list[Any] = [{"role": "system", "content": SHOP}]
    asked: Any = {"model": "m", "tools": [TOOL, PRICE], "temperature": 0, "max_tokens": CAP}
    asked |= {"messages": messages, "extra_body": {"thinking_token_budget": BUDGET}}
    thought: list[int] = []
    # At its start the gateway has the model write a little, which takes minutes on a busy machine.
    monkeypatch.setattr(running, "PATIENCE_S", 3600)
    with gateway_running([{"model": instruct, "name": "m"}], request_timeout_s=3600) as (address, _):
        client = openai.OpenAI(base_url=address, api_key="x", max_retries=0, timeout=3600)

        def turn(stream: bool, **more: Any) -> dict[str, Any]:
            about, message = (streamed if stream else whole)(client, {**asked, **more})
            print(about, message, flush=True)
            assert about["thought_held_by"] == "ids"
            thought.append(about["stages"][0]["reasoning_tokens"])
            assert 0 < thought[-1] <= BUDGET
            assert about["tokens"] == sum(stage["tokens"] for stage in about["stages"]) <= CAP
            messages.append(message)
            return message

        for at, (question, function, fruit, result) in enumerate(ASKED):
            messages.append({"role": "user", "content": question})
            (call,) = turn(bool(at), tool_choice="required", parallel_tool_calls=False)["tool_calls"]
            assert call["function"]["name"] == function
            assert json.loads(call["function"]["arguments"]) == {"fruit": fruit}
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
            said = turn(bool(at))
            assert result.partition(" ")[0] in said["content"]
            assert not said.get("tool_calls")
    campaign.says(
        f"{Path(MODEL).stem}, a conversation of {len(thought)} turns:\n"
        f"{len(ASKED)} calls, all whole and of the right tool, and their results in the answers\n"
        f"thoughts of {min(thought)} to {max(thought)} tokens under a budget of {BUDGET}"
    )
