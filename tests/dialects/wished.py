"""Chat templates written for the purpose: arguments that are mappings or lists, words in messages, odd needs."""

from __future__ import annotations

from typing import Any

_TURNS = (
    "{% for m in messages %}{{ '[|' + m.role + '|]\n' }}{% if m.role == 'assistant' and m.reasoning_content and "
    "loop.last %}{{ '<think>\n' + m.reasoning_content + '\n</think>\n\n' }}{% endif %}"
    "{{ m.content + '[|end|]\n' }}{% endfor %}"
)
_EMPTY = "{{ '<think>\n\n</think>\n\n' }}"
_OPEN = "{{ '<think>\n' }}"


def _prompt(body: str) -> str:
    return "{% if add_generation_prompt %}{{ '[|assistant|]\n' }}" + body + "{% endif %}"


def _off(test: str, otherwise: str = "") -> str:
    return _TURNS + _prompt("{% if " + test + " %}" + _EMPTY + "{% else %}" + otherwise + "{% endif %}")


_ON: dict[str, Any] = {"thinking": "switch", "default": "on", "off_writes": "<think>\n\n</think>\n\n"}
_MARKS = {"open": "<think>\n", "close": "\n</think>\n\n", "header": "[|assistant|]\n", "end_of_turn": "[|end|]"}

ARGUMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "a mapping with a word": (
        _off("thinking is defined and thinking.type == 'disabled'"),
        {**_ON, **_MARKS, "on": {}, "off": {"thinking": {"type": "disabled"}}},
    ),
    "a mapping asked for its key, off without it": (
        _TURNS
        + _prompt(
            "{% if thinking is mapping and thinking.get('type') == 'enabled' %}"
            + _OPEN
            + "{% else %}"
            + _EMPTY
            + "{% endif %}"
        ),
        {**_ON, **_MARKS, "default": "off", "on": {"thinking": {"type": "enabled"}}, "prompt_opens_when_on": True},
    ),
    "a mapping under another name, with one of its own": (
        "{% set t = thinking if thinking is defined else {'type': 'enabled'} %}"
        + _off("t['type'] == 'disabled'", _OPEN),
        {**_ON, **_MARKS, "off": {"thinking": {"type": "disabled"}}, "prompt_opens_when_on": True},
    ),
    "a mapping with a flag": (
        _off("reasoning is defined and reasoning.enabled is false"),
        {**_ON, **_MARKS, "on": {"reasoning": {"enabled": True}}, "off": {"reasoning": {"enabled": False}}},
    ),
    "a mapping with a number": (
        _off("thinking is defined and thinking.budget_tokens is defined and thinking.budget_tokens == 0", _OPEN),
        {
            **_ON,
            **_MARKS,
            "off": {"thinking": {"budget_tokens": 0}},
            "native_budget": "thinking.budget_tokens",
        },
    ),
    "the server's own arguments inside one": (
        _off("chat_template_kwargs is defined and chat_template_kwargs.enable_thinking is false"),
        {**_ON, **_MARKS, "off": {"chat_template_kwargs": {"enable_thinking": False}}},
    ),
    "a mapping that must be one": (
        "{% if thinking is defined and thinking is not mapping %}{{ raise_exception('a mapping') }}{% endif %}"
        + _off("thinking is defined and thinking['type'] == 'disabled'", _OPEN),
        {**_ON, **_MARKS, "on": {}, "off": {"thinking": {"type": "disabled"}}, "prompt_opens_when_on": True},
    ),
    "levels in a mapping": (
        "{% set effort = (reasoning | default({})).get('effort', 'medium') %}{{ 'Reasoning: ' + effort + '\n' }}"
        + _TURNS
        + _prompt(_OPEN),
        {
            **_MARKS,
            "thinking": "always",
            "effort": {"name": "reasoning.effort", "values": ["low", "medium", "high"], "default": "medium"},
        },
    ),
    "levels looked up in a table": (
        "{% set words = {'quick': 'Be quick.', 'normal': 'Think.', 'deep': 'Think hard.'} %}"
        "{{ words[reasoning_effort | default('normal')] + '\n' }}" + _TURNS + _prompt(_OPEN),
        {
            **_MARKS,
            "thinking": "always",
            "effort": {"name": "reasoning_effort", "values": ["quick", "normal", "deep"], "default": "normal"},
        },
    ),
    "a list of wishes": (
        _TURNS + _prompt("{% if features is defined and 'thinking' in features %}" + _OPEN + "{% endif %}"),
        {
            **_MARKS,
            "thinking": "switch",
            "default": "off",
            "on": {"features": ["thinking"]},
            "off": {"features": []},
            "off_writes": "",
        },
    ),
    "a word in capitals": (
        _off("(thinking_mode | default('ON') | upper) == 'OFF'"),
        {**_ON, **_MARKS, "off": {"thinking_mode": "OFF"}},
    ),
    "a flag kept in a namespace": (
        "{% set ns = namespace(think=enable_thinking | default(true)) %}" + _off("not ns.think"),
        {**_ON, **_MARKS, "off": {"enable_thinking": False}},
    ),
    "an argument that is a mark, not a switch": (
        "{% set think_start = think_start | default('<think>') %}"
        + _TURNS
        + _prompt("{{ think_start }}{% if not enable_thinking | default(true) %}</think>{% endif %}"),
        {
            "thinking": "switch",
            "default": "on",
            "off": {"enable_thinking": False},
            "off_writes": "<think></think>",
            "prompt_opens_when_on": True,
        },
    ),
}

WORDS: dict[str, tuple[str, dict[str, Any]]] = {
    "off by a usual word at the end of the question": (
        _off("messages[-1].content.endswith('/no_think')"),
        {**_ON, **_MARKS, "off": None, "off_by_message": "/no_think", "off_word_in": "user"},
    ),
    "off by an unusual word at the end of the question": (
        _off("messages[-1].content.endswith('/fast')"),
        {**_ON, **_MARKS, "off": None, "off_by_message": "/fast", "off_word_in": "user"},
    ),
    "off by words in the system message": (
        _off("messages[0].role == 'system' and 'reasoning: off' in messages[0].content | lower"),
        {**_ON, **_MARKS, "off": None, "off_by_message": "reasoning: off", "off_word_in": "system"},
    ),
    "on by words in the system message": (
        _TURNS
        + _prompt(
            "{% if messages[0].role == 'system' and 'deep thinking on' in messages[0].content %}"
            + _OPEN
            + "{% endif %}"
        ),
        {
            **_MARKS,
            "thinking": "switch",
            "default": "off",
            "on": {},
            "off": None,
            "on_by_message": "deep thinking on",
            "off_by_message": None,
            "off_word_in": "system",
            "off_writes": "",
            "prompt_opens_when_on": True,
        },
    ),
    "the last of several words counts": (
        "{% set ns = namespace(think=true) %}{% for m in messages %}{% if m.role == 'user' %}"
        "{% if '/nothink' in m.content %}{% set ns.think = false %}"
        "{% elif '/think' in m.content %}{% set ns.think = true %}{% endif %}{% endif %}{% endfor %}"
        + _off("not ns.think"),
        {**_ON, **_MARKS, "off": None, "off_by_message": "/nothink"},
    ),
}

_BY_FLAG = _off("enable_thinking is defined and not enable_thinking")
_FLAG = {**_ON, **_MARKS, "on": {"enable_thinking": True}, "off": {"enable_thinking": False}}

SURROUNDINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "a system message that must be there": (
        "{% if messages[0].role != 'system' %}{{ raise_exception('system first') }}{% endif %}" + _BY_FLAG,
        _FLAG,
    ),
    "tools that must be a list": (
        "{% if tools | length > 0 %}{{ tools | tojson(indent=2) }}{% endif %}" + _BY_FLAG,
        _FLAG,
    ),
    "tools with every argument of tojson": (
        "{% for t in tools or [] %}{{ t | tojson(ensure_ascii=False, separators=(',', ':'), sort_keys=true, "
        "indent=4) }}{% endfor %}" + _BY_FLAG,
        _FLAG,
    ),
    "an argument that must be there": (
        "{% if enable_thinking is not defined %}{{ raise_exception('required') }}{% endif %}" + _BY_FLAG,
        {**_FLAG, "default": "neither"},
    ),
    "turns that must alternate": (
        "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('alternate') }}{% endif %}{% endfor %}" + _BY_FLAG,
        _FLAG,
    ),
    "loops that are left": (
        "{% for m in messages %}{% if m.role == 'x' %}{% continue %}{% endif %}{% break %}{% endfor %}" + _BY_FLAG,
        _FLAG,
    ),
    "a clock that may not be there": (
        "{% set d = strftime_now('%d %b %Y') if strftime_now is defined else '1' %}{{ d + '\n' }}" + _BY_FLAG,
        _FLAG,
    ),
    "a header whenever the user spoke last": (
        _TURNS + "{% if messages[-1].role == 'user' %}{{ '[|assistant|]\n<think>\n' }}{% endif %}",
        {"thinking": "always", "prompt_opens_when_on": True, "open": "<think>\n"},
    ),
    "marks put together from pieces": (
        "{% macro tag(name, over=false) %}{{ '<' }}{% if over %}/{% endif %}{{ name + '>' }}{% endmacro %}"
        "{% for m in messages %}{{ '[|' + m.role + '|]\n' }}{% if m.role == 'assistant' and m.reasoning_content %}"
        "{{ tag('reason') + m.reasoning_content + tag('reason', true) }}{% endif %}"
        "{{ m.content + '[|end|]\n' }}{% endfor %}"
        + _prompt("{{ tag('reason') }}{% if reasoning == false %}{{ tag('reason', true) }}{% endif %}"),
        {
            "off": {"reasoning": False},
            "open_tag": "<reason>",
            "close_tag": "</reason>",
            "prompt_opens_when_on": True,
            "off_writes": "<reason></reason>",
        },
    ),
    "a mark that says nothing of thinking": (
        "{% for m in messages %}{{ '[|' + m.role + '|]\n' + m.content + '[|end|]\n' }}{% endfor %}"
        + _prompt("{{ '<zz>\n' }}{% if not enable_thinking | default(true) %}{{ '\n</zz>\n\n' }}{% endif %}"),
        {
            "off": {"enable_thinking": False},
            "open_tag": "<zz>",
            "close_tag": "</zz>",
            "prompt_opens_when_on": True,
            "off_writes": "<zz>\n\n</zz>\n\n",
        },
    ),
    "marks of no usual shape": (
        _TURNS.replace("<think>\n", "### Thoughts\n").replace("\n</think>\n\n", "\n### Reply\n") + _prompt(""),
        {"thinking": "always", "open_tag": "### Thoughts", "close_tag": "### Reply"},
    ),
    "words in the thought that off writes": (
        "{% for m in messages %}{{ '[|' + m.role + '|]\n' + m.content + '[|end|]\n' }}{% endfor %}"
        + _prompt(
            "{% if not enable_thinking | default(true) %}{{ '<think>\nI am done.\n</think>\n\n' }}{% endif %}"
        ),
        {
            "off": {"enable_thinking": False},
            "open": "<think>\n",
            "close": "\n</think>\n\n",
            "off_writes": "<think>\nI am done.\n</think>\n\n",
        },
    ),
    **{
        f"an empty thought written as {written!r}": (
            "{% for m in messages %}{{ '[|' + m.role + '|]\n' + m.content + '[|end|]\n' }}{% endfor %}"
            + _prompt("{% if not enable_thinking | default(true) %}{{ '" + written + "' }}{% endif %}"),
            {
                "off": {"enable_thinking": False},
                "open_tag": "<think>",
                "close_tag": "</think>",
                "off_writes": written,
            },
        )
        for written in (
            "<think> </think>",
            "<think>\n</think>\n",
            "<think>\n\n\n</think>\n\n",
            "<think>\t</think>\t",
        )
    },
}
