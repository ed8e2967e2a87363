"""Agents of all kinds, unchanged from PyPI, in a loop of several turns: a model that thinks calls a tool twice."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest
from running import gateway_before
from tool_server import ToolServer

ASKED = "What does the table say?"
ANSWER = "It says: result 1"
BUDGET = 50
CAP = 600
MORE: dict[str, Any] = {"reasoning": {"max_tokens": BUDGET}}


def look_up(step: int) -> str:
    """Looks something up."""
    return f"result {step}"


@pytest.fixture(params=["llama", "vllm", "chat"])
def server(request: pytest.FixtureRequest) -> ToolServer:
    return ToolServer(request.param)


@pytest.fixture
def address(server: ToolServer) -> Iterator[str]:
    with gateway_before(server) as address:
        yield address


def thoughts(server: ToolServer) -> list[str]:
    """What the model had thought each time it went on to its answer, as its server read it."""
    begun = [prompt.rpartition("[assistant]")[2] for prompt in server.turned]
    return [turn.partition("</think>")[0].removeprefix("<think>") for turn in begun if "</think>" in turn]


def check(server: ToolServer, said: str) -> None:
    assert said == ANSWER
    assert server.turned[-1].index("result 0") < server.turned[-1].index("result 1")
    if server.kind != "chat":
        held = thoughts(server)
        assert len(held) >= 3
        assert all(0 < len(thought) <= BUDGET for thought in held)


@pytest.mark.parametrize("wire", ["chat", "responses", "messages"])
async def test_pydantic_ai(server: ToolServer, address: str, wire: str) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    settings: Any = {"max_tokens": CAP, "extra_body": MORE}
    model: Any
    if wire == "messages":
        root = address.removesuffix("/v1")
        try:
            anthropic = AnthropicProvider(base_url=root, api_key="unused")
        except TypeError as err:
            # Other clients may hold pydantic-ai back at a version that does not know anthropic's HTTP library.
            pytest.skip(f"pydantic-ai and anthropic as installed do not fit together: {err}")
        model = AnthropicModel("m", provider=anthropic)
        settings = {"max_tokens": CAP, "anthropic_thinking": {"type": "enabled", "budget_tokens": BUDGET}}
    else:
        provider = OpenAIProvider(base_url=address, api_key="unused")
        model = (OpenAIChatModel if wire == "chat" else OpenAIResponsesModel)("m", provider=provider)
    agent = Agent(model, tools=[look_up])
    check(server, (await agent.run(ASKED, model_settings=settings)).output)


def test_langchain(server: ToolServer, address: str) -> None:
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_openai import ChatOpenAI

    chat: Any = ChatOpenAI(
        base_url=address,
        api_key="unused",  # type: ignore[arg-type]
        model="m",
        max_completion_tokens=CAP,
        extra_body=MORE,
    )
    agent = chat.bind_tools([look_up])
    told: list[Any] = [HumanMessage(ASKED)]
    for _ in range(5):
        said = agent.invoke(told)
        told.append(said)
        if not said.tool_calls:
            break
        told += [ToolMessage(look_up(**call["args"]), tool_call_id=call["id"]) for call in said.tool_calls]
    check(server, str(said.text))


@pytest.mark.skipif(
    importlib.util.find_spec("agents") is None, reason="openai-agents is not installed; make setup-clients"
)
@pytest.mark.parametrize("wire", ["chat", "responses"])
async def test_openai_agents(server: ToolServer, address: str, wire: str) -> None:
    from agents import (
        Agent,
        ModelSettings,
        OpenAIChatCompletionsModel,
        OpenAIResponsesModel,
        Runner,
        function_tool,
        set_tracing_disabled,
    )
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    async with AsyncOpenAI(base_url=address, api_key="unused") as client:
        kind: Any = OpenAIChatCompletionsModel if wire == "chat" else OpenAIResponsesModel
        agent = Agent(
            name="clerk",
            model=kind(model="m", openai_client=client),
            model_settings=ModelSettings(max_tokens=CAP, extra_body=MORE),
            tools=[function_tool(look_up)],
        )
        check(server, (await Runner.run(agent, ASKED)).final_output)
