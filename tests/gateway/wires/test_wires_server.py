"""The wires in front of a chat server: tools, thoughts and faults, as real clients see them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest
from running import Client, app_running, gateway_running
from stub import ANSWER, Stub

TEXT = " ".join(ANSWER)
ASKED: Any = [{"role": "user", "content": "What is the weather?"}]
SCHEMA: Any = {"type": "object", "properties": {"city": {"type": "string"}}}


@pytest.fixture(scope="module")
def stub() -> Stub:
    return Stub()


@pytest.fixture(scope="module")
def address(stub: Stub) -> Iterator[str]:
    with app_running(stub) as upstream, gateway_running(f"{upstream}/v1") as (address, _):
        yield address


@pytest.fixture
def theirs(address: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=address.removesuffix("/v1"), api_key="unused", max_retries=0)


@pytest.fixture
def ours(address: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=address, api_key="unused", max_retries=0)


@pytest.fixture(autouse=True)
def _clean(stub: Stub) -> None:
    stub.bodies.clear()


def test_anthropic_tools_are_called_and_their_results_read(theirs: anthropic.Anthropic, stub: Stub) -> None:
    tools: Any = [{"name": "weather", "input_schema": SCHEMA}]
    asked: Any = {"model": "stub", "max_tokens": 64, "tools": tools}
    found = theirs.messages.create(messages=ASKED, **asked)
    assert found.stop_reason == "tool_use"
    (call,) = (block for block in found.content if block.type == "tool_use")
    assert call.name == "weather"
    with theirs.messages.stream(messages=ASKED, **asked) as stream:
        last = stream.get_final_message()
    assert [b for b in last.content if b.type == "tool_use"] == [call]
    result: Any = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "Rain"}]}
    turn: Any = {"role": "assistant", "content": found.content}
    theirs.messages.create(messages=[*ASKED, turn, result], **asked, tool_choice={"type": "none"})
    sent = stub.bodies[-1]["messages"]
    assert [m["role"] for m in sent] == ["user", "assistant", "tool"]
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"] == call.id
    assert stub.bodies[-1]["tools"][0]["function"]["parameters"] == SCHEMA
    assert stub.bodies[-1]["max_tokens"] == 64


def test_openai_responses_tools_are_called_and_their_results_read(ours: openai.OpenAI, stub: Stub) -> None:
    tools: Any = [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}]
    asked: Any = {"model": "stub", "max_output_tokens": 64, "tools": tools}
    found = ours.responses.create(input=ASKED, **asked)
    (call,) = (item for item in found.output if item.type == "function_call")
    assert call.name == "weather"
    with ours.responses.stream(input=ASKED, **asked) as stream:
        for _ in stream:
            pass
        (again,) = (item for item in stream.get_final_response().output if item.type == "function_call")
    assert (again.call_id, again.arguments) == (call.call_id, call.arguments)
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "Rain"}
    history: Any = [*ASKED, *(item.model_dump() for item in found.output), result]
    ours.responses.create(input=history, **asked, tool_choice="none")
    sent = stub.bodies[-1]["messages"]
    assert [m["role"] for m in sent] == ["user", "assistant", "tool"]
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"] == call.call_id


def test_a_thought_of_one_call_is_told_on_every_wire(
    theirs: anthropic.Anthropic, ours: openai.OpenAI, address: str
) -> None:
    thinking: Any = {"type": "adaptive"}
    message = theirs.messages.create(model="stub+think", max_tokens=64, messages=ASKED, thinking=thinking)
    assert [block.type for block in message.content] == ["thinking", "text"]
    response = ours.responses.create(model="stub+think", max_output_tokens=64, input=ASKED)
    assert [item.type for item in response.output] == ["reasoning", "message"]
    assert message.content[1].text == response.output_text == TEXT  # type: ignore[union-attr]
    assert message.usage.output_tokens == response.usage.output_tokens == 20  # type: ignore[union-attr]
    with theirs.messages.stream(model="stub+think", max_tokens=64, messages=ASKED) as stream:
        assert [block.type for block in stream.get_final_message().content] == ["text"]
    body = {"model": "stub+think", "messages": ASKED, "max_tokens": 64, "include_reasoning": False}
    for stream_it in (False, True):
        found = Client(address).post("/v1/chat/completions", json={**body, "stream": stream_it})
        assert "answer" in found.text
        assert "thought1" not in found.text


@pytest.mark.parametrize("budget", [1, 5, 12])
def test_a_thought_ends_at_its_budget_where_no_turn_can_be_begun(ours: openai.OpenAI, budget: int) -> None:
    asked: Any = {"model": "stub", "input": ASKED, "max_output_tokens": 64}
    found = ours.responses.create(**asked, extra_body={"reasoning": {"max_tokens": budget}})
    assert found.usage is not None
    assert found.usage.output_tokens_details.reasoning_tokens <= budget
    assert found.usage.output_tokens <= 64
    assert found.output_text


def test_knobs_are_obeyed_here_and_not_handed_on(address: str, stub: Stub) -> None:
    body = {"model": "stub+nothink", "messages": ASKED, "max_tokens": 64, "reasoning_effort": "low", "top_k": 7}
    body |= {"reasoning": {"exclude": True}, "min_p": 0.1, "repetition_penalty": 1.2, "verbosity": "low"}
    assert Client(address).post("/v1/chat/completions", json=body).status_code == 200
    sent = stub.bodies[-1]
    assert not sent.keys() & {"reasoning", "reasoning_effort", "thinkcap"}
    assert (sent["top_k"], sent["min_p"], sent["repetition_penalty"], sent["verbosity"]) == (7, 0.1, 1.2, "low")


def test_faults_inside_a_stream_are_errors_of_the_wire(theirs: anthropic.Anthropic, ours: openai.OpenAI) -> None:
    broken: Any = [{"role": "user", "content": "fault:error"}]
    thinking: Any = {"type": "adaptive"}
    with (
        pytest.raises(anthropic.APIError, match="slot lost"),
        theirs.messages.stream(model="stub+think", max_tokens=64, messages=broken, thinking=thinking) as stream,
    ):
        stream.get_final_message()
    with pytest.raises(openai.APIError, match="slot lost"):
        for _ in ours.responses.create(model="stub+think", input=broken, max_output_tokens=64, stream=True):
            pass


def test_openai_completions_go_to_the_server_under_the_cap(ours: openai.OpenAI, stub: Stub) -> None:
    found = ours.completions.create(model="stub", prompt="Once", max_tokens=9)
    assert found.usage is not None
    assert found.usage.completion_tokens == 9
    pieces = list(ours.completions.create(model="stub", prompt="Once", max_tokens=4, stream=True))
    assert len(pieces) == 4
    ours.completions.create(model="stub", prompt="Once", extra_body={"min_p": 0.1})
    assert (stub.bodies[-1]["max_tokens"], stub.bodies[-1]["min_p"]) == (16384, 0.1)
    with pytest.raises(openai.BadRequestError, match="cannot use a policy"):
        ours.completions.create(model="stub+iris", prompt="Once")
    with pytest.raises(openai.BadRequestError, match="one request may ask for"):
        ours.completions.create(model="stub", prompt=["Once"] * 300, max_tokens=9)
    stub.lies = ("limit",)
    with pytest.raises(openai.InternalServerError, match="wrote 100 tokens where 9"):
        ours.completions.create(model="stub", prompt="Once", max_tokens=9)
    stub.lies = ()
