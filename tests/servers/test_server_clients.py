"""Real clients, unchanged, against the gateway in front of each real server: the checks of the bundled model's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest
import test_clients as clients
from running import Client, gateway_running
from started import KEY, Server

# Collected here too, with the address below in place of theirs.
from test_clients import (  # noqa: F401
    test_curl,
    test_llm_the_command_line_tool,
    test_openai_python_async,
    test_openai_python_json_schema_binds_the_answer_pass,
    test_openai_python_reads_logprobs_of_the_answer,
    test_openai_python_streams_thought_and_answer,
    test_openai_python_votes_with_a_declared_kind,
    test_openai_python_whole,
    test_stop_words_seeds_and_several_choices,
)

asked = clients.asked


@pytest.fixture(autouse=True)
def greedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a temperature each server draws at one of its own: vLLM at 1, llama.cpp's at 0.8."""
    monkeypatch.setattr(clients, "asked", lambda model, **more: asked(model, **{"temperature": 0, **more}))


# Real differences; the last test below says what is there instead.
UNLIKE = {
    ("llama", "test_openai_python_reads_logprobs_of_the_answer", "nothink"): (
        "llama.cpp's server counts the end of the turn among the tokens of a whole answer, not of a streamed one"
    ),
    ("vllm", "test_openai_python_reads_logprobs_of_the_answer", ""): (
        "vLLM counts the end of the turn among the tokens; by ids logprobs are refused: see below"
    ),
    ("transformers", "test_openai_python_reads_logprobs_of_the_answer", ""): "it gives no logprobs",
    ("transformers", "test_openai_python_json_schema_binds_the_answer_pass", ""): "it ignores response formats",
    (
        "transformers",
        "test_openai_python_async",
        "",
    ): "its streams begin with blank lines",
    ("transformers", "test_openai_python_whole", ""): "its turn cannot be prefilled: iris instead of close",
    ("transformers", "test_openai_python_streams_thought_and_answer", ""): "the same",
}


@pytest.fixture(autouse=True)
def differences(request: pytest.FixtureRequest, server: Server) -> None:
    for (kind, check, policy), reason in UNLIKE.items():
        here = (server.kind, request.node.originalname) == (kind, check)
        if here and policy in ("", request.node.callspec.params.get("policy")):
            pytest.skip(reason)


@pytest.fixture(scope="module")
def address(server: Server) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THINKCAP_API_KEY", KEY)
        # The clients of these checks know one name of the reasoning; vLLM has another.
        with gateway_running(server.url, reasoning_field="reasoning_content") as (address, _):
            yield address


@pytest.fixture(scope="module")
def name(address: str) -> str:
    return str(Client(address).get("/v1/models").json()["data"][0]["id"])


@pytest.fixture
def client(address: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=address, api_key="unused", max_retries=0)


def test_openai_python_sees_errors_in_the_servers_words(client: openai.OpenAI, name: str, server: Server) -> None:
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(**asked("gpt-5"))
    if server.kind != "transformers":  # which does not say how long its context is
        with pytest.raises(openai.BadRequestError, match="context window"):
            client.chat.completions.create(
                **asked(name) | {"messages": [{"role": "user", "content": "one two " * 9_000}]}
            )
    tools: Any = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    if server.kind == "vllm":
        with pytest.raises(openai.BadRequestError, match="--enable-auto-tool-choice"):
            client.chat.completions.create(**asked(name, tools=tools))
        with pytest.raises(openai.BadRequestError, match="cannot apply option 'logprobs' to ids"):
            client.chat.completions.create(**asked(f"{name}+close", logprobs=True))
        (choice,) = client.chat.completions.create(**asked(f"{name}+nothink", logprobs=True)).choices
        assert choice.logprobs is not None
        assert all(one.logprob <= 0 for one in choice.logprobs.content or ())
        said = "".join(one.token for one in choice.logprobs.content or ())
        assert said.removesuffix("<|im_end|>").strip() == (choice.message.content or "").strip()


def test_what_the_third_server_lacks_is_said(client: openai.OpenAI, name: str, server: Server) -> None:
    if server.kind != "transformers":
        pytest.skip("about another server")
    whole = client.chat.completions.create(**asked(name, temperature=0))
    assert (whole.model_extra or {})["thinkcap"]["policy"] == "iris"
    assert whole.usage is not None
    assert 0 < whole.usage.completion_tokens <= 300
    with pytest.raises(openai.BadRequestError, match="prefills the assistant's turn"):
        client.chat.completions.create(**asked(f"{name}+close", temperature=0) | {"max_tokens": 40})
    form: Any = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "integer"}}}
    free = client.chat.completions.create(**asked(f"{name}+nothink", response_format=form, temperature=0))
    assert (free.model_extra or {})["thinkcap"]["json_complete"] is False
    quick = client.chat.completions.create(**asked(f"{name}+nothink", temperature=0)).choices[0].message.content
    stream = client.chat.completions.create(**asked(f"{name}+nothink", temperature=0, stream=True))
    assert "".join(c.choices[0].delta.content or "" for c in stream if c.choices).lstrip("\n") == quick
