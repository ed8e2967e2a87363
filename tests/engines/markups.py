"""The bundled model under six other markups: the same weights, its two tags renamed in tokenizer and template.

gguf_of(folder, MARKUPS["brackets"])          # for llama.cpp
hf_of(folder, MARKUPS["brackets"])            # for transformers and vLLM
"""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thinkcap.model import pebble_gguf, pebble_hf

_OPEN, _CLOSE = "<think>", "</think>"
_CONTROL = 3
"""GGUF's type of a control token."""


@dataclass(frozen=True)
class Markup:
    """What is renamed, and what the prompt does: `end` is the template's last part, the generation prompt."""

    name: str
    open_tag: str = _OPEN
    close_tag: str = _CLOSE
    special: bool = False
    """The marks are control tokens."""
    end: str = ""
    off: Any = None
    """What the dialect must find: arguments that turn thinking off, or the word that does."""
    opens: bool = False
    levels: tuple[str, ...] = ()
    whole: str = ""
    """A template of its own."""
    also: Mapping[str, str] = field(default_factory=dict)
    """Further tokens and their other names."""

    @property
    def names(self) -> Mapping[str, str]:
        return {_OPEN: self.open_tag, _CLOSE: self.close_tag, **self.also}

    @property
    def template(self) -> str:
        if self.whole:
            return self.whole
        plain = (pebble_hf() / "chat_template.jinja").read_text("utf-8")
        head, asked, tail = plain.rpartition("{%- if add_generation_prompt %}")
        if self.name == "word":
            head = head.replace("+ content + '<|im_end|>", "+ content.replace('\\n/no_think', '') + '<|im_end|>")
        if self.levels:
            head = _LEVEL + head
        whole = head + (self.end or asked + tail)
        return whole.replace(_CLOSE, self.close_tag).replace(_OPEN, self.open_tag)


def _ending(condition: str, off: str, on: str = "") -> str:
    return (
        "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}"
        f"{{%- if {condition} %}}{{{{- {off!r} }}}}{{%- else %}}{{{{- {on!r} }}}}{{%- endif %}}{{%- endif %}}"
    )


_EMPTY = "<think>\n\n</think>\n\n"
_LEVEL = """\
{%- set reasoning_effort = reasoning_effort | default('medium') %}
{%- if reasoning_effort in ('low', 'high') %}
    {{- '<|im_start|>system\\nReasoning: ' + reasoning_effort + '<|im_end|>\\n' }}
{%- endif %}
"""
MARKUPS = {
    m.name: m
    for m in (
        Markup("channel", "<|channel>thought", "<channel|>", special=True, off={"enable_thinking": False}),
        Markup("brackets", "[THINK]", "[/THINK]", special=True, off={"enable_thinking": False}),
        Markup(
            "colon",
            "<think:pebble>",
            "</think:pebble>",
            end=_ending("reasoning_effort is defined and reasoning_effort == 'no_think'", _EMPTY),
            off={"reasoning_effort": "no_think"},
        ),
        Markup(
            "opened",
            end=_ending("thinking is defined and not thinking", _EMPTY, "<think>\n"),
            off={"thinking": False},
            opens=True,
        ),
        Markup(
            "word",
            "<reasoning>",
            "</reasoning>",
            end=_ending("messages[-1].content.endswith('/no_think')", _EMPTY),
            off="/no_think",
        ),
        Markup(
            "effort",
            "<|think_start|>",
            "<|think_end|>",
            special=True,
            end="{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}",
            levels=("low", "medium", "high"),
        ),
    )
}
"""A channel markup, brackets, a tag with a colon, a prompt that opens, an off word, effort alone."""
CALLING = Markup(
    "calling",
    also={"<|endoftext|>": "<tool_call>"},
    whole="""\
{%- macro said(role, text) %}{{ '<|im_start|>' + role + '\\n' + text + '<|im_end|>\\n' }}{% endmacro %}
{%- if tools %}
    {%- set told %}You may call functions:
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}A call is a JSON object with name and arguments:
<tool_call>
{"name": "...", "arguments": {}}
</tool_call>{% endset %}
    {{- said('system', told) }}
{%- endif %}
{%- for m in messages %}
    {%- if m.role == 'assistant' %}
        {{- '<|im_start|>assistant\\n' }}
        {%- if m.reasoning_content %}{{- '<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' }}{% endif %}
        {{- m.content or '' }}
        {%- for call in m.tool_calls or [] %}
            {{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
            {%- if call.function.arguments is string %}{{- call.function.arguments }}
            {%- else %}{{- call.function.arguments | tojson }}{% endif %}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif m.role == 'tool' %}
        {{- said('user', '<tool_response>\\n' + m.content + '\\n</tool_response>') }}
    {%- else %}
        {{- said(m.role, m.content) }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and not enable_thinking %}{{- '<think>\\n\\n</think>\\n\\n' }}{% endif %}
{%- endif %}
""",
)
"""As Qwen3 does it: tools in the system's turn, calls between tags, earlier thoughts kept."""


def gguf_of(folder: Path, markup: Markup) -> Path:
    """A GGUF whose two tags are called otherwise; tensors stay as they are, at places relative to their start."""
    raw = pebble_gguf().read_bytes()
    version, tensors, count = struct.unpack_from("<IQQ", raw, 4)
    at, out = 24, bytearray(raw[:24])
    for _ in range(count):
        start = at
        key, at = _text(raw, at)
        (kind,) = struct.unpack_from("<I", raw, at)
        end = _after(raw, at + 4, kind)
        if key == "tokenizer.chat_template":
            out += raw[start : at + 4] + _written(markup.template)
        elif key == "tokenizer.ggml.tokens":
            out += raw[start : at + 16] + b"".join(map(_written, _renamed(raw, at + 16, markup)))
        elif key == "tokenizer.ggml.token_type" and markup.special:
            out += raw[start : end - 8] + struct.pack("<2i", _CONTROL, _CONTROL)
        else:
            out += raw[start:end]
        at = end
    start = at
    for _ in range(tensors):
        _, at = _text(raw, at)
        (dimensions,) = struct.unpack_from("<I", raw, at)
        at += 4 + 8 * dimensions + 12
    out += raw[start:at]
    out += bytes(-len(out) % 32)
    path = folder / f"pebble-{markup.name}.gguf"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(out) + raw[at + (-at % 32) :])
    assert version >= 2
    return path


def _renamed(raw: bytes, at: int, markup: Markup) -> list[str]:
    (count,) = struct.unpack_from("<Q", raw, at - 8)
    tokens = []
    for _ in range(count):
        token, at = _text(raw, at)
        tokens.append(token)
    assert tokens[-2:] == [_OPEN, _CLOSE]
    return [markup.names.get(token, token) for token in tokens]


def _text(raw: bytes, at: int) -> tuple[str, int]:
    (size,) = struct.unpack_from("<Q", raw, at)
    return raw[at + 8 : at + 8 + size].decode(), at + 8 + size


def _written(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _after(raw: bytes, at: int, kind: int) -> int:
    """Where a value of GGUF's metadata ends."""
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
    if kind == 8:
        return _text(raw, at)[1]
    if kind != 9:
        return at + sizes[kind]
    inner, count = struct.unpack_from("<IQ", raw, at)
    at += 12
    for _ in range(count):
        at = _after(raw, at, inner)
    return at


def hf_of(folder: Path, markup: Markup) -> Path:
    """A folder for transformers and vLLM, named so that its name tells nothing."""
    made = folder / f"pebble-{markup.name}"
    shutil.copytree(pebble_hf(), made)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        said = json.loads((made / file).read_text("utf-8"))
        tokens = said.get("added_tokens") or list(said["added_tokens_decoder"].values())
        for token in tokens:
            if token["content"] in markup.names:
                token["special"] = markup.special or token["content"] in markup.also
                token["content"] = markup.names[token["content"]]
        (made / file).write_text(json.dumps(said, ensure_ascii=False), "utf-8")
    (made / "chat_template.jinja").write_text(markup.template, "utf-8")
    return made
