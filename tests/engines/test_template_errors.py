"""Template errors in the words of different servers."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import jinja2
import pytest

from thinkcap.core.errors import TemplateRefused
from thinkcap.engines.hf_words import HfWords
from thinkcap.engines.template_errors import find_template_error

LLAMA = (
    "\n------------\nWhile executing CallExpression at line 85, column 32 in source:\n...first %}\n"
    "            {{- raise_exception('System message must be at the beginnin...\n"
    "             ^\nError: Jinja Exception: System message must be at the beginning."
)
OLDER_LLAMA = "System message must be at the beginning. at row 85, column 32:\n{{- raise_exception('System"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (500, LLAMA),
        (400, LLAMA),
        (500, OLDER_LLAMA),
        (422, "Template error: System message must be at the beginning."),
        (500, "jinja2.exceptions.TemplateError: System message must be at the beginning."),
    ],
)
def test_the_message_of_the_template_is_found(status: int, words: str) -> None:
    assert find_template_error(status, words) == "System message must be at the beginning."


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (500, "out of memory"),
        (400, "unknown field chat_template_kwargs"),
        (400, "parse error at line 1, column 7: unexpected end of input"),
        (503, LLAMA),
        (429, "busy"),
    ],
)
def test_other_failures_are_none_of_the_template(status: int, words: str) -> None:
    assert find_template_error(status, words) is None


def test_transformers_own_error_is_ours() -> None:
    class Tokenizer(SimpleNamespace):
        def apply_chat_template(self, messages: Any, **switches: Any) -> str:
            raise jinja2.TemplateError("Conversation roles must alternate")

    words = HfWords(
        Tokenizer(pad_token_id=0, all_special_ids=[], convert_ids_to_tokens=str), SimpleNamespace(eos_token_id=1)
    )
    with pytest.raises(TemplateRefused, match="Conversation roles must alternate") as caught:
        asyncio.run(words.render([{"role": "user", "content": "Hi"}], {}))
    assert not caught.value.retriable
