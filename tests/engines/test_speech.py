"""What an engine says in a dialect: arguments for each mode and level, forced closes, what is open and closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from thinkcap.core.complete import check_effort
from thinkcap.core.engine import EngineCard
from thinkcap.core.errors import ConfigError, Unsupported
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.turn_rules import TurnRules
from thinkcap.core.types import Message, Question, Request, Span
from thinkcap.dialects import QWEN, Dialect, chosen, named
from thinkcap.dialects.rendering import Template
from thinkcap.engines.speech import Speech, found_dialect

QUESTION = Question("q", ({"role": "user", "content": "Hi"},))


def rendering(on: str, off: str) -> Any:
    async def render(messages: Sequence[Message], switches: Mapping[str, Any]) -> str:
        quiet = switches.get("enable_thinking") is False or switches.get("thinking") is False
        return f"{messages[-1]['content']}<|im_start|>assistant\n{off if quiet else on}"

    return render


async def test_channels_are_closed_into_the_answer_and_have_levels() -> None:
    speech = await Speech.found(rendering("", ""), named("gpt-oss"), "auto", PROMPTS)
    assert speech.switch == "none"
    assert speech.closing == "<|end|><|start|>assistant<|channel|>final<|message|>"
    assert speech.switches("think", "low") == {"reasoning_effort": "low"}
    card = EngineCard("scripted", "m", "f", "ids", **speech.card())
    assert card.modes == ("think",)
    assert card.levels == ("low", "medium", "high")
    check_effort(card, "low")
    with pytest.raises(Unsupported, match="no level of effort 'most'; it knows low, medium, high"):
        check_effort(card, "most")
    thought = Span("<|channel|>analysis<|message|>2+3")
    assert speech.state(Request(QUESTION, "think", 9, "s", prefill=(thought,))) == (True, False)
    assert speech.state(Request(QUESTION, "think", 9, "s", prefill=(thought, speech.closing))) == (False, True)
    assert {"<|channel|>", "<|message|>", "<|end|>", "<|start|>"} <= set(card.marks.tokens)


async def test_a_close_without_a_layout_is_the_bare_mark() -> None:
    mine = Dialect.from_mapping({"thinking": "always", "open_tag": "<reason>", "close_tag": "</reason>"})
    speech = await Speech.found(rendering("", ""), mine, "auto", PROMPTS)
    assert speech.closing == "</reason>"
    card = EngineCard("scripted", "m", "f", "ids", **speech.card())
    assert card.spoken(PROMPTS).close == "</reason>"
    common = Speech(replace(mine, open_tag="<think>", close_tag="</think>", name="mine"), "none", PROMPTS)
    assert common.closing == ""


async def test_an_empty_thought_is_written_in_the_dialect() -> None:
    render = rendering("[THINK]", "[THINK]")
    always = Dialect(
        "always", "on", {}, open_tag="[THINK]", close_tag="[/THINK]", open="[THINK]", close="[/THINK]"
    )
    speech = await Speech.found(render, always, "block", PROMPTS)
    assert speech.opens
    assert speech.block("nothink") == "[/THINK]"
    mine = replace(PROMPTS, no_think="[THINK]\nno.[/THINK]")
    assert (await Speech.found(render, always, "block", mine)).block("nothink") == "\nno.[/THINK]"


async def test_a_hidden_template_is_seen_through_its_renderings() -> None:
    found = await found_dialect("", render=rendering("<think>\n", "<think>\n\n</think>\n\n"))
    assert (found.thinking, found.found_by, found.prompt_opens_when_on) == ("switch", "rendering", True)
    speech = await Speech.found(rendering("<think>\n", "<think>\n\n</think>\n\n"), found, "auto", PROMPTS)
    assert (speech.opens, speech.closes) == (True, True)
    always = await found_dialect("", render=rendering("<think>\n", "<think>\n"), model="nobody")
    assert always.thinking == "always"
    own = await found_dialect(
        "", render=rendering("<|muse_think|>", "<|muse_think|><|/muse_think|>"), model="nobody"
    )
    assert (own.open_tag, own.close_tag, own.off_writes) == (
        "<|muse_think|>",
        "<|/muse_think|>",
        "<|muse_think|><|/muse_think|>",
    )
    bare = await found_dialect("", render=rendering("", "[/THINK]"), model="nobody")
    assert (bare.open_tag, bare.off_writes, bare.prompt_opens_when_on) == ("[THINK]", "[/THINK]", False)
    silent = rendering("", "")
    assert (await found_dialect("", render=silent, model="openai/gpt-oss-20b")).name == "gpt-oss"
    assert not (await found_dialect("", render=silent, model="nobody")).thinks


async def test_a_models_name_adds_to_what_its_prompts_show() -> None:
    empty = rendering("", "\n<think></think>")
    glm = await found_dialect("", render=empty, model="zai-org/GLM-4.6")
    assert (glm.name, glm.found_by, glm.open) == ("glm-4.5", "rendering and model name", "\n<think>")
    assert glm.off_writes == "<think></think>"
    by_effort = await found_dialect(
        "", render=rendering("<|think:start|>", "<|think:start|>"), model="Solar-Open-2"
    )
    assert (by_effort.off, by_effort.thinking) == ({"reasoning_effort": "none"}, "switch")
    other = await found_dialect("", render=rendering("<thought>", "<thought></thought>"), model="Qwen/Qwen3-8B")
    assert (other.open_tag, other.found_by) == ("<thought>", "rendering")


async def test_a_word_in_a_message_turns_it_off() -> None:
    by_word = replace(QWEN, off=None, on={}, off_by_message="/no_think")

    async def render(messages: Sequence[Message], switches: Mapping[str, Any]) -> str:
        return "<think>\n\n</think>\n\n" if "/no_think" in messages[-1]["content"] else ""

    speech = await Speech.found(render, by_word, "auto", PROMPTS)
    assert (speech.switch, speech.closes) == ("native", True)
    assert speech.messages(QUESTION.messages, "nothink")[-1]["content"] == "Hi\n/no_think"
    assert speech.messages(QUESTION.messages, "think") == QUESTION.messages


def test_a_wrong_choice_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown dialect 'qwen33'"):
        chosen("qwen33")
    with pytest.raises(ConfigError, match="no dialect file at"):
        chosen(str(tmp_path / "none.toml"))
    (tmp_path / "bad.toml").write_text('thinkin = "switch"\n')
    with pytest.raises(ConfigError, match="unknown key 'thinkin'"):
        chosen(str(tmp_path / "bad.toml"))


def test_recommended_sampling_is_the_makers_or_refused(tmp_path: Path) -> None:
    from thinkcap.core.types import Sampling
    from thinkcap.study.config import StudyConfig
    from thinkcap.study.run import sampled

    config = StudyConfig.from_mapping({"sampling": "recommended"})
    card = EngineCard("scripted", "m", "f", "ids", recommended=Sampling(0.6, 0.95))
    found = sampled(config, card)
    assert (found.temperature, found.top_p, found.folder) == (0.6, 0.95, config.folder)
    assert sampled(StudyConfig(), card).temperature == 0.0
    with pytest.raises(ConfigError, match="give --temperature instead"):
        sampled(config, replace(card, recommended=None))


async def test_a_word_stands_in_the_message_in_which_it_is_looked_for() -> None:
    by_word = replace(QWEN, on={}, off=None, off_by_message="/no_think", off_word_in="system")
    speech = Speech(by_word, "native", PROMPTS)
    asked: Message = {"role": "user", "content": "Hi"}
    word: Message = {"role": "system", "content": "/no_think"}
    assert speech.messages([asked], "nothink") == (word, asked)
    kind: Message = {"role": "system", "content": "Be kind."}
    assert speech.messages([kind, asked], "nothink") == ({**kind, "content": "Be kind.\n/no_think"}, asked)
    assert speech.messages([asked], "think") == (asked,)


async def test_an_off_that_opens_a_thought_leaves_it_to_the_model_to_end_it() -> None:
    opened = replace(QWEN, off_writes="<think><budget>")
    speech = await Speech.found(rendering("", "<think><budget>"), opened, "auto", PROMPTS)
    assert not speech.closes
    assert speech.state(Request(QUESTION, "nothink", 9, "s")) == (True, False)
    assert opened.split("none left</think>5", mode="nothink", opened=True) == ("none left", "5")


async def test_a_template_that_only_cuts_thoughts_out_leaves_it_to_the_name() -> None:
    cuts = "{% for m in messages %}{{ m.content.split('</think>')[-1] }}{% endfor %}"
    assert not (await found_dialect(cuts)).thinks
    assert (await found_dialect(cuts, model="DeepSeek-R1-0528-Qwen3-8B")).name == "deepseek-r1"
    plain = "{% for m in messages %}{{ m.content }}{% endfor %}"
    assert not (await found_dialect(plain, model="DeepSeek-R1-0528-Qwen3-8B")).thinks


async def test_a_model_that_thinks_when_told_so_is_told_so() -> None:
    by_word = replace(QWEN, on={}, off=None, on_by_message="deep thinking on", off_word_in="system", off_writes="")

    async def render(messages: Sequence[Message], switches: Mapping[str, Any]) -> str:
        return "<think>\n" if "deep thinking on" in messages[0]["content"] else ""

    speech = await Speech.found(render, by_word, "auto", PROMPTS)
    assert (speech.switch, speech.opens) == ("native", True)
    asked: Message = {"role": "user", "content": "Hi"}
    assert speech.messages([asked], "think") == ({"role": "system", "content": "deep thinking on"}, asked)
    assert speech.messages([asked], "nothink") == (asked,)


async def test_a_template_that_only_its_server_understands_is_seen_through_its_renderings() -> None:
    render = rendering("<think>\n", "<think>\n\n</think>\n\n")
    assert (await found_dialect("{% own_tag %}", render=render)).found_by == "rendering"
    assert (await found_dialect("{% own_tag %}", model="Qwen/Qwen3-8B")).found_by == "model name"


DROPS = """{%- for m in messages %}
{%- if m.role != 'system' or loop.first %}{{- '<' + m.role + '>' + m.content }}{% endif %}
{%- endfor %}{{- '<assistant>' }}"""


async def test_a_template_that_drops_late_system_messages_gets_one() -> None:
    template = Template(DROPS)

    async def render(messages: Sequence[Message], switches: Mapping[str, Any]) -> str:
        return template.render(messages, **switches) or ""

    speech = await Speech.found(render, QWEN, "block", PROMPTS)
    assert speech.turn_rules == speech.card()["turn_rules"] == TurnRules(one_system=True)
    late = [{"role": "user", "content": "Hi"}, {"role": "system", "content": "Be brief."}]
    assert await render(speech.messages(late, "think"), {}) == "<system>Be brief.<user>Hi<assistant>"
