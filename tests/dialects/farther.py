"""Chat templates written for the purpose: thoughts in fields, parts and messages of their own, odd marks."""

from __future__ import annotations

from typing import Any


def _turns(field: str, opening: str, closing: str, wrapped: str = "{{ m.content }}") -> str:
    """Conversations whose last answer shows its thought."""
    return (
        "{% for m in messages %}{{ '[|' + m.role + '|]\n' }}{% if m.role == 'assistant' %}{% if " + field + " and "
        "loop.last %}{{ '"
        + opening
        + "' + "
        + field
        + " + '"
        + closing
        + "' }}{% endif %}"
        + wrapped
        + "{% else %}"
        "{{ m.content }}{% endif %}{{ '[|end|]\n' }}{% endfor %}"
    )


def _prompt(body: str = "") -> str:
    return "{% if add_generation_prompt %}{{ '[|assistant|]\n' }}" + body + "{% endif %}"


_PLAIN = "{% for m in messages %}{{ '[|' + m.role + '|]\n' + m.content + '[|end|]\n' }}{% endfor %}"
_EMPTY = "{{ '<think>\n\n</think>\n\n' }}"
_OPEN = "{{ '<think>\n' }}"
_SWITCH = {"thinking": "switch", "default": "on"}

MARKS: dict[str, tuple[str, dict[str, Any]]] = {
    "an opening mark with an attribute": (
        _PLAIN + _prompt("{% if enable_thinking | default(true) %}{{ '<reasoning depth=\"3\">\n' }}{% endif %}"),
        {**_SWITCH, "open_tag": '<reasoning depth="3">', "close_tag": "</reasoning>", "off_writes": ""},
    ),
    "a word in a mark that only begins like one that opens": (
        _PLAIN + _prompt("{{ '<think:openly>' }}"),
        {"thinking": "always", "open_tag": "<think:openly>", "close_tag": "</think:openly>"},
    ),
    "marks in another language": (
        _PLAIN + _prompt("{{ '<思考>\n' }}"),
        {"thinking": "always", "open_tag": "<思考>", "close_tag": "</思考>", "prompt_opens_when_on": True},
    ),
    "marks in other brackets": (
        _turns("m.reasoning_content", "【推理】", "【/推理】") + _prompt(),
        {"thinking": "always", "open_tag": "【推理】", "close_tag": "【/推理】", "prompt_opens_when_on": False},
    ),
    "neither the marks nor their switch speak of thinking": (
        _turns("m.reasoning_content", "<plan>\\n", "\\n</plan>\\n")
        + _prompt("{% if quick is defined and quick %}{{ '<plan>\n</plan>\n' }}{% endif %}"),
        {
            **_SWITCH,
            "on": {"quick": False},
            "off": {"quick": True},
            "open_tag": "<plan>",
            "close_tag": "</plan>",
            "off_writes": "<plan>\n</plan>\n",
        },
    ),
    "a heading that opens the thought": (
        "{% for m in messages %}{{ '# ' + m.role + '\n' }}{% if m.reasoning_content and loop.last %}"
        "{{ '## Thoughts\n' + m.reasoning_content + '\n## Reply\n' }}{% endif %}"
        "{{ m.content + '\n\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '# assistant\n## Thoughts\n' }}{% endif %}",
        {
            "thinking": "always",
            "open_tag": "## Thoughts",
            "close_tag": "## Reply",
            "header": "# assistant\n",
            "prompt_opens_when_on": True,
        },
    ),
    "a mark of the answer that ends the thought": (
        _turns("m.reasoning_content", "<think>\\n", "\\n", "{{ '<answer>\n' + m.content + '\n</answer>' }}")
        + _prompt(),
        {"open_tag": "<think>", "close_tag": "<answer>", "answer_open": None, "answer_close": "</answer>"},
    ),
    "marks before an answer without a thought, which are no empty thought": (
        _PLAIN
        + _prompt(
            "{% if force == 'think' %}{{ '<deep>\n<think>\n' }}"
            "{% elif force == 'no_think' %}{{ '<plain>\n<say>\n' }}{% endif %}"
        ),
        {
            "thinking": "switch",
            "default": "neither",
            "on": {"force": "think"},
            "off": {"force": "no_think"},
            "open_tag": "<think>",
            "close_tag": "</think>",
            "off_writes": "<plain>\n<say>\n",
        },
    ),
    "wrappers that are cut out behind a thought alone": (
        "{% for m in messages %}{% set text = m.content %}{% if '</think>' in text %}"
        "{% set text = text.split('</think>')[-1].replace('<answer>', '').replace('</answer>', '') | trim %}"
        "{% endif %}"
        "{{ '[|' + m.role + '|]\n' + text + '[|end|]\n' }}{% endfor %}" + _prompt("<think>"),
        {"thinking": "always", "open": "<think>", "answer_open": "<answer>", "answer_close": "</answer>"},
    ),
    "a header that comes again before the answer": (
        "{% for m in messages %}{% if m.role == 'assistant' %}{% if m.reasoning and loop.last %}"
        "{{ '<|from|>me<|mull|>' + m.reasoning + '<|end|>' }}{% endif %}"
        "{{ '<|from|>me<|tell|>' + m.content + '<|end|>' }}"
        "{% else %}{{ '<|from|>you<|tell|>' + m.content + '<|end|>' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|from|>me{% if not enable_thinking | default(true) %}"
        "<|mull|><|end|><|from|>me<|tell|>{% endif %}{% endif %}",
        {
            **_SWITCH,
            "header": "<|from|>me",
            "open_tag": "<|mull|>",
            "close_tag": "<|end|>",
            "answer_open": "<|from|>me<|tell|>",
            "off_writes": "<|mull|><|end|><|from|>me<|tell|>",
        },
    ),
    "a call with its number before its name": (
        "{% for m in messages %}{% if m.role == 'assistant' %}{% if m.reasoning %}"
        "{{ '<|from|>me<|mull|>' + m.reasoning + '<|end|>' }}{% endif %}{% if m.content %}"
        "{{ '<|from|>me<|tell|>' + m.content + '<|end|>' }}{% endif %}{% for c in m.tool_calls or [] %}"
        "{{ '<|from|>me<|do|><|number|>' + c.id + '<|name|>' + c.function.name + '<|end|>' }}{% endfor %}"
        "{% else %}{{ '<|from|>you<|tell|>' + m.content + '<|end|>' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|from|>me{% endif %}",
        {"thinking": "always", "open_tag": "<|mull|>", "tool_open": "<|from|>me<|do|><|number|>"},
    ),
    "a message of its own for the thought": (
        "{% for m in messages %}{% if m.reasoning_content and loop.last %}"
        "{{ '<|role|>musing<|text|>' + m.reasoning_content + '<|over|>' }}{% endif %}"
        "{{ '<|role|>' + m.role + '<|text|>' + m.content + '<|over|>' }}{% endfor %}{% if add_generation_prompt %}"
        "{{ '<|role|>' + ('musing' if enable_thinking | default(true) else 'assistant') + '<|text|>' }}"
        "{% endif %}",
        {
            **_SWITCH,
            "open_tag": "<|role|>musing<|text|>",
            "close_tag": "<|over|>",
            "answer_open": "<|role|>assistant<|text|>",
            "off_writes": "<|role|>assistant<|text|>",
            "prompt_opens_when_on": True,
        },
    ),
}

FIELDS: dict[str, tuple[str, dict[str, Any]]] = {
    f"a thought in {asked}": (
        _turns(asked, "<|a|>", "<|b|>") + _prompt(),
        {"thinking": "always", "open_tag": "<|a|>", "close_tag": "<|b|>", "thought_fields": (name,)},
    )
    for asked, name in (
        ("m.inner_monologue", "inner_monologue"),
        ("m['chain_of_thought']", "chain_of_thought"),
        ("m.get('thinking_text')", "thinking_text"),
    )
} | {
    f"a thought in a part that has it under {key}": (
        "{% for m in messages %}{{ '[|' + m.role + '|]\n' }}{% if m.content is string %}{{ m.content }}{% else %}"
        "{% for p in m.content %}{% if p.type == 'reasoning' %}{{ '<|a|>' + p." + key + " + '<|b|>' }}{% else %}"
        "{{ p.text }}{% endif %}{% endfor %}{% endif %}{{ '[|end|]\n' }}{% endfor %}" + _prompt(),
        {"thinking": "always", "open_tag": "<|a|>", "close_tag": "<|b|>"},
    )
    for key in ("text", "reasoning")
}  # fmt: skip

VALUES: dict[str, tuple[str, dict[str, Any]]] = {
    "one word that is looked for, and any other is off": (
        "{% set thinking_option = thinking_option | default('on') %}{{ 'thinking ' + thinking_option + '\n' }}"
        + _PLAIN
        + _prompt("{% if thinking_option == 'on' %}" + _OPEN + "{% endif %}"),
        {**_SWITCH, "off": {"thinking_option": "off"}, "off_writes": "", "prompt_opens_when_on": True},
    ),
    "two words of which one begins a thought": (
        "{% set mode = mode | default('thinking') %}"
        + _PLAIN
        + _prompt("{% if mode == 'thinking' %}" + _OPEN + "{% elif mode == 'instant' %}{{ '' }}{% endif %}"),
        {**_SWITCH, "off": {"mode": "instant"}, "off_writes": "", "prompt_opens_when_on": True},
    ),
    "True, False, or a word that leaves it to the model": (
        "{% set wanted = enable_thinking if enable_thinking is defined else 'auto' %}"
        + _PLAIN
        + _prompt(
            "{% if wanted is sameas true %}" + _OPEN + "{% elif wanted is sameas false %}" + _EMPTY + "{% endif %}"
        ),
        {
            "thinking": "switch",
            "default": "neither",
            "on": {"enable_thinking": True},
            "off": {"enable_thinking": False},
            "prompt_opens_when_on": True,
        },
    ),
    "a flag whose name ends with its sense": (
        "{% if not reasoning_disabled | default(false) %}Think first.\n{% endif %}"
        + _turns("m.reasoning_content", "<think>\\n", "\\n</think>\\n\\n")
        + _prompt(),
        {**_SWITCH, "on": {"reasoning_disabled": False}, "off": {"reasoning_disabled": True}, "off_writes": ""},
    ),
    "levels of which only the higher ones are looked for": (
        "{% set effort = reasoning_effort | default('high') %}"
        + _PLAIN
        + _prompt("{{ '<|think|>' }}{% if effort not in ['medium', 'high'] %}<|end|><|say|>{% endif %}"),
        {
            **_SWITCH,
            "off": {"reasoning_effort": "low"},
            "open_tag": "<|think|>",
            "close_tag": "<|end|>",
            "off_writes": "<|think|><|end|><|say|>",
        },
    ),
    "an off that is a level, beside levels that are only told": (
        "{% set effort = reasoning_effort | default('medium') %}{{ 'Effort: ' + effort + '\n' }}"
        + _turns("m.thinking", "<|mull|>", "<|done|>")
        + _prompt("{% if effort == 'none' %}<|say|>{% endif %}"),
        {
            **_SWITCH,
            "off": {"reasoning_effort": "none"},
            "off_writes": "<|say|>",
            "effort": {
                "name": "reasoning_effort",
                "values": ["none", "low", "medium", "high"],
                "default": "medium",
            },
        },
    ),
    "levels that are numbers, of which one is off": (
        "{% set level = thinking_level | default(2) %}"
        + _PLAIN
        + _prompt(
            "{% if level == 0 %}"
            + _EMPTY
            + "{% else %}"
            + _OPEN
            + "{% if level == 1 %}{{ 'Briefly: ' }}{% endif %}"
            "{% endif %}"
        ),
        {
            **_SWITCH,
            "on": {},
            "off": {"thinking_level": 0},
            "effort": {"name": "thinking_level", "values": [0, 1, 2], "default": 2},
            "levels": (1, 2),
            "prompt_opens_when_on": True,
        },
    ),
}
