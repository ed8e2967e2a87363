"""The bundled model under other marks: the same weights, its two tags renamed in tokenizer and template."""

from __future__ import annotations

from pathlib import Path

from thinkcap.model import pebble_gguf

MARKS = {"brackets": (b"[THINK]", b"[/THINK]"), "control": (b"<|cot|>", b"<|/cot|>")}
"""Each mark as long as the one it replaces, so that nothing in the file moves."""


def renamed(path: Path, name: str) -> Path:
    """A GGUF whose two tags are called otherwise."""
    opened, closed = MARKS[name]
    path.write_bytes(pebble_gguf().read_bytes().replace(b"</think>", closed).replace(b"<think>", opened))
    return path


def opened_by_prompt(path: Path) -> Path:
    """A GGUF whose template opens the thought itself, unless thinking is off."""
    raw = pebble_gguf().read_bytes()
    start, end = raw.index(b"{%- if messages[0].role"), raw.rindex(b"{%- endif %}") + len(b"{%- endif %}")
    room = end - start - len(_OPENS.encode()) - len("{#-#}")
    assert room >= 0
    path.write_bytes(raw[:start] + b"{#" + b" " * room + b"-#}" + _OPENS.encode() + raw[end:])
    return path


_OPENS = """\
{%- for message in messages %}
    {%- if message.role == 'assistant' %}
        {%- set parts = message.content.split('</think>') %}
        {{- '<|im_start|>assistant\\n' + parts[-1].lstrip('\\n') + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- else %}
        {{- '<think>\\n' }}
    {%- endif %}
{%- endif %}"""
