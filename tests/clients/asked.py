"""Every client as its own documentation uses it: one function a way, which is also the snippet in docs/clients.md.

Each takes the gateway's address, a model's name and the question, and returns what the client made of the answer.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class Apples(BaseModel):
    apples: int


def openai_chat(url: str, model: str, question: str) -> Any:
    from openai import OpenAI

    client = OpenAI(base_url=url, api_key="unused")
    messages: Any = [{"role": "user", "content": question}]
    reply = client.chat.completions.create(model=model, messages=messages, max_tokens=300)
    return reply.choices[0].message.content


def openai_parse(url: str, model: str, question: str) -> Any:
    from openai import OpenAI

    client = OpenAI(base_url=url, api_key="unused")
    messages: Any = [{"role": "user", "content": question}]
    reply = client.chat.completions.parse(
        model=model, messages=messages, max_completion_tokens=300, response_format=Apples
    )
    return reply.choices[0].message.parsed


def openai_responses(url: str, model: str, question: str) -> Any:
    from openai import OpenAI

    client = OpenAI(base_url=url, api_key="unused")
    return client.responses.create(model=model, input=question, max_output_tokens=300).output_text


def openai_responses_parse(url: str, model: str, question: str) -> Any:
    from openai import OpenAI

    client = OpenAI(base_url=url, api_key="unused")
    reply = client.responses.parse(model=model, input=question, max_output_tokens=300, text_format=Apples)
    return reply.output_parsed


async def openai_async_stream(url: str, model: str, question: str) -> Any:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=url, api_key="unused") as client:
        messages: Any = [{"role": "user", "content": question}]
        asked: Any = {"model": model, "messages": messages, "max_tokens": 300}
        stream: Any = await client.chat.completions.create(stream=True, **asked)
        return "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])


async def openai_responses_stream(url: str, model: str, question: str) -> Any:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key="unused")
    async with client, client.responses.stream(model=model, input=question, max_output_tokens=300) as stream:
        written = "".join([e.delta async for e in stream if e.type == "response.output_text.delta"])
        assert written == (await stream.get_final_response()).output_text
    return written


def openai_completions(url: str, model: str, question: str) -> Any:
    from openai import OpenAI

    client = OpenAI(base_url=url, api_key="unused")
    return client.completions.create(model=model, prompt=question, max_tokens=24).choices[0].text


def openai_completions_stream(url: str, model: str, question: str) -> Any:
    from openai import OpenAI

    client = OpenAI(base_url=url, api_key="unused")
    stream = client.completions.create(model=model, prompt=question, max_tokens=24, stream=True)
    return "".join(piece.choices[0].text for piece in stream if piece.choices)


def anthropic_messages(url: str, model: str, question: str) -> Any:
    from anthropic import Anthropic

    client = Anthropic(base_url=url, api_key="unused")
    messages: Any = [{"role": "user", "content": question}]
    reply = client.messages.create(
        model=model,
        max_tokens=300,
        messages=messages,
        thinking={"type": "enabled", "budget_tokens": 200},
    )
    return reply.content[-1].text  # type: ignore[union-attr]


def anthropic_stream(url: str, model: str, question: str) -> Any:
    from anthropic import Anthropic

    client = Anthropic(base_url=url, api_key="unused")
    messages: Any = [{"role": "user", "content": question}]
    assert client.messages.count_tokens(model=model, messages=messages).input_tokens > 0
    with client.messages.stream(model=model, max_tokens=300, messages=messages) as stream:
        return "".join(stream.text_stream)


async def anthropic_async_thinking(url: str, model: str, question: str) -> Any:
    from anthropic import AsyncAnthropic

    async with AsyncAnthropic(base_url=url, api_key="unused") as client:
        messages: Any = [{"role": "user", "content": question}]
        thinking: Any = {"type": "enabled", "budget_tokens": 200}
        asked: Any = {"model": model, "max_tokens": 300, "messages": messages, "thinking": thinking}
        async with client.messages.stream(**asked) as stream:
            reply = await stream.get_final_message()
    assert [block.type for block in reply.content] == ["thinking", "text"]
    return reply.content[-1].text  # type: ignore[union-attr]


def anthropic_parse(url: str, model: str, question: str) -> Any:
    from anthropic import Anthropic

    client = Anthropic(base_url=url, api_key="unused")
    messages: Any = [{"role": "user", "content": question}]
    reply = client.messages.parse(model=model, max_tokens=300, messages=messages, output_format=Apples)
    return reply.parsed_output


async def agents_responses(url: str, model: str, question: str) -> Any:
    from agents import Agent, ModelSettings, OpenAIResponsesModel, Runner, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    async with AsyncOpenAI(base_url=url, api_key="unused") as client:
        agent = Agent(
            name="solver",
            model=OpenAIResponsesModel(model=model, openai_client=client),
            model_settings=ModelSettings(max_tokens=300),
            output_type=Apples,
        )
        return (await Runner.run(agent, question)).final_output


async def agents_chat(url: str, model: str, question: str) -> Any:
    from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    async with AsyncOpenAI(base_url=url, api_key="unused") as client:
        agent = Agent(
            name="solver",
            model=OpenAIChatCompletionsModel(model=model, openai_client=client),
            model_settings=ModelSettings(max_tokens=300),
        )
        return (await Runner.run(agent, question)).final_output


async def pydantic_ai_chat(url: str, model: str, question: str) -> Any:
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    served = OpenAIChatModel(model, provider=OpenAIProvider(base_url=url, api_key="unused"))
    agent = Agent(served, output_type=NativeOutput(Apples))
    return (await agent.run(question, model_settings={"max_tokens": 300})).output


async def pydantic_ai_responses(url: str, model: str, question: str) -> Any:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    agent = Agent(OpenAIResponsesModel(model, provider=OpenAIProvider(base_url=url, api_key="unused")))
    return (await agent.run(question, model_settings={"max_tokens": 300})).output


def langchain_chat(url: str, model: str, question: str) -> Any:
    from langchain_openai import ChatOpenAI

    chat: Any = ChatOpenAI(base_url=url, api_key="unused", model=model, max_completion_tokens=300)  # type: ignore
    assert "".join(str(piece.content) for piece in chat.stream(question))
    return chat.with_structured_output(Apples).invoke(question)


def langchain_responses(url: str, model: str, question: str) -> Any:
    from langchain_openai import ChatOpenAI

    chat: Any = ChatOpenAI(
        base_url=url,
        api_key="unused",  # type: ignore[arg-type]
        model=model,
        max_completion_tokens=300,
        use_responses_api=True,
    )
    return chat.invoke(question).text


def litellm_chat(url: str, model: str, question: str) -> Any:
    import litellm

    messages = [{"role": "user", "content": question}]
    asked: Any = {"model": f"openai/{model}", "api_base": url, "api_key": "unused", "max_tokens": 300}
    assert "".join(
        c.choices[0].delta.content or "" for c in litellm.completion(messages=messages, stream=True, **asked)
    )
    return litellm.completion(messages=messages, **asked).choices[0].message.content


def litellm_responses(url: str, model: str, question: str) -> Any:
    import litellm

    asked: Any = {"model": f"openai/{model}", "api_base": url, "api_key": "unused", "max_output_tokens": 300}
    return litellm.responses(input=question, **asked).output[-1].content[0].text


def litellm_messages(url: str, model: str, question: str) -> Any:
    import litellm

    asked: Any = {"model": f"anthropic/{model}", "api_base": url.removesuffix("/v1"), "api_key": "unused"}
    messages = [{"role": "user", "content": question}]
    return litellm.completion(messages=messages, max_tokens=300, **asked).choices[0].message.content


def llm_command(url: str, model: str, question: str) -> Any:
    import os
    import subprocess
    import sys
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as home:
        known = f"- {{model_id: local, model_name: {model!r}, api_base: {url!r}}}\n"
        Path(home, "extra-openai-models.yaml").write_text(known)
        options = ["-m", "local", "-o", "max_tokens", "300", "--key", "unused"]
        env = {**os.environ, "LLM_USER_PATH": home, "LLM_LOAD_PLUGINS": ""}
        command = [sys.executable, "-m", "llm", *options, question]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def instructor_object(url: str, model: str, question: str) -> Any:
    import instructor
    from openai import OpenAI

    client = instructor.from_openai(OpenAI(base_url=url, api_key="unused"), mode=instructor.Mode.JSON_SCHEMA)
    messages: Any = [{"role": "user", "content": question}]
    return client.chat.completions.create(
        model=model, messages=messages, max_tokens=300, response_model=Apples, max_retries=0
    )


async def inspect_openai(url: str, model: str, question: str) -> Any:
    from inspect_ai.model import GenerateConfig, get_model

    async with get_model(f"openai/{model}", base_url=url, api_key="unused", memoize=False) as served:
        return (await served.generate(question, config=GenerateConfig(max_tokens=300))).completion


async def inspect_anthropic(url: str, model: str, question: str) -> Any:
    from inspect_ai.model import GenerateConfig, get_model

    async with get_model(f"anthropic/{model}", base_url=url, api_key="unused", memoize=False) as served:
        return (await served.generate(question, config=GenerateConfig(max_tokens=300))).completion


def lm_eval_chat(url: str, model: str, question: str) -> Any:
    import json
    import tempfile
    from pathlib import Path

    import lm_eval
    from lm_eval.tasks import TaskManager

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "mine.jsonl").write_text(json.dumps({"question": question, "answer": "19"}))
        task = {
            "task": "mine",
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": f"{folder}/mine.jsonl"}, "cache_dir": folder},
            "test_split": "test",
            "output_type": "generate_until",
            "doc_to_text": "{{question}}",
            "doc_to_target": "{{answer}}",
            "generation_kwargs": {"until": ["\n\n\n"], "max_gen_toks": 300},
            "metric_list": [{"metric": "exact_match"}],
        }
        found: Any = lm_eval.simple_evaluate(
            model="local-chat-completions",
            model_args={"model": model, "base_url": f"{url}/chat/completions", "num_concurrent": 1},
            tasks=[task],  # type: ignore[list-item]
            task_manager=TaskManager(include_defaults=False),
            apply_chat_template=True,
        )
    return found["samples"]["mine"][0]["resps"][0][0]


def lm_eval_completions(url: str, model: str, question: str) -> Any:
    from lm_eval.models.openai_completions import LocalCompletionsAPI

    served = LocalCompletionsAPI(model=model, base_url=f"{url}/completions", tokenizer_backend=None)
    return served.model_call([question], generate=True, gen_kwargs={"max_gen_toks": 24})
