"""Chat templates written for the purpose: one for each trap that templates in the wild set."""

from __future__ import annotations

from typing import Any

_CHATML = "{% for m in messages %}{{ '[|' + m.role + '|]\n' + m.content + '[|end|]\n' }}{% endfor %}"

_WITH_FIELD = """\
{%- for m in messages -%}
{%- if m.role == 'assistant' -%}
[|assistant|]
{% if m.reasoning_content and loop.index0 > 0 and (loop.last or messages[loop.index0 + 1].role == 'tool') -%}
OPEN{{ m.reasoning_content }}CLOSE
{%- endif -%}
{{ m.content }}
{%- for call in m.tool_calls or [] -%}<call>{{ call.function.name }}({{ call.function.arguments | tojson }})</call>{%- endfor -%}
[|end|]
{% else -%}
{{ '[|' + m.role + '|]\n' + m.content + '[|end|]\n' }}
{%- endif -%}
{%- endfor -%}
"""


def _field(opening: str, closing: str) -> str:
    return _WITH_FIELD.replace("OPEN", "{{ '" + opening + "' }}").replace("CLOSE", "{{ '" + closing + "' }}")


TEMPLATES: dict[str, tuple[str, dict[str, Any]]] = {
    "a switch whose off is an empty thought": (
        _field("<think>\\n", "\\n</think>\\n\\n")
        + "{% if add_generation_prompt %}{{ '[|assistant|]\n' }}"
        + "{% if enable_thinking is defined and enable_thinking is false %}{{ '<think>\n\n</think>\n\n' }}"
        + "{% endif %}{% endif %}",
        {
            "thinking": "switch",
            "default": "on",
            "on": {"enable_thinking": True},
            "off": {"enable_thinking": False},
            "open": "<think>\n",
            "close": "\n</think>\n\n",
            "prompt_opens_when_on": False,
            "off_writes": "<think>\n\n</think>\n\n",
            "end_of_turn": "[|end|]",
            "interleaved": True,
            "tool_open": "<call>",
        },
    ),
    "a prompt that opens the thought, and a bare close when off": (
        _CHATML
        + "{% if add_generation_prompt %}{{ '[|assistant|]' }}"
        + "{% if thinking is defined and thinking %}<think>{% else %}</think>{% endif %}{% endif %}",
        {
            "thinking": "switch",
            "default": "off",
            "on": {"thinking": True},
            "off": {"thinking": False},
            "open_tag": "<think>",
            "close_tag": "</think>",
            "prompt_opens_when_on": True,
            "off_writes": "</think>",
        },
    ),
    "two switches of which one wins": (
        "{% if thinking is not defined %}{% set thinking = enable_thinking | default(true) %}{% endif %}"
        + _CHATML
        + "{% if add_generation_prompt %}{{ '[|assistant|]' }}"
        + "{% if thinking %}<think>{% else %}<think></think>{% endif %}{% endif %}",
        {"thinking": "switch", "default": "on", "on": {"thinking": True}, "off": {"thinking": False}},
    ),
    "no switch: the prompt always opens": (
        _CHATML + "{% if add_generation_prompt %}{{ '[|assistant|]\n<think>\n' }}{% endif %}",
        {
            "thinking": "always",
            "default": "on",
            "off": None,
            "open": "<think>\n",
            "close": "\n</think>\n\n",
            "prompt_opens_when_on": True,
        },
    ),
    "tags in the history alone prove nothing": (
        "{% for m in messages %}{% set text = m.content.split('</think>')[-1] %}"
        "{{ '[|' + m.role + '|]\n' + text + '[|end|]\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '[|assistant|]\n' }}{% endif %}",
        {"thinking": "none", "default": "off", "open_tag": None, "close_tag": None},
    ),
    "a word that is not a switch": (
        "You explain your reasoning.\n"
        + _CHATML
        + "{% if add_generation_prompt %}{{ '[|assistant|]\n' }}{% endif %}",
        {"thinking": "none"},
    ),
    "channels of control tokens": (
        "{{ 'Effort: ' + (reasoning_effort if reasoning_effort is defined else 'medium') + '\n' }}"
        "{% for m in messages %}{% if m.role == 'assistant' %}"
        "{% if m.thinking and (loop.last or messages[loop.index0 + 1].role == 'tool') %}"
        "{{ '<|from|>assistant<|lane|>inner<|text|>' + m.thinking + '<|stop|>' }}{% endif %}"
        "{% if m.content %}{{ '<|from|>assistant<|lane|>outer<|text|>' + m.content + '<|done|>' }}{% endif %}"
        "{% for call in m.tool_calls or [] %}{{ '<|from|>assistant to=tools.' + call.function.name + '<|text|>{}<|stop|>' }}"
        "{% endfor %}{% else %}{{ '<|from|>' + m.role + '<|text|>' + m.content + '<|stop|>' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|from|>assistant{% endif %}",
        {
            "thinking": "always",
            "off": None,
            "open_tag": "<|lane|>inner<|text|>",
            "close_tag": "<|stop|>",
            "answer_open": "<|from|>assistant<|lane|>outer<|text|>",
            "answer_close": None,
            "end_of_turn": "<|done|>",
            "effort": {"name": "reasoning_effort", "values": ["low", "medium", "high"], "default": "medium"},
        },
    ),
    "an off that is a word, levels that raise": (
        "{% if not reasoning_effort is defined %}{% set reasoning_effort = 'no_think' %}"
        "{% elif reasoning_effort not in ['high', 'low', 'no_think'] %}{{ raise_exception('no such level') }}{% endif %}"
        + _CHATML
        + "{% if add_generation_prompt %}{{ '[|assistant|]' }}{% if reasoning_effort == 'no_think' %}"
        + "<think:x></think:x>{% else %}<think:x>{% endif %}{% endif %}",
        {
            "thinking": "switch",
            "default": "off",
            "on": {"reasoning_effort": "high"},
            "off": {"reasoning_effort": "no_think"},
            "open_tag": "<think:x>",
            "close_tag": "</think:x>",
            "prompt_opens_when_on": True,
            "effort": {"name": "reasoning_effort", "values": ["no_think", "low", "high"], "default": "no_think"},
        },
    ),
    "an off that is a number": (
        "{% if thinking_budget is not defined %}{% set thinking_budget = -1 %}{% endif %}"
        "{% if thinking_budget == 0 %}Answer at once.\n{% elif thinking_budget != -1 %}Think for {{ thinking_budget }}.\n"
        "{% endif %}"
        + _field("<muse>", "</muse>\\n")
        + "{% if add_generation_prompt %}{{ '[|assistant|]\n' }}{% if thinking_budget == 0 %}<muse></muse>{% endif %}"
        "{% endif %}",
        {
            "thinking": "switch",
            "default": "on",
            "on": {},
            "off": {"thinking_budget": 0},
            "native_budget": "thinking_budget",
            "open_tag": "<muse>",
            "close_tag": "</muse>",
            "off_writes": "<muse></muse>",
        },
    ),
    "off by a word in a message": (
        "{% set ns = namespace(on=true) %}{% for m in messages %}{% if '/no_think' in m.content %}"
        "{% set ns.on = false %}{% endif %}{% endfor %}"
        "{% for m in messages %}{{ '[|' + m.role + '|]\n' + m.content.replace('/no_think', '') + '[|end|]\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '[|assistant|]\n' }}{% if ns.on %}{{ '<think>\n' }}{% else %}<think></think>"
        "{% endif %}{% endif %}",
        {
            "thinking": "switch",
            "default": "on",
            "off": None,
            "off_by_message": "/no_think",
            "open_tag": "<think>",
            "close_tag": "</think>",
            "prompt_opens_when_on": True,
            "off_writes": "<think></think>",
        },
    ),
    "a switch in the system text alone, and an answer in a wrapper": (
        "{% if thinking is defined and thinking %}Write your thoughts between <think></think> and the answer between "
        "<response></response>.\n{% endif %}"
        + _CHATML
        + "{% if add_generation_prompt %}{{ '[|assistant|]\n' }}{% endif %}",
        {
            "thinking": "switch",
            "default": "off",
            "on": {"thinking": True},
            "open_tag": "<think>",
            "close_tag": "</think>",
            "prompt_opens_when_on": False,
            "off_writes": "",
            "answer_open": "<response>",
            "answer_close": "</response>",
        },
    ),
    "thinking that a default system text asks for": (
        "{% if messages[0].role != 'system' %}First draft your thoughts as [THINK]draft[/THINK], then answer.\n{% endif %}"
        + _CHATML
        + "{% if add_generation_prompt %}{{ '[|assistant|]\n' }}{% endif %}",
        {"thinking": "prompted", "default": "on", "open_tag": "[THINK]", "close_tag": "[/THINK]", "off": None},
    ),
    "marks made of several tokens, and a prompt that opens the answer when off": (
        "{% if thinking is undefined %}{% set thinking = true %}{% endif %}"
        "{% for m in messages %}{{ '<|open|>message role=\"' + m.role + '\"<|sep|>' }}"
        "{% if m.role == 'assistant' %}{% if thinking %}"
        "{{ '<|open|>think<|sep|>' + (m.reasoning or '') + '<|close|>think<|sep|>' }}{% endif %}"
        "{{ '<|open|>response<|sep|>' + m.content + '<|close|>response<|sep|>' }}"
        "{% else %}{{ m.content }}{% endif %}{{ '<|close|>message<|sep|><|over|>' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|open|>message role=\"assistant\"<|sep|>' }}"
        "{{ '<|open|>' + ('think' if thinking else 'response') + '<|sep|>' }}{% endif %}",
        {
            "thinking": "switch",
            "default": "on",
            "on": {"thinking": True},
            "off": {"thinking": False},
            "open_tag": "<|open|>think<|sep|>",
            "close_tag": "<|close|>think<|sep|>",
            "prompt_opens_when_on": True,
            "off_writes": "<|open|>response<|sep|>",
            "answer_open": "<|open|>response<|sep|>",
            "answer_close": "<|close|>response<|sep|>",
            "end_of_turn": "<|over|>",
        },
    ),
    "one-sided marks with a word inside, empty when off": (
        "{% if enable_thinking is defined and enable_thinking %}<|mull|>\n{% endif %}"
        "{% for m in messages %}{{ '<|turn>' + m.role + '\n' + m.content + '<turn|>\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|turn>model\n' }}{% if not enable_thinking | default(false) %}"
        "{{ '<|channel>thought\n<channel|>' }}{% endif %}{% endif %}",
        {
            "thinking": "switch",
            "default": "off",
            "on": {"enable_thinking": True},
            "open_tag": "<|channel>thought",
            "close_tag": "<channel|>",
            "prompt_opens_when_on": False,
            "off_writes": "<|channel>thought\n<channel|>",
        },
    ),
    "a sentence that opens, a marker that closes": (
        "{% for m in messages %}{% if m.role == 'assistant' %}{{ '<|begin_assistant|>\n' }}"
        "{% if m.reasoning_content and loop.last %}{{ m.reasoning_content + '\n[BEGIN FINAL RESPONSE]\n' }}{% endif %}"
        "{{ m.content + '\n<|end|>\n' }}{% else %}{{ '<|begin_' + m.role + '|>\n' + m.content + '\n' }}{% endif %}"
        "{% if loop.last and m.role != 'assistant' %}{{ '<|begin_assistant|>\nHere are my reasoning steps:\n' }}{% endif %}"
        "{% endfor %}",
        {
            "thinking": "always",
            "open_tag": "Here are my reasoning steps:",
            "close_tag": "[BEGIN FINAL RESPONSE]",
            "prompt_opens_when_on": True,
            "end_of_turn": "<|end|>",
        },
    ),
    "an effort that is a flag, and a filter nobody knows": (
        _CHATML
        + "{% if add_generation_prompt %}{{ ('[|assistant|]\n' | polished) }}{% if brief_effort %}{{ '(brief)\n' }}{% endif %}"
        + "{{ '<think>\n' }}{% endif %}",
        {
            "thinking": "always",
            "effort": {"name": "brief_effort", "values": [True, False], "default": False},
            "prompt_opens_when_on": True,
        },
    ),
}
