"""Clients as people install them, in front of the gateway at `address`, which each file opens for itself."""

from __future__ import annotations

import anthropic
import openai
import pytest


@pytest.fixture
def ours(address: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=address, api_key="unused", max_retries=0)


@pytest.fixture
def theirs(address: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=address.removesuffix("/v1"), api_key="unused", max_retries=0)
