"""Which clients are tried, in which ways, and how one way is carried out and judged.

carried_out(WAYS[0], "http://127.0.0.1:8080/v1", "pebble")          # '#### 19'
"""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import asked

QUESTION = "Tom has 12 apples and buys 7 more. How many apples does he have?\nSolve it, then end with: #### number"


ALONE = Path(os.environ.get("THINKCAP_INSPECT") or Path(__file__).parents[2] / ".venv-inspect") / "bin" / "python"
"""An environment of inspect-ai's own (`make setup-inspect`): other clients may hold its packages back."""


@dataclass(frozen=True)
class Way:
    client: str
    """As PyPI calls it."""
    tried: str
    function: Callable[[str, str, str], Any]
    raw: bool = False
    """A raw prompt without a conversation: needs a model server, and any text is an answer."""

    @property
    def version(self) -> str:
        """Empty where it is not installed."""
        if self.alone:
            return _version_alone(self.client)
        try:
            return version(self.client)
        except PackageNotFoundError:
            return ""

    @property
    def alone(self) -> bool:
        """Whether it is tried in its own environment."""
        return self.client == "inspect-ai" and ALONE.exists()

    @property
    def snippet(self) -> str:
        """The body of its function."""
        lines = inspect.getsource(self.function).splitlines()
        return textwrap.dedent("\n".join(lines[1:]))


WAYS = (
    Way("openai", "chat", asked.openai_chat),
    Way("openai", "chat, async, streamed", asked.openai_async_stream),
    Way("openai", "chat, parse", asked.openai_parse),
    Way("openai", "responses", asked.openai_responses),
    Way("openai", "responses, parse", asked.openai_responses_parse),
    Way("openai", "responses, async, streamed", asked.openai_responses_stream),
    Way("openai", "completions", asked.openai_completions, raw=True),
    Way("openai", "completions, streamed", asked.openai_completions_stream, raw=True),
    Way("anthropic", "messages, thinking", asked.anthropic_messages),
    Way("anthropic", "thinking, async, streamed", asked.anthropic_async_thinking),
    Way("anthropic", "parse", asked.anthropic_parse),
    Way("anthropic", "stream, count_tokens", asked.anthropic_stream),
    Way("openai-agents", "responses, an object", asked.agents_responses),
    Way("openai-agents", "chat", asked.agents_chat),
    Way("pydantic-ai-slim", "chat, an object", asked.pydantic_ai_chat),
    Way("pydantic-ai-slim", "responses", asked.pydantic_ai_responses),
    Way("langchain-openai", "chat, streamed, an object", asked.langchain_chat),
    Way("langchain-openai", "responses", asked.langchain_responses),
    Way("litellm", "chat, streamed", asked.litellm_chat),
    Way("litellm", "responses", asked.litellm_responses),
    Way("litellm", "messages", asked.litellm_messages),
    Way("llm", "the command", asked.llm_command),
    Way("instructor", "an object", asked.instructor_object),
    Way("inspect-ai", "openai provider", asked.inspect_openai),
    Way("inspect-ai", "anthropic provider", asked.inspect_anthropic),
    Way("lm-eval", "local-chat-completions", asked.lm_eval_chat),
    Way("lm-eval", "local-completions", asked.lm_eval_completions, raw=True),
)


class HeldBack(Exception):
    """A client that refuses the version of a package which other clients in this environment hold back."""


def carried_out(way: Way, url: str, model: str) -> str:
    """What came of it, in one line; an AssertionError where that is not the answer."""
    try:
        found = _alone(way, url, model) if way.alone else way.function(url, model, QUESTION)
        if inspect.isawaitable(found):

            async def waited() -> Any:
                return await found

            found = asyncio.run(waited())
    except Exception as err:
        # inspect-ai checks the openai package by itself; its word for too old a one is not public.
        if type(err).__name__ == "PrerequisiteError":
            raise HeldBack(f"{way.client}: {err}") from err
        raise
    said = " ".join(str(found).split())
    assert said if way.raw else "19" in said, f"{way.client} ({way.tried}) got {said[:200]!r}"
    return said


@cache
def _version_alone(client: str) -> str:
    asked = f"from importlib.metadata import version; print(version({client!r}))"
    return subprocess.run([ALONE, "-c", asked], capture_output=True, text=True, check=False).stdout.strip()


def _alone(way: Way, url: str, model: str) -> str:
    """The same function in the other environment; its last line is the answer in one line."""
    asked = (
        "import asyncio, sys, asked; "
        f"print(' '.join(asyncio.run(asked.{way.function.__name__}(*sys.argv[1:])).split()))"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    words = [str(ALONE), "-c", asked, url, model, QUESTION]
    ran = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout.splitlines()[-1]


def snippets() -> str:
    """Every way as docs/clients.md shows it."""
    parts = []
    for client in dict.fromkeys(way.client for way in WAYS):
        ways = [way for way in WAYS if way.client == client]
        parts.append(f"### {client}")
        for way in ways:
            title = f"{way.tried[0].upper()}{way.tried[1:]}:"
            parts.append(f"{title}\n\n```python\n{way.snippet.strip()}\n```")
    return "\n\n".join(parts)
