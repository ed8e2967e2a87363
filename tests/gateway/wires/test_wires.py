"""Three wires, one flow: real clients on the bundled model, and the contract over all of them."""

from __future__ import annotations

import random
from typing import Any

import anthropic
import openai
import pytest
from pydantic import BaseModel
from running import Client

QUESTION = "Tom has 12 apples and buys 7 more. How many apples does he have?\nSolve it, then end with: #### number"
ASKED: Any = [{"role": "user", "content": QUESTION}]


def test_openai_responses_whole_and_streamed_are_the_same_answer(ours: openai.OpenAI) -> None:
    asked: Any = {"model": "pebble", "input": QUESTION, "max_output_tokens": 300}
    whole = ours.responses.create(**asked)
    assert whole.status == "completed"
    assert whole.output_text.endswith("#### 19")
    assert [item.type for item in whole.output] == ["reasoning", "message"]
    assert whole.usage is not None
    assert whole.usage.output_tokens <= 300
    assert whole.usage.total_tokens == whole.usage.input_tokens + whole.usage.output_tokens
    assert 0 < whole.usage.output_tokens_details.reasoning_tokens < whole.usage.output_tokens
    thought = ""
    with ours.responses.stream(**asked) as stream:
        for event in stream:
            thought += event.delta if event.type == "response.reasoning_text.delta" else ""
        last = stream.get_final_response()
    assert last.output_text == whole.output_text
    assert thought == whole.output[0].content[0].text  # type: ignore[union-attr,index]
    assert last.usage == whole.usage


def test_openai_responses_tell_that_the_cap_was_reached(ours: openai.OpenAI) -> None:
    found = ours.responses.create(model="pebble", input=QUESTION, max_output_tokens=2)
    assert found.status == "incomplete"
    assert found.incomplete_details is not None
    assert found.incomplete_details.reason == "max_output_tokens"
    events = [
        e.type for e in ours.responses.create(model="pebble", input="1+1?", max_output_tokens=2, stream=True)
    ]
    assert events[0] == "response.created"
    assert events[-1] == "response.incomplete"


class Apples(BaseModel):
    apples: int


def test_openai_responses_parse(ours: openai.OpenAI) -> None:
    found = ours.responses.parse(model="pebble", input=QUESTION, max_output_tokens=300, text_format=Apples)
    assert found.output_parsed == Apples(apples=19)


def test_openai_responses_refuse_by_name(ours: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="previous_response_id"):
        ours.responses.create(model="pebble", input="Hi", previous_response_id="resp_1")
    with pytest.raises(openai.BadRequestError, match="web_search"):
        ours.responses.create(model="pebble", input="Hi", tool_choice={"type": "web_search"})  # type: ignore[arg-type]
    with pytest.raises(openai.NotFoundError, match="no model"):
        ours.responses.create(model="gpt-5", input="Hi")
    with pytest.raises(openai.APIError, match="ended before there was any answer"):
        for _ in ours.responses.create(model="pebble+think", input=QUESTION, max_output_tokens=8, stream=True):
            pass


def test_openai_responses_go_on_from_their_own_output(ours: openai.OpenAI) -> None:
    first = ours.responses.create(model="pebble", input=ASKED, max_output_tokens=300, store=False)
    history = [*ASKED, *(item.model_dump() for item in first.output), {"role": "user", "content": "Thanks. 2+2?"}]
    assert ours.responses.create(model="pebble", input=history, max_output_tokens=64).output_text


def test_anthropic_whole_and_streamed_are_the_same_answer(theirs: anthropic.Anthropic) -> None:
    asked: Any = {"model": "pebble", "max_tokens": 300, "messages": ASKED, "system": "Be brief."}
    asked["thinking"] = {"type": "adaptive"}
    whole = theirs.messages.create(**asked)
    assert [block.type for block in whole.content] == ["thinking", "text"]
    assert whole.stop_reason == "end_turn"
    assert whole.usage.output_tokens <= 300
    with theirs.messages.stream(**asked) as stream:
        text = "".join(stream.text_stream)
        last = stream.get_final_message()
    assert text == whole.content[1].text  # type: ignore[union-attr]
    assert last.content[0].thinking == whole.content[0].thinking  # type: ignore[union-attr]
    assert last.usage.output_tokens == whole.usage.output_tokens
    assert last.usage.input_tokens == whole.usage.input_tokens


def test_anthropic_thinking_budget_holds(theirs: anthropic.Anthropic) -> None:
    for budget in (8, 24, 60):
        found = theirs.messages.create(
            model="pebble", max_tokens=300, messages=ASKED, thinking={"type": "enabled", "budget_tokens": budget}
        )
        spent = found.usage.output_tokens_details
        assert spent is not None
        assert 0 < spent.thinking_tokens <= budget
        assert found.content[-1].type == "text"


def test_anthropic_without_thinking_asked_for_gets_text_alone(theirs: anthropic.Anthropic) -> None:
    found = theirs.messages.create(model="pebble", max_tokens=300, messages=ASKED)
    assert [block.type for block in found.content] == ["text"]
    off = theirs.messages.create(model="pebble", max_tokens=300, messages=ASKED, thinking={"type": "disabled"})
    assert off.usage.output_tokens_details is not None
    assert off.usage.output_tokens_details.thinking_tokens == 0
    cut = theirs.messages.create(model="pebble", max_tokens=2, messages=ASKED)
    assert cut.stop_reason == "max_tokens"
    word = found.content[0].text[3:6]  # type: ignore[union-attr]
    stopped = theirs.messages.create(model="pebble", max_tokens=300, messages=ASKED, stop_sequences=[word])
    assert (stopped.stop_reason, stopped.stop_sequence) == ("stop_sequence", word)


def test_anthropic_counts_and_errors(theirs: anthropic.Anthropic, address: str) -> None:
    counted = theirs.messages.count_tokens(model="pebble", messages=ASKED).input_tokens
    nothink: Any = {"type": "disabled"}
    found = theirs.messages.create(model="pebble", max_tokens=40, messages=ASKED, thinking=nothink)
    assert abs(counted - found.usage.input_tokens) <= 8
    with pytest.raises(anthropic.NotFoundError, match="no model"):
        theirs.messages.create(model="claude", max_tokens=40, messages=ASKED)
    with pytest.raises(anthropic.BadRequestError, match="leaves no room for an answer"):
        theirs.messages.create(
            model="pebble", max_tokens=40, messages=ASKED, thinking={"type": "enabled", "budget_tokens": 40}
        )
    with pytest.raises(anthropic.BadRequestError, match="cannot call tools"):
        theirs.messages.create(
            model="pebble",
            max_tokens=40,
            messages=ASKED,
            tools=[{"name": "f", "input_schema": {"type": "object"}}],
        )
    with pytest.raises(anthropic.BadRequestError, match="the last message is the assistant's"):
        theirs.messages.create(
            model="pebble", max_tokens=40, messages=[*ASKED, {"role": "assistant", "content": "It is"}]
        )
    refused = Client(address).post("/v1/messages/count_tokens", json={"model": "pebble"}).json()
    assert refused["type"] == "error"


@pytest.mark.parametrize("base", ["", "/v1"])
def test_base_urls_with_and_without_v1(address: str, base: str) -> None:
    root = address.removesuffix("/v1")
    with openai.OpenAI(base_url=root + base, api_key="unused", max_retries=0) as client:
        assert client.chat.completions.create(model="pebble", messages=ASKED, max_tokens=32).choices
        assert client.responses.create(model="pebble", input="1+1?", max_output_tokens=32).output_text
        assert [model.id for model in client.models.list()] == ["pebble"]
    with anthropic.Anthropic(base_url=root + base, api_key="unused", max_retries=0) as other:
        assert other.messages.create(model="pebble", max_tokens=32, messages=ASKED).content


EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")


def test_more_effort_never_allows_fewer_tokens(address: str) -> None:
    client = Client(address)
    for cap in (64, 300, 900):
        room = []
        for effort in EFFORTS:
            body = {"model": "pebble", "messages": ASKED, "max_tokens": cap, "reasoning_effort": effort}
            stages = client.post("/v1/chat/completions", json=body).json()["thinkcap"]["stages"]
            room.append(stages[0]["budget"])
        assert room == sorted(room)
        assert cap < 100 or room[0] < room[-1]


@pytest.mark.parametrize("knob", ["thinking_token_budget", "thinking_budget", "reasoning_budget_tokens"])
def test_every_name_of_a_budget_bounds_the_thought(address: str, knob: str) -> None:
    body = {"model": "pebble", "messages": ASKED, "max_tokens": 300}
    found = Client(address).post("/v1/chat/completions", json={**body, knob: 20}).json()
    assert 0 < found["usage"]["completion_tokens_details"]["reasoning_tokens"] <= 20
    none = Client(address).post("/v1/chat/completions", json={**body, knob: 0}).json()
    assert none["usage"]["completion_tokens_details"]["reasoning_tokens"] == 0


def test_a_hidden_thought_is_counted_and_not_sent(address: str) -> None:
    body = {"model": "pebble", "messages": ASKED, "max_tokens": 300}
    for knob in ({"include_reasoning": False}, {"reasoning": {"exclude": True}}):
        found = Client(address).post("/v1/chat/completions", json={**body, **knob}).json()
        assert "reasoning_content" not in found["choices"][0]["message"]
        assert found["usage"]["completion_tokens_details"]["reasoning_tokens"] > 0


@pytest.mark.parametrize(
    "option", [{"top_k": 5}, {"min_p": 0.1}, {"repetition_penalty": 1.1}, {"presence_penalty": 0.5}]
)
def test_sampling_options_reach_the_bundled_model(address: str, option: dict[str, Any]) -> None:
    body = {"model": "pebble", "messages": ASKED, "max_tokens": 48, "temperature": 1.0, "seed": 1, **option}
    assert Client(address).post("/v1/chat/completions", json=body).status_code == 200


@pytest.mark.parametrize("option", [{"verbosity": "low"}, {"prediction": {"type": "content", "content": "x"}}])
def test_what_the_model_cannot_apply_is_refused_by_name(address: str, option: dict[str, Any]) -> None:
    body = {"model": "pebble", "messages": ASKED, "max_tokens": 48, **option}
    found = Client(address).post("/v1/chat/completions", json=body)
    assert found.status_code == 400
    assert next(iter(option)) in found.json()["error"]["message"]


def drawn(rng: random.Random) -> tuple[str, dict[str, Any], int, int | None]:
    """A wire's path, a request, its cap, and the most its thought may take."""
    cap = rng.randint(16, 400)
    budget = rng.choice([None, rng.randint(1, cap - 1)])
    effort = rng.choice([None, *EFFORTS])
    wire = rng.choice(["chat/completions", "responses", "messages"])
    body: dict[str, Any] = {"model": "pebble"}
    if wire == "responses":
        reasoning = {"max_tokens": budget, "effort": effort}
        body |= {"input": QUESTION, "max_output_tokens": cap, "reasoning": reasoning}
    elif wire == "messages":
        body |= {"messages": ASKED, "max_tokens": cap, "output_config": {"effort": None}}
        if budget:
            body["thinking"] = {"type": "enabled", "budget_tokens": budget}
    else:
        body |= {"messages": ASKED, "max_tokens": cap, "reasoning_effort": effort, "thinking_budget": budget}
    return f"/v1/{wire}", body, cap, budget


def test_caps_and_budgets_hold_on_every_wire(address: str) -> None:
    rng, client = random.Random(19), Client(address)
    for _ in range(40):
        path, body, cap, budget = drawn(rng)
        reply = client.post(path, json=body)
        assert reply.status_code == 200, (path, body, reply.text)
        found = reply.json()
        about, spent = found["thinkcap"], found["usage"]
        thought = sum(stage["reasoning_tokens"] for stage in about["stages"])
        tokens = spent.get("completion_tokens", spent.get("output_tokens"))
        assert sum(stage["tokens"] for stage in about["stages"]) == about["tokens"] == tokens <= cap
        assert budget is None or thought <= budget, (path, body, about)
        assert said(path, found).strip(), (path, body)


def said(path: str, found: dict[str, Any]) -> str:
    if path.endswith("responses"):
        return "".join(p["text"] for item in found["output"] if item["type"] == "message" for p in item["content"])
    if path.endswith("messages"):
        return "".join(block["text"] for block in found["content"] if block["type"] == "text")
    return str(found["choices"][0]["message"]["content"])
