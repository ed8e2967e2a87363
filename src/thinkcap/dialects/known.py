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
    "granite-3.2": replace(
        QWEN, default="off", on={"thinking": True}, off={"thinking": False}, off_writes="",
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
        _OPENED, default="off", off_writes=None, end_of_turn="[|endofturn|]", header="[|assistant|]",
        closes_implicitly=(), tool_open=None,
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
    (r"glm-?(4[._][5-9]|5)", "glm-4.5"),
    (r"granite-?3[._]2", "granite-3.2"),
    (r"granite-?3[._]3", "granite-3.3"),
    (r"magistral|ministral.*reasoning", "magistral"),
    (r"mistral-?small-?4", "mistral-small-4"),
    (r"command-?a-?reasoning", "command-a-reasoning"),
    (r"command-?r7b", "command-r7b"),
    (r"exaone-?4", "exaone-4"),
    (r"ernie.*thinking", "ernie-4.5"),
    (r"phi-?4.*reasoning", "phi-4-reasoning"),
    (r"hy-?3|hunyuan-?3", "hy3"),
    (r"apertus", "apertus"),
    (r"minimax-?m2", "minimax-m2"),
    (r"smollm3", "smollm3"),
    (r"nemotron-?3", "nemotron-3"),
    (r"gemma-?4", "gemma-4"),
    (r"seed-?oss", "seed-oss"),
    (r"apriel", "apriel-1.6"),
)
