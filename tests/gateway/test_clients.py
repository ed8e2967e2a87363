"""Real clients, unchanged, against the gateway and the bundled model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import openai
import pytest
from running import QUESTION

from patience import PATIENCE_S


def asked(model: str, **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": QUESTION}], "max_tokens": 300, **more}


def test_openai_python_whole(client: openai.OpenAI, name: str) -> None:
    reply = client.chat.completions.create(**asked(name))
    assert reply.choices[0].message.content
    assert reply.choices[0].finish_reason in ("stop", "length")
    assert reply.usage is not None
    assert 0 < reply.usage.completion_tokens <= 300
    details = reply.usage.completion_tokens_details
    assert details is not None
    assert details.reasoning_tokens is not None
    assert reply.model_extra is not None
    assert reply.model_extra["thinkcap"]["chosen_by"] in ("profile", "default")
    assert [m.id for m in client.models.list()] == [name]


def test_openai_python_streams_thought_and_answer(client: openai.OpenAI, name: str) -> None:
    thought, content, last = "", "", None
    for chunk in client.chat.completions.create(
        **asked(name, stream=True, stream_options={"include_usage": True})
    ):
        if chunk.usage:
            last = chunk
        for choice in chunk.choices:
            thought += getattr(choice.delta, "reasoning_content", None) or ""
            content += choice.delta.content or ""
    assert thought
    assert content
    assert last is not None
    assert last.usage is not None
    assert last.usage.completion_tokens <= 300


async def test_openai_python_async(address: str, name: str) -> None:
    async with openai.AsyncOpenAI(base_url=address, api_key="unused", max_retries=0) as client:
        reply = await client.chat.completions.create(**asked(name, max_tokens=48))
        assert reply.choices[0].message.content
        stream = await client.chat.completions.create(**asked(name, max_tokens=48, stream=True))
        content = "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])
        assert content == reply.choices[0].message.content


@pytest.mark.parametrize("policy", ["nothink", "close", "iris", "two_pass"])
def test_openai_python_json_schema_binds_the_answer_pass(client: openai.OpenAI, name: str, policy: str) -> None:
    schema = {
        "type": "object",
        "properties": {"apples": {"type": "integer", "minimum": 0, "maximum": 99}},
        "required": ["apples"],
        "additionalProperties": False,
    }
    form: Any = {"type": "json_schema", "json_schema": {"name": "apples", "schema": schema, "strict": True}}
    reply = client.chat.completions.create(**asked(f"{name}+{policy}", response_format=form))
    about = (reply.model_extra or {})["thinkcap"]
    content = reply.choices[0].message.content or ""
    assert about["json_complete"] is True
    assert reply.choices[0].finish_reason == "stop"
    found = json.loads(content)
    assert found.keys() == {"apples"}
    assert 0 <= found["apples"] <= 99
    short = client.chat.completions.create(**asked(f"{name}+nothink", response_format=form) | {"max_tokens": 4})
    assert short.choices[0].finish_reason == "length"
    assert (short.model_extra or {})["thinkcap"]["json_complete"] is False


@pytest.mark.parametrize("policy", ["nothink", "close", "iris"])
def test_openai_python_reads_logprobs_of_the_answer(client: openai.OpenAI, name: str, policy: str) -> None:
    request = asked(f"{name}+{policy}", logprobs=True, top_logprobs=2)
    (choice,) = client.chat.completions.create(**request).choices
    assert choice.logprobs is not None
    odds = choice.logprobs.content or []
    assert bytes(b for one in odds for b in one.bytes or ()).decode().lstrip("\n") == choice.message.content
    assert all(one.logprob <= 0 and len(one.top_logprobs) == 2 for one in odds)
    streamed = [
        one
        for chunk in client.chat.completions.create(**request, stream=True)
        for part in chunk.choices
        if part.logprobs
        for one in part.logprobs.content or ()
    ]
    assert [one.token for one in streamed] == [one.token for one in odds]


def test_openai_python_sees_proper_errors(client: openai.OpenAI, name: str) -> None:
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(**asked("gpt-5"))
    with pytest.raises(openai.BadRequestError, match="context window"):
        client.chat.completions.create(**asked(name) | {"messages": [{"role": "user", "content": "long " * 9000}]})
    tools: Any = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    with pytest.raises(openai.BadRequestError, match="cannot call tools"):
        client.chat.completions.create(**asked(name, tools=tools))
    image: Any = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]
    for stream in (False, True):
        with pytest.raises(openai.BadRequestError, match="takes text only here, not image_url"):
            client.chat.completions.create(
                model=name, messages=[{"role": "user", "content": image}], stream=stream
            )
    with pytest.raises(openai.APIError, match="ended before there was any answer"):
        for _ in client.chat.completions.create(**asked(f"{name}+think", stream=True) | {"max_tokens": 8}):
            pass


def test_openai_python_votes_with_a_declared_kind(client: openai.OpenAI, name: str) -> None:
    reply = client.chat.completions.create(
        **asked(f"{name}+vote"), extra_body={"thinkcap": {"kind": "number", "options": {"samples": 3}}}
    )
    about = (reply.model_extra or {})["thinkcap"]
    assert len(about["stages"]) == 3
    assert about["agree"] >= 1
    assert about["tokens"] <= 300


def test_stop_words_seeds_and_several_choices(client: openai.OpenAI, name: str) -> None:
    first, again = (client.chat.completions.create(**asked(name, seed=7, temperature=1.0, n=2)) for _ in range(2))
    assert [c.message.content for c in first.choices] == [c.message.content for c in again.choices]
    free = client.chat.completions.create(**asked(name)).choices[0].message.content or ""
    stopped = client.chat.completions.create(**asked(name, stop=[free[5:]]))
    assert stopped.choices[0].message.content == free[:5]
    assert stopped.choices[0].finish_reason == "stop"
    with pytest.raises(openai.BadRequestError, match="stop word"):
        client.chat.completions.create(**asked(name, stop=[free[:4]]))


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl")
def test_curl(address: str, name: str) -> None:
    body = json.dumps(asked(name, max_tokens=40, stream=True))
    done = subprocess.run(
        [
            "curl",
            "-sSN",
            "--noproxy",
            "*",
            f"{address}/chat/completions",
            "-H",
            "Content-Type: application/json",
            "-d",
            body,
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    lines = [line for line in done.stdout.splitlines() if line]
    assert lines[-1] == "data: [DONE]"
    assert json.loads(lines[-2].removeprefix("data: "))["thinkcap"]["tokens"] <= 40


@pytest.mark.skipif(find_spec("llm") is None, reason="llm is not installed")
# Streamed, it is among the clients of tests/clients.
@pytest.mark.parametrize("stream", [pytest.param(True, marks=pytest.mark.slow), False])
def test_llm_the_command_line_tool(address: str, name: str, tmp_path: Path, stream: bool) -> None:
    (tmp_path / "extra-openai-models.yaml").write_text(
        f"- model_id: local\n  model_name: {name}\n  api_base: {address}\n  api_key_name: none\n"
    )
    env = {**os.environ, "LLM_USER_PATH": str(tmp_path), "LLM_LOAD_PLUGINS": "", "OPENAI_API_KEY": "unused"}
    command = [sys.executable, "-m", "llm", "-m", "local", "-o", "max_tokens", "60", "--key", "unused", QUESTION]
    done = subprocess.run(
        command + ([] if stream else ["--no-stream"]), capture_output=True, text=True, timeout=PATIENCE_S, env=env
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
