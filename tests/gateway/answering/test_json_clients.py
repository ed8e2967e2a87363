"""Clients that want objects, unchanged, against the gateway and the bundled model."""

from __future__ import annotations

import json
from typing import Any, Literal

import jsonschema_rs
import openai
import pydantic
import pytest
from running import QUESTION, Client

CHOICE = (
    "True and not True or True is\nSolve it, then end with: The answer is True or False.",
    {"type": "object", "properties": {"answer": {"enum": ["True", "False"]}}, "required": ["answer"]},
    {"answer": "True"},
)
URL = "/v1/chat/completions"


class Apples(pydantic.BaseModel):
    apples: int


class Worked(pydantic.BaseModel):
    steps: list[str]
    result: Apples
    unit: Literal["apples", "pears"] | None = None


def asked(model: str, cap: int = 300) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": QUESTION}], "max_tokens": cap}


@pytest.mark.parametrize("policy", ["nothink", "close", "iris", "two_pass", "think"])
def test_openai_parse_returns_the_right_object(client: openai.OpenAI, name: str, policy: str) -> None:
    reply = client.chat.completions.parse(**asked(f"{name}+{policy}"), response_format=Worked)
    found = reply.choices[0].message.parsed
    assert found is not None
    assert found.result.apples == 19
    assert reply.usage is not None
    assert reply.usage.completion_tokens <= 300
    about = (reply.model_extra or {})["thinkcap"]
    assert about["drafted"] is True
    assert about["json_complete"] is True
    assert about["tokens"] == sum(stage["tokens"] for stage in about["stages"]) == reply.usage.completion_tokens


@pytest.mark.parametrize("way", ["drafted", "direct"])
def test_openai_streams_an_object(client: openai.OpenAI, name: str, way: str) -> None:
    wishes = {"thinkcap": {"json": way}}
    with client.chat.completions.stream(**asked(name), response_format=Apples, extra_body=wishes) as stream:
        pieces = "".join(e.delta for e in stream if e.type == "content.delta")
        found = stream.get_final_completion().choices[0].message
    assert isinstance(found.parsed, Apples)
    assert pieces == found.content
    whole = client.chat.completions.parse(**asked(name), response_format=Apples, extra_body=wishes)
    assert whole.choices[0].message.content == found.content


@pytest.mark.parametrize("method", ["json_schema", "json_mode"])
def test_langchain_structured_output(address: str, name: str, method: Literal["json_schema", "json_mode"]) -> None:
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(base_url=address, api_key=pydantic.SecretStr("unused"), model=name, max_retries=0)
    if method == "json_mode":
        # Nobody says there what the object should hold.
        assert model.bind(max_tokens=300, response_format={"type": "json_object"}).invoke(QUESTION).content
        found = model.with_structured_output(None, method="json_mode").invoke(QUESTION)
        assert found == {"answer": 19}
        return
    assert model.with_structured_output(Apples, method=method).invoke(QUESTION) == Apples(apples=19)
    *_, last = model.with_structured_output(Apples, method=method).stream(QUESTION)
    assert last == Apples(apples=19)


async def test_pydantic_ai_native_output(address: str, name: str) -> None:
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel(name, provider=OpenAIProvider(base_url=address, api_key="unused"))
    agent = Agent(model, output_type=NativeOutput(Worked))
    found = await agent.run(QUESTION, model_settings={"max_tokens": 300})
    assert found.output.result.apples == 19
    async with agent.run_stream(QUESTION, model_settings={"max_tokens": 300}) as stream:
        assert (await stream.get_output()).result.apples == 19


SHAPES: dict[str, Any] = {
    "integer": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    "enum": {"type": "object", "properties": {"n": {"enum": [17, 19, 21]}}, "required": ["n"]},
    "string": {"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]},
    "list": {"type": "object", "properties": {"n": {"type": "array", "items": {"type": "integer"}}}},
    "nested": {
        "type": "object",
        "properties": {"a": {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}},
        "required": ["a"],
    },
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("way", ["drafted", "direct"])
def test_every_shape_is_complete_at_every_cap(address: str, name: str, shape: str, way: str) -> None:
    schema = SHAPES[shape]
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    for policy in ("nothink", "close"):
        for cap in (64, 100, 512):
            body = asked(f"{name}+{policy}", cap) | {"response_format": form, "thinkcap": {"json": way}}
            reply = Client(address).post(URL, json=body).json()
            (choice,) = reply["choices"]
            found = json.loads(choice["message"]["content"])
            jsonschema_rs.validate(schema, found)
            assert choice["finish_reason"] == "stop"
            assert reply["usage"]["completion_tokens"] <= cap
            if way == "drafted" and (policy == "nothink" or cap == 512):
                assert "19" in choice["message"]["content"]


def test_a_label_becomes_the_value_it_names(address: str, name: str) -> None:
    question, schema, wanted = CHOICE
    body = {
        "model": name,
        "messages": [{"role": "user", "content": question}],
        "max_tokens": 64,
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}},
    }
    reply = Client(address).post(URL, json=body).json()
    assert json.loads(reply["choices"][0]["message"]["content"]) == wanted


def test_a_string_that_runs_on_is_closed_and_said_to_be(address: str, name: str) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": SHAPES["string"]}}
    body = asked(f"{name}+nothink", 80) | {"response_format": form, "thinkcap": {"json": "direct"}}
    reply = Client(address).post(URL, json=body).json()
    assert len(json.loads(reply["choices"][0]["message"]["content"])["n"]) > 20
    assert reply["thinkcap"]["json_closed"] is True
    assert [stage["stage"] for stage in reply["thinkcap"]["stages"]] == ["answer", "end"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_schema_that_cannot_be_held_to_is_a_400_that_names_why(address: str, name: str, stream: bool) -> None:
    schema = {"type": "object", "properties": {"tags": {"type": "array", "uniqueItems": True}}}
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    reply = Client(address).post(URL, json=asked(name) | {"response_format": form, "stream": stream})
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert "'uniqueItems' at $.tags" in error["message"]
    assert error["param"] == "response_format"
