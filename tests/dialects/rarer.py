"""Chat templates written for the purpose: rarer ways of switching, of marking and of asking for a thought."""

from __future__ import annotations

from typing import Any

_TURNS = "{% for m in messages %}{{ '[|' + m.role + '|]\n' + m.content + '[|end|]\n' }}{% endfor %}"
_HEADER = "{% if add_generation_prompt %}{{ '[|assistant|]\n' }}{% endif %}"


def _asks(request: str) -> str:
    """A template whose only word about thinking is a system text that the caller's own replaces."""
    asked = "{% if messages[0].role != 'system' %}{{ '[|system|]\n" + request + "[|end|]\n' }}{% endif %}"
    return asked + _TURNS + _HEADER


RARER: dict[str, tuple[str, dict[str, Any]]] = {
    "filters that are handed the context": (
        "{% if messages | selectattr('role', 'equalto', 'system') | list | length == 0 %}Be kind.\n{% endif %}"
        "{{ messages | map(attribute='content') | join('\n') + '\n' }}"
        "{% if add_generation_prompt %}{{ '[|assistant|]\n<think>' }}{% endif %}",
        {"thinking": "always", "open": "<think>", "prompt_opens_when_on": True, "header": "[|assistant|]\n"},
    ),
    "a header written unasked, and a thought that comes with the prompt": (
        "{% for m in messages %}{% if m.role == 'user' %}{{ '<|you|>' + m.content + '<|me|>' }}{% else %}"
        "{{ m.content + '<|over|>' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt and enable_thinking %}{{ '<think>\n' }}{% endif %}",
        {
            "thinking": "switch",
            "default": "off",
            "on": {"enable_thinking": True},
            "header": "<|me|>",
            "open": "<think>\n",
            "prompt_opens_when_on": True,
            "off_writes": "",
            "end_of_turn": "<|over|>",
        },
    ),
    "off by a word in the system message, and a thought that only off shows": (
        "{% set on = '/no_think' not in messages[0].content or messages[0].role != 'system' %}"
        + _TURNS
        + "{% if add_generation_prompt %}{{ '[|assistant|]\n' }}{% if not on %}{{ '<think>\n\n</think>\n\n' }}"
        + "{% endif %}{% endif %}",
        {
            "thinking": "switch",
            "default": "on",
            "off": None,
            "off_by_message": "/no_think",
            "off_word_in": "system",
            "open": "<think>\n",
            "close": "\n</think>\n\n",
            "prompt_opens_when_on": False,
            "off_writes": "<think>\n\n</think>\n\n",
        },
    ),
    "levels under a name that the template sets itself": (
        "{% set chosen_effort = reasoning_effort if reasoning_effort is defined "
        "and reasoning_effort != '' and reasoning_effort in ['low', 'high'] else 'max' %}"
        "{{ 'Effort: ' + chosen_effort + '\n' }}"
        + _TURNS
        + "{% if add_generation_prompt %}{{ '[|assistant|]\n' }}{{ '<think>' if enable_thinking is not defined or "
        "enable_thinking else '<think></think>' }}{% endif %}",
        {
            "on": {"enable_thinking": True},
            "effort": {"name": "reasoning_effort", "values": ["low", "high", "max"], "default": "max"},
            "off_writes": "<think></think>",
        },
    ),
    "marks that change with the level of effort": (
        "{% set effort = reasoning_effort | default('high') %}"
        "{% if effort not in ['low', 'high'] %}{{ raise_exception('low or high') }}{% endif %}"
        "{% set mark = 'glance' if effort == 'low' else 'ponder' %}"
        "{% for m in messages %}{{ '[|' + m.role + '|]\n' }}{% if m.reasoning_content and loop.last %}"
        "{{ '<|' + mark + '|>' + m.reasoning_content + '<|/' + mark + '|>' }}{% endif %}"
        "{{ m.content + '[|end|]\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '[|assistant|]\n' }}{% if effort == 'high' %}<|ponder|>{% endif %}"
        "{% endif %}",
        {
            "thinking": "always",
            "off": None,
            "open_tag": "<|ponder|>",
            "close_tag": "<|/ponder|>",
            "prompt_opens_when_on": True,
            "effort": {"name": "reasoning_effort", "values": ["low", "high"], "default": "high"},
            "by_effort": {
                "low": {
                    "open_tag": "<|glance|>",
                    "close_tag": "<|/glance|>",
                    "open": "<|glance|>",
                    "close": "<|/glance|>",
                    "prompt_opens_when_on": False,
                }
            },
        },
    ),
    "marks in a system line that changes with the level of effort": (
        "{% set effort = reasoning_effort | default('deep') %}"
        "{{ {'brief': 'Note a hint as <hint_of_thought>hint</hint_of_thought>.', "
        "'deep': 'Write your thoughts between <think></think>.'}[effort] + '\n' }}" + _TURNS + _HEADER,
        {
            "thinking": "always",
            "open_tag": "<think>",
            "effort": {"name": "reasoning_effort", "values": ["brief", "deep"], "default": "deep"},
            "by_effort": {
                "brief": {
                    "open_tag": "<hint_of_thought>",
                    "close_tag": "</hint_of_thought>",
                    "open": "<hint_of_thought>",
                    "close": "</hint_of_thought>",
                }
            },
        },
    ),
    "levels with capitals, in a list with a name": (
        "{% set levels = ['Low', 'Medium', 'Ultra'] %}"
        "{{ 'Effort: ' + (reasoning_effort if reasoning_effort in levels else 'Medium') + '\n' }}"
        + _TURNS
        + "{% if add_generation_prompt %}{{ '[|assistant|]\n<think>\n' }}{% endif %}",
        {
            "thinking": "always",
            "off": None,
            "effort": {"name": "reasoning_effort", "values": ["Low", "Medium", "Ultra"], "default": "Medium"},
        },
    ),
    "three words of which one leaves it to the model": (
        "{% set thinking_mode = thinking_mode | default('adaptive') %}"
        + _TURNS
        + "{% if add_generation_prompt %}{{ '[|assistant|]\n' }}{% if thinking_mode == 'enabled' %}<x:think>"
        + "{% elif thinking_mode == 'disabled' %}</x:think>{% endif %}{% endif %}",
        {
            "thinking": "switch",
            "default": "neither",
            "on": {"thinking_mode": "enabled"},
            "off": {"thinking_mode": "disabled"},
            "open_tag": "<x:think>",
            "close_tag": "</x:think>",
            "off_writes": "</x:think>",
        },
    ),
    "a level that nobody would take for off, but for what it writes": (
        "{% set effort = reasoning_effort | default('deep') %}"
        "{% if effort not in ['swift', 'deep'] %}{{ raise_exception('swift or deep') }}{% endif %}"
        + _TURNS
        + "{% if add_generation_prompt %}{{ '[|assistant|]\n<|think:start|>' }}"
        + "{% if effort == 'swift' %}<|think:end|>{% endif %}{% endif %}",
        {
            "thinking": "switch",
            "default": "on",
            "off": {"reasoning_effort": "swift"},
            "open_tag": "<|think:start|>",
            "close_tag": "<|think:end|>",
            "off_writes": "<|think:start|><|think:end|>",
            "prompt_opens_when_on": True,
        },
    ),
    "an argument whose name says nothing of thinking": (
        _TURNS
        + "{% if add_generation_prompt %}{{ '[|assistant|]\n' }}{% if quick is defined and quick %}<think></think>"
        + "{% else %}{{ '<think>\n' }}{% endif %}{% endif %}",
        {
            "thinking": "switch",
            "default": "on",
            "on": {"quick": False},
            "off": {"quick": True},
            "prompt_opens_when_on": True,
            "off_writes": "<think></think>",
        },
    ),
    "one argument forces the thought and another leaves it out": (
        "{% for m in messages %}{% if m.role == 'assistant' and m.reasoning_content and loop.last %}"
        "{{ '<|im|>assistant/think\n' + m.reasoning_content + '<|/im|>\n' }}{% endif %}"
        "{{ '<|im|>' + m.role + '\n' + m.content + '<|/im|>\n' }}{% endfor %}"
        "{% if add_generation_prompt %}<|im|>assistant{% if force_reasoning %}{{ '/think\n' }}"
        "{% elif skip_reasoning %}{{ '\n' }}{% endif %}{% endif %}",
        {
            "thinking": "switch",
            "default": "neither",
            "on": {"force_reasoning": True},
            "off": {"skip_reasoning": True},
            "open_tag": "/think",
            "close_tag": "<|/im|>",
            "answer_open": "<|im|>assistant",
            "prompt_opens_when_on": True,
            "off_writes": "\n",
        },
    ),
    "an off that opens a thought for the model to end": (
        "{% if thinking_budget is not defined %}{% set thinking_budget = -1 %}{% endif %}"
        "{% for m in messages %}{{ '[|' + m.role + '|]\n' }}{% if m.reasoning_content and loop.last %}"
        "{{ '<x:think>' + m.reasoning_content + '</x:think>' }}{% endif %}"
        "{{ m.content + '[|end|]\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '[|assistant|]\n' }}{% if thinking_budget == 0 %}<x:think><x:budget>"
        "{% endif %}{% endif %}",
        {
            "off": {"thinking_budget": 0},
            "native_budget": "thinking_budget",
            "off_writes": "<x:think><x:budget>",
            "opens_when_off": True,
        },
    ),
    "an end that the last turn leaves to the caller's token": (
        "{% for m in messages %}{{ '[|' + m.role + '|]\n' + m.content }}"
        "{% if loop.last and m.role == 'assistant' %}{{ eos_token }}{% else %}{{ '<|over|>\n' }}{% endif %}"
        "{% endfor %}"
        "{% if add_generation_prompt %}{{ '[|assistant|]\n<think>' }}{% endif %}",
        {"thinking": "always", "end_of_turn": "<|over|>"},
    ),
    "a call behind an answer without words": (
        "{% for m in messages %}{{ '<|open|>' + m.role + '<|sep|>' }}{% if m.role == 'assistant' %}"
        "{{ '<|open|>think<|sep|>' + (m.reasoning or '') + '<|close|>think<|sep|>' }}"
        "{{ '<|open|>say<|sep|>' + m.content + '<|close|>say<|sep|>' }}"
        "{% for c in m.tool_calls or [] %}{{ '<|open|>do<|sep|>' + c.function.name + '<|close|>do<|sep|>' }}"
        "{% endfor %}"
        "{{ '<|close|>assistant<|sep|>' }}{% else %}{{ m.content }}{% endif %}<|over|>{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|open|>assistant<|sep|><|open|>think<|sep|>' }}{% endif %}",
        {
            "answer_open": "<|open|>say<|sep|>",
            "answer_close": "<|close|>say<|sep|>",
            "tool_open": "<|open|>do<|sep|>",
            "turn_close": "<|close|>assistant<|sep|>",
            "end_of_turn": "<|over|>",
            "closes_implicitly": ("<|open|>say<|sep|>", "<|open|>do<|sep|>"),
        },
    ),
    "turns of several messages, a call among them": (
        "{% for m in messages %}{% if m.role == 'assistant' %}"
        "{% if m.reasoning %}{{ '<|msg|><|kind_thinking|>' + m.reasoning + '<|end|>' }}{% endif %}"
        "{% if m.content %}{{ '<|msg|><|kind_text|>' + m.content + '<|end|>' }}{% endif %}"
        "{% for c in m.tool_calls or [] %}{{ '<|msg|>' + c.function.name + '<|kind_call|>{}<|end|>' }}{% endfor %}"
        "<|over|>"
        "{% else %}{{ '<|' + m.role + '|>' + m.content + '<|end|>' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|msg|>{% endif %}",
        {
            "thinking": "always",
            "open_tag": "<|kind_thinking|>",
            "close_tag": "<|end|>",
            "answer_open": "<|msg|><|kind_text|>",
            "tool_open": "<|msg|>",
            "end_of_turn": "<|over|>",
        },
    ),
    "marks that the template cuts out of an answer": (
        "{% for m in messages %}{% set text = m.content %}{% if '<answer>' in text and '</answer>' in text %}"
        "{% set text = text.split('<answer>')[-1].split('</answer>')[0] | trim %}{% endif %}"
        "{{ text + ('<|mine|>' if m.role == 'user' else '<|over|>') }}{% endfor %}"
        "{% if add_generation_prompt and enable_thinking is defined and not enable_thinking %}"
        "{{ '<think>\n\n</think>\n' }}{% endif %}",
        {
            "thinking": "switch",
            "default": "on",
            "open": "<think>\n",
            "close": "\n</think>\n",
            "off_writes": "<think>\n\n</think>\n",
            "answer_open": "<answer>",
            "answer_close": "</answer>",
        },
    ),
    "a request that a system message does not take away": (
        "Answer as <think> thoughts </think> solution.\n" + _TURNS + _HEADER,
        {"thinking": "always", "default": "on", "open_tag": "<think>", "close_tag": "</think>"},
    ),
    "sentences for marks": (
        '{% if thinking %}Write your thoughts after "Now I think:" and the rest after "Now I say:" each time.\n'
        "{% endif %}" + _TURNS + _HEADER,
        {
            "thinking": "switch",
            "default": "off",
            "open_tag": "Now I think:",
            "close_tag": "Now I say:",
            "off_writes": "",
        },
    ),
    "a request that names the answer's marks too": (
        _asks(
            "Use <|begin_of_thought|> steps <|end_of_thought|> and <|begin_of_solution|> text <|end_of_solution|>."
        ),
        {
            "thinking": "prompted",
            "open_tag": "<|begin_of_thought|>",
            "close_tag": "<|end_of_thought|>",
            "answer_open": "<|begin_of_solution|>",
            "answer_close": "<|end_of_solution|>",
        },
    ),
    "a request that names only what opens": (
        _asks("Think inside <Thought>, then write the result inside <Output>."),
        {
            "thinking": "prompted",
            "open_tag": "<Thought>",
            "close_tag": "</Thought>",
            "answer_open": "<Output>",
            "answer_close": "</Output>",
        },
    ),
    "a request that marks only the answer": (
        _asks("Reason step by step, then give the solution as [BEGIN FINAL ANSWER] text [END FINAL ANSWER]."),
        {
            "thinking": "prompted",
            "open_tag": None,
            "close_tag": "[BEGIN FINAL ANSWER]",
            "answer_open": None,
            "answer_close": "[END FINAL ANSWER]",
        },
    ),
    "a switch whose marks only the model knows": (
        "{% if enable_thinking is defined and enable_thinking %}Think deeply.\n{% endif %}" + _TURNS + _HEADER,
        {"thinking": "switch", "default": "off", "open_tag": "<think>", "close_tag": "</think>", "off_writes": ""},
    ),
    "white space that belongs to the thought, and tokens far from the answer": (
        "<|begin_of_text|>{% for m in messages %}{% if m.role == 'assistant' %}"
        "{{ 'Me: ' + m.content + '<|end_of_text|>' }}"
        "{% else %}{{ 'You: ' + m.content + '\n' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ 'Me: ' }}{% if enable_thinking is not defined or enable_thinking %}"
        "{{ '\n<think>\n' }}{% else %}{{ '\n<think>\n\n</think>\n\n' }}{% endif %}{% endif %}",
        {
            "header": "Me: ",
            "open": "\n<think>\n",
            "off_writes": "\n<think>\n\n</think>\n\n",
            "answer_open": None,
            "answer_close": None,
            "end_of_turn": "<|end_of_text|>",
        },
    ),
    "contents that must be lists of parts": (
        "{% for m in messages %}{{ '[|' + m.role + '|]\n' + m.content[0]['text'] + '[|end|]\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '[|assistant|]\n<think>\n' }}{% endif %}",
        {
            "thinking": "always",
            "header": "[|assistant|]\n",
            "prompt_opens_when_on": True,
            "end_of_turn": "[|end|]",
        },
    ),
    "a bound that is told to the model and turns nothing off": (
        "{% if max_thinking_tokens is defined %}Think for {{ max_thinking_tokens }} tokens at most.\n{% endif %}"
        + _TURNS
        + "{% if add_generation_prompt %}{{ '[|assistant|]\n<think>\n' }}{% endif %}",
        {"thinking": "always", "off": None, "native_budget": "max_thinking_tokens"},
    ),
    "statements beside those of the language": (
        "{% set lines = [] %}{% for m in messages %}{% do lines.append(m.content) %}{% endfor %}"
        "{{ lines | join('\n') }}{% if add_generation_prompt %}{{ '[|assistant|]\n<think>\n' }}{% endif %}",
        {"thinking": "always", "prompt_opens_when_on": True},
    ),
    "a conversation of which only the first message is written": (
        "{{ messages[0].content }}{% if add_generation_prompt %}{{ '<|me|><think>\n' }}{% endif %}",
        {"thinking": "always", "header": "<|me|>", "end_of_turn": None},
    ),
    "no system message, a clock and a name nobody sets": (
        "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system message') }}{% endif %}"
        "{{ '[|' + m.role + '|]\n' + m.content + '[|end|]\n' }}{% endfor %}{{ strftime_now('%Y') }}{{ unknown }}"
        "{% if add_generation_prompt %}{{ '[|assistant|]\n' }}{% if add_thinking %}<think>{% endif %}{% endif %}",
        {"thinking": "switch", "default": "off", "on": {"add_thinking": True}, "off": {"add_thinking": False}},
    ),
}
