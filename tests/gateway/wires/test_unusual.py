"""Unusual requests that real clients may well send: each is answered as its wire says, or refused by name."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest
from running import Client, app_running, gateway_before, gateway_running
from stub import Stub
from tool_server import TOOL, ToolServer

FUNCTION = TOOL["function"]
OTHER: Any = {"type": "function", "function": {**FUNCTION, "name": "write_down"}}
ASKED: list[Any] = [{"role": "user", "content": "What does the table say?"}]
APPLES: list[Any] = [
    {"role": "user", "content": "Tom has 12 apples and buys 7 more. How many? End with: #### number"}
]
PNG = "data:image/png;base64,iVBORw0KGgo="


@pytest.fixture(scope="module")
def server() -> ToolServer:
    return ToolServer("llama", thought="so it is")


@pytest.fixture(scope="module")
def address(server: ToolServer) -> Iterator[str]:
    with gateway_before(server) as address:
        yield address


def test_anthropic_is_told_which_stop_sequence_ended_the_answer(bundled: str) -> None:
    client = anthropic.Anthropic(base_url=bundled.removesuffix("/v1"), api_key="unused", max_retries=0)
    asked: Any = {
        "model": "pebble+nothink",
        "max_tokens": 200,
        "messages": APPLES,
        "stop_sequences": ["####", "never"],
    }
    whole = client.messages.create(**asked)
    with client.messages.stream(**asked) as stream:
        pieces = stream.get_final_message()
    for found in (whole, pieces):
        assert (found.stop_reason, found.stop_sequence) == ("stop_sequence", "####")
        assert "####" not in found.content[-1].text  # type: ignore[union-attr]
    plain = client.messages.create(**{**asked, "stop_sequences": ["never"]})
    assert (plain.stop_reason, plain.stop_sequence) == ("end_turn", None)


def test_a_stop_sequence_is_told_in_front_of_a_server(theirs: anthropic.Anthropic, server: ToolServer) -> None:
    """llama.cpp's server does not say over chat which word it was, so the answer is asked for by ids."""
    asked: Any = {"model": "m+nothink", "max_tokens": 200, "messages": ASKED, "stop_sequences": ["in"]}
    found = theirs.messages.create(**asked)
    assert (found.stop_reason, found.stop_sequence) == ("stop_sequence", "in")
    assert server.bodies[-1][0] == "/completion"


def test_anthropic_documents_of_text_are_read_and_others_refused_by_name(
    theirs: anthropic.Anthropic, server: ToolServer
) -> None:
    def asked(source: dict[str, Any]) -> list[Any]:
        document = {"type": "document", "source": source, "title": "The table", "citations": {"enabled": False}}
        return [{"role": "user", "content": [document, {"type": "text", "text": "What does it say?"}]}]

    text = {"type": "text", "media_type": "text/plain", "data": "Row one."}
    for source in (text, {"type": "content", "content": [{"type": "text", "text": "Row one."}]}):
        theirs.messages.create(model="m", max_tokens=300, messages=asked(source))
        assert "The table\nRow one." in server.turned[-1]
        assert server.turned[-1].index("Row one.") < server.turned[-1].index("What does it say?")
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    with pytest.raises(anthropic.BadRequestError, match="type 'base64' cannot be read here"):
        theirs.messages.create(model="m", max_tokens=300, messages=asked(pdf))


def test_anthropic_words_a_budget_beyond_the_cap_as_anthropic_does(theirs: anthropic.Anthropic) -> None:
    thinking: Any = {"type": "enabled", "budget_tokens": 400}
    with pytest.raises(
        anthropic.BadRequestError, match=r"`max_tokens` must be greater than `thinking.budget_tokens`"
    ):
        theirs.messages.create(model="m", max_tokens=300, messages=ASKED, thinking=thinking)


def test_anthropic_turns_with_thoughts_seen_and_unseen_go_back(
    theirs: anthropic.Anthropic, server: ToolServer
) -> None:
    said: list[Any] = [
        {"type": "redacted_thinking", "data": "unreadable"},
        {"type": "thinking", "thinking": "hm hm", "signature": "signed by somebody"},
        {"type": "tool_use", "id": "t1", "name": "look_up", "input": {"step": 0}},
    ]
    result: Any = {"type": "tool_result", "tool_use_id": "t1", "content": "broken", "is_error": True}
    told = [*ASKED, {"role": "assistant", "content": said}, {"role": "user", "content": [result]}]
    tool: Any = {"name": "look_up", "input_schema": FUNCTION["parameters"]}
    system: Any = [{"type": "text", "text": "One.", "cache_control": {"type": "ephemeral"}}]
    system.append({"type": "text", "text": "Two."})
    more: Any = {"system": system, "metadata": {"user_id": "u"}, "thinking": {"type": "adaptive"}}
    found = theirs.messages.create(model="m", max_tokens=600, messages=told, tools=[tool], **more)
    assert found.stop_reason == "tool_use"
    last = server.turned[-1]
    assert "[system]One.\nTwo." in last
    assert "hm hm" in last
    assert "[tool]broken" in last
    assert "unreadable" not in last


def test_anthropics_tool_runner_sends_the_conversation_whole(
    theirs: anthropic.Anthropic, server: ToolServer
) -> None:
    """It would leave the conversation with the server; a refusal in Anthropic's words tells it not to."""

    @anthropic.beta_tool
    def look_up(step: int) -> str:
        """Looks something up."""
        return f"result {step}"

    thinking: Any = {"type": "enabled", "budget_tokens": 50}
    runner = theirs.beta.messages.tool_runner(
        model="m", max_tokens=600, tools=[look_up], messages=ASKED, thinking=thinking
    )
    assert runner.until_done().content[-1].text == "It says: result 1"  # type: ignore[union-attr]
    asked = {"model": "m", "max_tokens": 600, "messages": ASKED, "thread": {"type": "create"}}
    with pytest.raises(anthropic.BadRequestError, match="'thread' is not offered here: nothing is stored"):
        theirs.post("/v1/messages", body=asked, cast_to=object)


def test_anthropic_counts_tools_too(theirs: anthropic.Anthropic) -> None:
    tool: Any = {"name": "look_up", "input_schema": FUNCTION["parameters"]}
    plain = theirs.messages.count_tokens(model="m", messages=ASKED)
    thinking: Any = {"type": "enabled", "budget_tokens": 1024}
    more = theirs.messages.count_tokens(
        model="m", messages=ASKED, tools=[tool], system="Be brief.", thinking=thinking, tool_choice={"type": "any"}
    )
    assert more.input_tokens > plain.input_tokens > 0


CUSTOM: Any = {"type": "custom", "custom": {"name": "shell"}}


def test_custom_tools_of_a_chat_are_left_out_and_named(ours: openai.OpenAI, server: ToolServer) -> None:
    asked: Any = {"model": "m", "messages": ASKED, "max_tokens": 600}
    found: Any = ours.chat.completions.create(**asked, tools=[CUSTOM, TOOL])
    assert found.choices[0].message.tool_calls
    assert found.model_extra["thinkcap"]["ignored"] == ["tool custom"]
    assert all(CUSTOM not in (body.get("tools") or ()) for _, body in server.bodies)
    alone: Any = ours.chat.completions.create(**asked, tools=[CUSTOM])
    assert alone.choices[0].message.content == "Plain."
    with pytest.raises(openai.BadRequestError, match="'custom'; wanted none, auto, required"):
        ours.chat.completions.create(**asked, tools=[CUSTOM, TOOL], tool_choice=CUSTOM)


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_some_of_the_tools_may_be_allowed(ours: openai.OpenAI, server: ToolServer, mode: str) -> None:
    allowed: Any = {"mode": mode, "tools": [{"type": "function", "function": {"name": "look_up"}}]}
    choice: Any = {"type": "allowed_tools", "allowed_tools": allowed}
    asked: Any = {"model": "m", "max_tokens": 600}
    server.bodies.clear()
    found = ours.chat.completions.create(**asked, messages=ASKED, tools=[TOOL, OTHER], tool_choice=choice)
    assert [call.function.name for call in found.choices[0].message.tool_calls or ()] == ["look_up"]  # type: ignore
    flat: Any = [{"type": "function", "strict": None, **tool["function"]} for tool in (TOOL, OTHER)]
    listed: Any = {"type": "allowed_tools", "mode": mode, "tools": [{"type": "function", "name": "look_up"}]}
    said = {"max_output_tokens": 600, "input": "Well?", "tools": flat, "tool_choice": listed}
    response = ours.responses.create(model="m", **said)
    assert [item.name for item in response.output if item.type == "function_call"] == ["look_up"]
    assert not any("write_down" in json.dumps(body) for _, body in server.bodies)
    choice["allowed_tools"]["tools"] = []
    with pytest.raises(openai.BadRequestError, match="tools by name"):
        ours.chat.completions.create(**asked, messages=ASKED, tools=[TOOL], tool_choice=choice)


def test_an_earlier_refusal_is_words_of_its_turn(ours: openai.OpenAI, server: ToolServer) -> None:
    said: list[Any] = [{"type": "refusal", "refusal": "I would rather not."}]
    told = [{"role": "developer", "content": "Be kind."}, *ASKED, {"role": "assistant", "content": said}, *ASKED]
    ours.chat.completions.create(model="m+close", messages=told, max_tokens=300, modalities=["text"])  # type: ignore
    assert "[system]Be kind." in server.turned[-1]
    assert "[assistant]I would rather not." in server.turned[-1]


@pytest.mark.parametrize("model", ["m+nothink", "m+close"])
def test_what_a_developer_says_reaches_the_model_as_a_system_message(
    ours: openai.OpenAI, server: ToolServer, model: str
) -> None:
    """A template that does not know the role would leave it out without a word."""
    told: list[Any] = [{"role": "developer", "content": "Be kind."}, *ASKED]
    ours.chat.completions.create(model=model, messages=told, max_tokens=300)
    assert "[system]Be kind." in server.turned[-1]
    ours.responses.create(model=model, input=told, max_output_tokens=300)
    assert "[system]Be kind." in server.turned[-1]


CALLED: list[Any] = [
    {"role": "user", "content": "Well?"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "hm hm"}]},
    {"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": '{"step": 0}'},
]


def test_responses_read_what_tools_gave_back(ours: openai.OpenAI, server: ToolServer) -> None:
    flat: Any = [{"type": "function", "strict": None, **FUNCTION}]

    def go_on(output: dict[str, Any], before: list[Any] = CALLED) -> Any:
        told: Any = [*before, {"type": "function_call_output", **output}]
        more: Any = {"max_tool_calls": 3, "include": ["reasoning.encrypted_content"], "store": False}
        return ours.responses.create(model="m", input=told, tools=flat, max_output_tokens=600, **more)

    found = go_on({"call_id": "c1", "output": [{"type": "input_text", "text": "result 0"}]})
    assert [item.type for item in found.output] == ["reasoning", "function_call"]
    assert found.model_extra["thinkcap"]["ignored"] == ["max_tool_calls"]
    assert "[tool]result 0" in server.turned[-1]
    # Words, then a thought, then a call are one turn of the model.
    words = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Wait."}]}
    go_on({"call_id": "c1", "output": "result 0"}, [CALLED[0], words, *CALLED[1:]])
    assert "hm hm" in server.turned[-1]
    with pytest.raises(openai.BadRequestError, match=r"input\[3\] is a function_call_output without call_id"):
        go_on({"output": "result 0"})
    with pytest.raises(openai.BadRequestError, match="takes text only here, not image_url"):
        go_on({"call_id": "c1", "output": [{"type": "input_image", "image_url": PNG}]})


def test_events_of_a_broken_response_are_numbered_to_the_end() -> None:
    asked = {"model": "stub+think", "input": "fault:error", "max_output_tokens": 64, "stream": True}
    stub = Stub()
    with app_running(stub) as upstream, gateway_running(f"{upstream}/v1") as (address, _):
        stub.gate = threading.Event()
        reply = Client(address).post("/v1/responses", json=asked, stream=True)
        # The headers are here, so an event is on its way: only now it breaks.
        stub.gate.set()
        text = reply.text
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    assert [event["type"] for event in events][:1] == ["response.created"]
    assert events[-1]["type"] == "error"
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_the_list_of_models_is_read_by_both(bundled: str) -> None:
    client = anthropic.Anthropic(base_url=bundled.removesuffix("/v1"), api_key="unused", max_retries=0)
    (model,) = client.models.list()
    assert (model.id, model.type, model.display_name) == ("pebble", "model", "pebble")
    assert client.models.retrieve("pebble").created_at.year >= 2026
    assert openai.OpenAI(base_url=bundled, api_key="unused").models.retrieve("pebble").object == "model"
