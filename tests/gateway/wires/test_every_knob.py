"""Every name clients have for thinking and sampling, on every wire that knows it: obeyed, or refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from running import Client, gateway_running

QUESTION = "Tom has 12 apples and buys 7 more. How many apples does he have?\nSolve it, then end with: #### number"
CAP = 300
WIRES = {
    "chat/completions": {"messages": [{"role": "user", "content": QUESTION}], "max_tokens": CAP},
    "messages": {"messages": [{"role": "user", "content": QUESTION}], "max_tokens": CAP},
    "responses": {"input": QUESTION, "max_output_tokens": CAP},
}
CHAT, MESSAGES, RESPONSES = WIRES
SHOWN: dict[str, Any] = {"thinking": {"type": "adaptive"}}
"""Who does not ask for thinking gets no thinking blocks."""


HOT = {"model": "pebble+nothink", "temperature": 2.0, "seed": 3}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with gateway_running("bundled") as (address, _):
        yield Client(address)


def answered(client: Client, wire: str, knob: dict[str, Any]) -> tuple[str, str, int]:
    """The thought that was sent, the answer, and the tokens that were thought."""
    reply = client.post(f"/v1/{wire}", json={"model": "pebble", **WIRES[wire], **knob})
    assert reply.status_code == 200, reply.text
    found = reply.json()
    if wire == CHAT:
        message = found["choices"][0]["message"]
        thought, said = message.get("reasoning_content", ""), message["content"]
        spent = found["usage"]["completion_tokens_details"]["reasoning_tokens"]
    elif wire == MESSAGES:
        thought = "".join(block.get("thinking", "") for block in found["content"])
        said = "".join(block.get("text", "") for block in found["content"])
        spent = found["usage"]["output_tokens_details"]["thinking_tokens"]
    else:
        texts = {item["type"]: item["content"][0]["text"] for item in found["output"]}
        thought, said = texts.get("reasoning", ""), texts["message"]
        spent = found["usage"]["output_tokens_details"]["reasoning_tokens"]
    assert said.strip()
    return thought, said, spent


@pytest.mark.parametrize(
    ("wire", "knob", "most"),
    [
        (CHAT, {"thinking_token_budget": 20}, 20),
        (CHAT, {"thinking_budget": 20}, 20),
        (CHAT, {"reasoning_budget_tokens": 20}, 20),
        (CHAT, {"reasoning": {"max_tokens": 20}}, 20),
        (CHAT, {"thinking": {"type": "enabled", "budget_tokens": 20}}, 20),
        (CHAT, {"reasoning_effort": "minimal"}, CAP // 16),
        (CHAT, {"reasoning_effort": "low"}, CAP // 4),
        (CHAT, {"reasoning": {"effort": "low"}}, CAP // 4),
        (CHAT, {"reasoning_effort": "max", "thinking_budget": 20}, 20),
        (CHAT, {"thinkcap": {"answer_tokens": CAP - 20}}, 20),
        (MESSAGES, {"thinking": {"type": "enabled", "budget_tokens": 20}}, 20),
        (MESSAGES, {"thinking": {"type": "adaptive", "budget_tokens": 20}}, 20),
        (MESSAGES, {**SHOWN, "output_config": {"effort": "low"}}, CAP // 4),
        (MESSAGES, {**SHOWN, "thinkcap": {"answer_tokens": CAP - 20}}, 20),
        (RESPONSES, {"reasoning": {"max_tokens": 20}}, 20),
        (RESPONSES, {"reasoning": {"effort": "minimal", "summary": "auto"}}, CAP // 16),
        (RESPONSES, {"thinkcap": {"answer_tokens": CAP - 20}}, 20),
    ],
    ids=str,
)
def test_a_budget_bounds_the_thought(client: Client, wire: str, knob: dict[str, Any], most: int) -> None:
    thought, _, spent = answered(client, wire, knob)
    assert thought
    assert 0 < spent <= most


@pytest.mark.parametrize(
    ("wire", "knob"),
    [
        (CHAT, {"reasoning_effort": "none"}),
        (CHAT, {"reasoning": {"effort": "none"}}),
        (CHAT, {"reasoning": {"enabled": False}}),
        (CHAT, {"reasoning": {"max_tokens": 0}}),
        (CHAT, {"thinking_token_budget": 0}),
        (CHAT, {"enable_thinking": False}),
        (CHAT, {"thinking": {"type": "disabled"}}),
        (CHAT, {"chat_template_kwargs": {"enable_thinking": False}}),
        (CHAT, {"enable_thinking": False, "reasoning_effort": "max"}),
        (MESSAGES, {"thinking": {"type": "disabled"}}),
        (RESPONSES, {"reasoning": {"effort": "none"}}),
        (RESPONSES, {"reasoning": {"enabled": False}}),
    ],
    ids=str,
)
def test_off_is_off(client: Client, wire: str, knob: dict[str, Any]) -> None:
    thought, _, spent = answered(client, wire, knob)
    assert (thought, spent) == ("", 0)


@pytest.mark.parametrize(
    ("wire", "knob"),
    [
        (CHAT, {"enable_thinking": True}),
        (CHAT, {"reasoning": {"enabled": True}}),
        (CHAT, {"thinking_budget": -1}),
        (CHAT, {"include_reasoning": True}),
        (CHAT, {"reasoning_effort": "max"}),
        (MESSAGES, SHOWN),
        (MESSAGES, {**SHOWN, "output_config": {"effort": "max"}}),
        (RESPONSES, {"reasoning": {"effort": "xhigh"}}),
    ],
    ids=str,
)
def test_on_thinks_where_the_cap_has_room(client: Client, wire: str, knob: dict[str, Any]) -> None:
    thought, _, spent = answered(client, wire, knob)
    assert thought
    assert 0 < spent < CAP


@pytest.mark.parametrize(
    ("wire", "knob"),
    [
        (CHAT, {"include_reasoning": False}),
        (CHAT, {"reasoning": {"exclude": True}}),
        (MESSAGES, {"thinking": {"type": "adaptive", "display": "omitted"}}),
        (MESSAGES, {}),
        (RESPONSES, {"reasoning": {"exclude": True}}),
    ],
    ids=str,
)
def test_a_hidden_thought_is_thought_and_counted(client: Client, wire: str, knob: dict[str, Any]) -> None:
    thought, _, spent = answered(client, wire, knob)
    assert thought == ""
    assert spent > 0


@pytest.mark.parametrize(
    "knob",
    [
        {"repetition_penalty": 5.0},
        {"presence_penalty": 2.0},
        {"frequency_penalty": 2.0},
        {"logit_bias": {"20": 20}},
    ],
    ids=str,
)
def test_penalties_and_biases_change_what_is_drawn(client: Client, knob: dict[str, Any]) -> None:
    drawn = ({**HOT, "seed": seed} for seed in range(8))
    assert any(answered(client, CHAT, {**hot, **knob}) != answered(client, CHAT, hot) for hot in drawn)


@pytest.mark.parametrize("knob", [{"top_k": 1}, {"min_p": 1.0}], ids=str)
def test_one_token_to_draw_from_is_no_draw(client: Client, knob: dict[str, Any]) -> None:
    plain = answered(client, CHAT, {"model": HOT["model"]})
    assert answered(client, CHAT, {**HOT, **knob}) == plain
    assert answered(client, CHAT, HOT) != plain


@pytest.mark.parametrize(
    ("wire", "knob"),
    [
        (CHAT, {"verbosity": "low"}),
        (CHAT, {"prediction": {"type": "content", "content": "19"}}),
        (CHAT, {"reasoning_effort": "enormous"}),
        (CHAT, {"reasoning": {"tokens": 20}}),
        (CHAT, {"max_thinking_tokens": 20}),
        (CHAT, {"functions": [{"name": "f"}]}),
        (MESSAGES, {"thinking": {"type": "enabled"}}),
        (MESSAGES, {"output_config": {"task_budget": {"type": "tokens", "total": 100}}}),
        (MESSAGES, {"mcp_servers": [{"type": "url", "url": "https://example.org", "name": "x"}]}),
        (MESSAGES, {"reasoning_effort": "low"}),
        (RESPONSES, {"text": {"verbosity": "low"}}),
        (RESPONSES, {"truncation": "auto"}),
        (RESPONSES, {"include": ["file_search_call.results"]}),
        (RESPONSES, {"previous_response_id": "resp_1"}),
        (RESPONSES, {"conversation": "conv_1"}),
        (RESPONSES, {"background": True}),
        (RESPONSES, {"reasoning_effort": "low"}),
        (RESPONSES, {"max_tokens": 20}),
    ],
    ids=str,
)
def test_what_means_nothing_here_is_refused_by_name(client: Client, wire: str, knob: dict[str, Any]) -> None:
    reply = client.post(f"/v1/{wire}", json={"model": "pebble", **WIRES[wire], **knob})
    assert reply.status_code == 400, reply.text
    (name, value), *_ = knob.items()
    inner = next(iter(value)) if isinstance(value, dict) else name
    said = reply.json()["error"]["message"]
    assert name in said or inner in said, said


@pytest.mark.parametrize(("wire", "missing"), [(CHAT, "messages"), (MESSAGES, "max_tokens"), (RESPONSES, "input")])
def test_what_is_missing_is_named(client: Client, wire: str, missing: str) -> None:
    body = {name: value for name, value in WIRES[wire].items() if name != missing}
    error = client.post(f"/v1/{wire}", json={"model": "pebble", **body}).json()["error"]
    assert error["param"] == missing
    assert missing in error["message"]
