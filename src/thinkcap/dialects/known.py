"""The table of known dialects, for servers that show no template, and for what no template says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from thinkcap.core.types import Sampling
from thinkcap.dialects.dialect import QWEN, Dialect

_R1 = Sampling(0.6, 0.95)
"""What the makers of DeepSeek-R1, and many after them, recommend for thinking."""
_FLAT = Sampling(1.0, 1.0)

_CHANNELS = Dialect(
    thinking="always",
    default="on",
    on={},
    open_tag="<|channel|>analysis<|message|>",
    close_tag="<|end|>",
    open="<|channel|>analysis<|message|>",
    close="<|end|>",
    answer_open="<|start|>assistant<|channel|>final<|message|>",
    answer_open_alone="<|channel|>final<|message|>",
    end_of_turn="<|return|>",
    effort={"name": "reasoning_effort", "values": ["low", "medium", "high"], "default": "medium"},
    interleaved=True,
    header="<|start|>assistant",
    tool_open="<|start|>assistant to=functions.",
    thought_fields=("thinking",),
    markers_special=True,
    sampling=_FLAT,
)
_OPENED = replace(QWEN, prompt_opens_when_on=True, sampling=_R1)
_ALWAYS = replace(
    _OPENED,
    thinking="always",
    on={},
    off=None,
    off_writes=None,
    interleaved=False,
    closes_implicitly=(),
    end_of_turn="<｜end▁of▁sentence｜>",
    header="<｜Assistant｜>",
    tool_open=None,
)
_DEEPSEEK = replace(
    _ALWAYS,
    thinking="switch",
    default="off",
    on={"thinking": True},
    off={"thinking": False},
    open="<think>",
    close="</think>",
    off_writes="</think>",
    tool_open="<｜tool▁calls▁begin｜>",
)
_BRACKETS = Dialect(
    thinking="prompted",
    default="on",
    on={},
    open_tag="[THINK]",
    close_tag="[/THINK]",
    open="[THINK]",
    close="[/THINK]",
    end_of_turn="</s>",
    header="[/INST]",
    tool_open="[TOOL_CALLS]",
    markers_special=True,
    sampling=Sampling(0.7, 0.95),
)
_COMMAND = Dialect(
    thinking="switch",
    default="on",
    on={"reasoning_type": "enabled"},
    off={"reasoning_type": "disabled"},
    open_tag="<|START_THINKING|>",
    close_tag="<|END_THINKING|>",
    open="<|START_THINKING|>",
    close="<|END_THINKING|>",
    answer_open="<|START_RESPONSE|>",
    answer_close="<|END_RESPONSE|>",
    end_of_turn="<|END_OF_TURN_TOKEN|>",
    header="<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
    tool_open="<|START_ACTION|>",
    markers_special=True,
)
_GLM = replace(
    QWEN, open="\n<think>", close="</think>\n", off_writes="\n<think></think>", off_by_message="/nothink",
    end_of_turn="<|user|>", header="<|assistant|>", sampling=_FLAT,
)  # fmt: skip

_TABLE: Mapping[str, Dialect] = {
    "qwen3": replace(QWEN, sampling=_R1),
    "qwen3.5": _OPENED,
    "qwq": replace(_ALWAYS, end_of_turn="<|im_end|>", header="<|im_start|>assistant\n", tool_open="<tool_call>"),
    "deepseek-r1": _ALWAYS,
    "deepseek-v3.1": _DEEPSEEK,
    "gpt-oss": _CHANNELS,
    "muse-glimmer": replace(
        _CHANNELS,
        thinking="switch",
        off={"reasoning_strength": "none"},
        off_writes="",
        open_tag="to=self<|message|>",
        close_tag="<|eom|>",
        open=" to=self<|message|>",
        close="<|eom|>",
        answer_open="<|start|>assistant to=user<|message|>",
        answer_open_alone=" to=user<|message|>",
        end_of_turn="<|eot|>",
        effort={"name": "reasoning_strength", "values": ["none", "low", "medium", "high"], "default": "high"},
        thought_fields=("reasoning_content",),
        tool_open=None,
        sampling=None,
    ),
    "kimi-k2-thinking": replace(
        _ALWAYS, prompt_opens_when_on=False, open="<think>", close="</think>", interleaved=True,
        closes_implicitly=("<|tool_calls_section_begin|>",), end_of_turn="<|im_end|>",
        header="<|im_assistant|>assistant<|im_middle|>", tool_open="<|tool_calls_section_begin|>",
        sampling=_FLAT,
    ),
    "kimi-vl": replace(
        _ALWAYS, prompt_opens_when_on=False, open_tag="◁think▷", close_tag="◁/think▷", open="◁think▷",
        close="◁/think▷", end_of_turn=None, header=None, sampling=None,
    ),
    "glm-4.5": _GLM,
    "cogito": replace(
        _ALWAYS, thinking="switch", default="off", on_by_message="Enable deep thinking subroutine.",
        off_word_in="system", off_writes="", sampling=None,
    ),
    "granite-3.2": replace(
        QWEN, interleaved=False, default="off", on={"thinking": True}, off={"thinking": False}, off_writes="",
        open_tag="Here is my thought process:", close_tag="Here is my response:",
        open="Here is my thought process:", close="Here is my response:", closes_implicitly=(),
        end_of_turn="<|end_of_text|>", header="<|start_of_role|>assistant<|end_of_role|>", tool_open=None,
    ),
    "granite-3.3": replace(
        QWEN, default="off", on={"thinking": True}, off={"thinking": False}, off_writes="", open="<think>",
        close="</think>", answer_open="<response>", answer_close="</response>", closes_implicitly=(),
        end_of_turn="<|end_of_text|>", header="<|start_of_role|>assistant<|end_of_role|>", tool_open=None,
        interleaved=False,
    ),
    "magistral": _BRACKETS,
    "mistral-small-4": replace(
        _BRACKETS, thinking="switch", default="off", on={"reasoning_effort": "high"},
        off={"reasoning_effort": "none"}, off_writes="",
        effort={"name": "reasoning_effort", "values": ["none", "high"], "default": "none"},
    ),
    "command-a-reasoning": _COMMAND,
    "command-r7b": replace(_COMMAND, default="off", on={"enable_thinking": True}, off={"enable_thinking": False}),
    "exaone-4": replace(
        _OPENED, default="off", end_of_turn="[|endofturn|]", header="[|assistant|]\n", interleaved=False,
        closes_implicitly=(),
    ),
    "exaone-deep": replace(
        _ALWAYS, open_tag="<thought>", close_tag="</thought>", open="<thought>\n", close="\n</thought>\n\n",
        end_of_turn="[|endofturn|]", header="[|assistant|]",
    ),
    "ernie-4.5": replace(
        _ALWAYS, answer_open="<response>\n", answer_close="\n</response>\n", end_of_turn=None, header=None,
    ),
    "phi-4-reasoning": replace(
        _ALWAYS, prompt_opens_when_on=False, close="\n</think>\n", end_of_turn="<|im_end|>",
        header="<|im_start|>assistant<|im_sep|>", sampling=Sampling(0.8, 0.95),
    ),
    "hy3": replace(
        _DEEPSEEK, on={"reasoning_effort": "high"}, off={"reasoning_effort": "no_think"},
        open_tag="<think:opensource>", close_tag="</think:opensource>", open="<think:opensource>",
        close="</think:opensource>", off_writes="<think:opensource></think:opensource>",
        end_of_turn="<｜hy_eos:opensource｜>", header="<｜hy_Assistant:opensource｜>", interleaved=True,
        effort={"name": "reasoning_effort", "values": ["no_think", "low", "high"], "default": "no_think"},
        closes_implicitly=("<tool_calls:opensource>",), tool_open="<tool_calls:opensource>", sampling=None,
    ),
    "apertus": Dialect(
        thinking="switch", default="off", on={"enable_thinking": True}, off={"enable_thinking": False},
        open_tag="<|inner_prefix|>", close_tag="<|inner_suffix|>", open="<|inner_prefix|>",
        close="<|inner_suffix|>", off_writes="", end_of_turn="<|assistant_end|>", interleaved=True,
        closes_implicitly=("<|tools_prefix|>",), header="<|assistant_start|>", tool_open="<|tools_prefix|>",
        markers_special=True,
    ),
    "minimax-m2": replace(
        _ALWAYS, interleaved=True, end_of_turn="[e~[", header="]~b]ai\n", tool_open="<minimax:tool_call>",
        closes_implicitly=("<minimax:tool_call>",), sampling=Sampling(1.0, 0.95),
    ),
    "smollm3": replace(
        QWEN, close="\n</think>\n", off_writes="<think>\n\n</think>\n", off_by_message="/no_think",
        interleaved=False, closes_implicitly=(), tool_open=None, sampling=_R1,
    ),
    "nemotron-3": replace(
        _OPENED, close="\n</think>\n", off_writes="<think></think>", sampling=_FLAT,
    ),
    "gemma-4": Dialect(
        thinking="switch", default="off", on={"enable_thinking": True}, off={"enable_thinking": False},
        open_tag="<|channel>thought", close_tag="<channel|>", open="<|channel>thought\n", close="<channel|>",
        off_writes="<|channel>thought\n<channel|>", end_of_turn="<turn|>", interleaved=True,
        header="<|turn>model\n", tool_open="<|tool_call>", thought_fields=("reasoning_content",),
        closes_implicitly=("<|tool_call>",), markers_special=True, sampling=Sampling(1.0, 0.95),
    ),
    "seed-oss": replace(
        _ALWAYS, thinking="switch", off={"thinking_budget": 0}, prompt_opens_when_on=False,
        open_tag="<seed:think>", close_tag="</seed:think>", open="<seed:think>", close="</seed:think>",
        native_budget="thinking_budget", end_of_turn="<seed:eos>", header="<seed:bos>assistant\n",
        tool_open="<seed:tool_call>", closes_implicitly=("<seed:tool_call>",), sampling=Sampling(1.1, 0.95),
    ),
    "apriel-1.6": Dialect(
        thinking="always", default="on", on={}, open_tag="Here are my reasoning steps:\n",
        close_tag="[BEGIN FINAL RESPONSE]", open="Here are my reasoning steps:\n",
        close="\n[BEGIN FINAL RESPONSE]\n", prompt_opens_when_on=True, answer_close="[END FINAL RESPONSE]",
        end_of_turn="<|end|>", header="<|begin_assistant|>\n", tool_open="<tool_calls>", sampling=Sampling(0.6),
    ),
    "kimi-k3": Dialect(
        thinking="switch", default="on", on={"thinking": True}, off={"thinking": False},
        open_tag="<|open|>think<|sep|>", close_tag="<|close|>think<|sep|>", open="<|open|>think<|sep|>",
        close="<|close|>think<|sep|>", prompt_opens_when_on=True, off_writes="<|open|>response<|sep|>",
        answer_open="<|open|>response<|sep|>", answer_close="<|close|>response<|sep|>",
        turn_close="<|close|>message<|sep|>", end_of_turn="<|end_of_msg|>", interleaved=True,
        effort={"name": "thinking_effort", "values": ["low", "medium", "high", "max"], "default": "max"},
        closes_implicitly=("<|open|>response<|sep|>", "<|open|>tools<|sep|>"), tool_open="<|open|>tools<|sep|>",
        header='<|open|>message role="assistant"<|sep|>', thought_fields=("reasoning_content", "reasoning"),
        markers_special=True,
    ),
    "glm-5": replace(
        _GLM, prompt_opens_when_on=True, open="<think>", close="</think>", off_writes="<think></think>",
        off_by_message=None,
        effort={"name": "reasoning_effort", "values": ["low", "high", "max"], "default": "max"},
    ),
    "olmo-3": replace(
        _ALWAYS, open="<think>", close="</think>", end_of_turn="<|im_end|>", header="<|im_start|>assistant\n",
        tool_open="<function_calls>", sampling=_R1,
    ),
    "step-3": replace(
        _ALWAYS, close="\n</think>\n", end_of_turn="<|im_end|>", header="<|im_start|>assistant\n",
        interleaved=True, closes_implicitly=("<tool_call>",), tool_open="<tool_call>", sampling=None,
        effort={"name": "reasoning_effort", "values": ["low", "medium", "high"], "default": None},
    ),
    "ling-3": replace(
        _OPENED, open="<think>", close="</think>", off_writes="<think></think>", end_of_turn="<|role_end|>",
        header="<role>ASSISTANT</role>\n", off_by_message="detailed thinking off", off_word_in="system",
        sampling=None,
    ),
    "mimo-v2": replace(
        QWEN, default="off", open="<think>", close="</think>", off_writes="<think></think>",
    ),
    "laguna": replace(
        _OPENED, default="off", open="<think>", close="</think>", off_writes="</think>",
        end_of_turn="</assistant>", header="<assistant>", thought_fields=("reasoning", "reasoning_content"),
        sampling=None,
    ),
    "gigachat-3.5": replace(
        _DEEPSEEK, on={"reasoning": True}, off={"reasoning": False}, close="</think>\n\n", off_writes="",
        end_of_turn="<|message_sep|>", header="assistant<|role_sep|>\n", tool_open=None, interleaved=True,
        sampling=None,
    ),
    "nemotron-nano-2": replace(
        _OPENED, on={}, off=None, off_by_message="/no_think", off_writes="<think></think>",
        end_of_turn="<SPECIAL_12>", header="<SPECIAL_11>Assistant\n", interleaved=False, closes_implicitly=(),
        tool_open="<TOOLCALL>",
    ),
    "nemotron-super-1.5": replace(
        QWEN, on={}, off=None, off_by_message="/no_think", off_word_in="system", end_of_turn="<|eot_id|>",
        header="<|start_header_id|>assistant<|end_header_id|>\n\n", interleaved=False, closes_implicitly=(),
        tool_open="<TOOLCALL>", sampling=_R1,
    ),
    "hunyuan-a13b": replace(
        QWEN, close="\n</think>\n", off_writes="<think>\n\n</think>\n", off_by_message="/no_think",
        answer_open="<answer>\n", answer_close="\n</answer>", end_of_turn="<|eos|>", header="<|extra_0|>",
        closes_implicitly=("<tool_calls>",), tool_open="<tool_calls>", sampling=Sampling(0.7, 0.8),
    ),
    "longcat-thinking": replace(
        _OPENED, open_tag="<longcat_think>", close_tag="</longcat_think>", open="<longcat_think>\n",
        close="\n</longcat_think>\n", off_writes="<longcat_think>\n\n</longcat_think>\n", end_of_turn=None,
        header="<longcat_assistant>", tool_open="<longcat_tool_call>",
        closes_implicitly=("<longcat_tool_call>",), sampling=None,
    ),
    "minimax-m3": replace(
        _OPENED, default="neither", on={"thinking_mode": "enabled"}, off={"thinking_mode": "disabled"},
        open_tag="<mm:think>", close_tag="</mm:think>", open="<mm:think>", close="</mm:think>",
        off_writes="</mm:think>", end_of_turn="[e~[", header="]~b]ai\n", tool_open="<minimax:tool_call>",
        closes_implicitly=("<minimax:tool_call>",), sampling=None,
    ),
    "solar-open-2": Dialect(
        thinking="switch", default="on", on={}, off={"reasoning_effort": "none"}, open_tag="<|think:start|>",
        close_tag="<|think:end|>", open="<|think:start|>", close="<|think:end|>", prompt_opens_when_on=True,
        off_writes="<|think:start|><|think:end|>", interleaved=True, tool_open="<|tool_call:start|>",
        effort={"name": "reasoning_effort", "values": ["none", "medium", "high", "xhigh"], "default": "high"},
        closes_implicitly=("<|tool_call:start|>",), markers_special=True,
    ),
    "plamo-3": Dialect(
        thinking="switch", default="on", on={"enable_thinking": True}, off={"enable_thinking": False},
        open_tag="<|plamo:begin_think:plamo|>", close_tag="<|plamo:end_think:plamo|>",
        open="<|plamo:begin_think:plamo|>", close="<|plamo:end_think:plamo|>", end_of_turn="<|plamo:tag|>",
        tool_open="<|plamo:begin_tool_requests:plamo|>", markers_special=True,
    ),
    "k2-horizon": Dialect(
        thinking="always", default="on", on={}, open_tag="<ifm|think>", close_tag="</ifm|think>",
        open="<ifm|think>", close="</ifm|think>", prompt_opens_when_on=True, interleaved=True,
        effort={"name": "reasoning_effort", "values": ["low", "medium", "high"], "default": "high"},
        by_effort={
            level: {"open_tag": f"<{tag}>", "close_tag": f"</{tag}>", "open": f"<{tag}>", "close": f"</{tag}>"}
            for level, tag in (("low", "ifm|think_faster"), ("medium", "ifm|think_fast"))
        },
        closes_implicitly=("<ifm|tool_calls>",), tool_open="<ifm|tool_calls>",
    ),
    "inkling": Dialect(
        thinking="always", default="on", on={}, open_tag="<|content_thinking|>", close_tag="<|end_message|>",
        open="<|content_thinking|>", close="<|end_message|>", answer_open="<|message_model|><|content_text|>",
        answer_open_alone="<|content_text|>", end_of_turn="<|content_model_end_sampling|>", interleaved=True,
        header="<|message_model|>", tool_open="<|message_model|>", markers_special=True,
    ),
    "none": Dialect(on={}, off_writes=""),
}  # fmt: skip
KNOWN: Mapping[str, Dialect] = MappingProxyType(
    {name: replace(dialect, name=name, found_by="table") for name, dialect in _TABLE.items()}
)

MODELS = (
    (r"deepseek.*(r1|distill)", "deepseek-r1"),
    (r"qwen-?3[._]?(5|6|7|8)|qwen3-next", "qwen3.5"),
    (r"qwen-?3.*(coder|instruct|embedding|vl-\d+b-instruct)", "none"),
    (r"qwen-?3.*thinking|qwq", "qwq"),
    (r"qwen-?3", "qwen3"),
    (r"deepseek.*v(3[._]1|3[._]2|4)", "deepseek-v3.1"),
    (r"gpt-?oss", "gpt-oss"),
    (r"muse-?glimmer", "muse-glimmer"),
    (r"kimi-?k\d.*thinking", "kimi-k2-thinking"),
    (r"kimi-?vl.*thinking", "kimi-vl"),
    (r"kimi-?k3", "kimi-k3"),
    (r"glm-?(4[._]7|5)", "glm-5"),
    (r"glm-?4[._][5-9]", "glm-4.5"),
    (r"cogito", "cogito"),
    (r"granite-?3[._]2", "granite-3.2"),
    (r"granite-?3[._]3", "granite-3.3"),
    (r"magistral|ministral.*reasoning", "magistral"),
    (r"mistral-?small-?4", "mistral-small-4"),
    (r"command-?a-?reasoning", "command-a-reasoning"),
    (r"command-?r7b", "command-r7b"),
    (r"exaone-?4", "exaone-4"),
    (r"exaone-?deep", "exaone-deep"),
    (r"ernie.*thinking", "ernie-4.5"),
    (r"phi-?4.*reasoning", "phi-4-reasoning"),
    (r"hy-?3|hunyuan-?3", "hy3"),
    (r"apertus", "apertus"),
    (r"minimax-?m2", "minimax-m2"),
    (r"minimax-?m3", "minimax-m3"),
    (r"smollm3", "smollm3"),
    (r"nemotron-?nano.*v2", "nemotron-nano-2"),
    (r"nemotron-?super.*v1[._]5", "nemotron-super-1.5"),
    (r"nemotron-?3", "nemotron-3"),
    (r"olmo-?3.*think", "olmo-3"),
    (r"step-?3", "step-3"),
    (r"\bling-?(\w+-)?3", "ling-3"),
    (r"mimo-?v2", "mimo-v2"),
    (r"laguna", "laguna"),
    (r"gigachat-?3[._]5", "gigachat-3.5"),
    (r"hunyuan-?a13b", "hunyuan-a13b"),
    (r"longcat.*thinking", "longcat-thinking"),
    (r"solar-?open-?2", "solar-open-2"),
    (r"plamo-?3", "plamo-3"),
    (r"k2-?horizon", "k2-horizon"),
    (r"inkling", "inkling"),
    (r"intern-?s1", "qwen3"),
    (r"gemma-?4", "gemma-4"),
    (r"seed-?oss", "seed-oss"),
    (r"apriel", "apriel-1.6"),
)
