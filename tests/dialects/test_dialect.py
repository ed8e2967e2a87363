"""Thoughts, answers and calls are parted alike in a whole text and in a stream, in every dialect we know."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cutting import agree_on_any_text, streamed
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkcap.core.errors import ConfigError
from thinkcap.dialects import KNOWN, Dialect, named, of_model

THINKING = [
    replace(spoken, name=f"{known.name} at {level}" if level else known.name)
    for known in KNOWN.values()
    if known.thinks
    for level, spoken in zip(["", *known.by_effort], known.every_level, strict=True)
]


def written(dialect: Dialect, thought: str | None, answer: str | None) -> str:
    """What a model of this dialect writes after its prompt."""
    if thought is None:
        alone = dialect.answer_open_alone or dialect.answer_open or ""
        return f"{alone}{answer}{dialect.answer_close or ''}"
    text = ("" if dialect.prompt_opens_when_on else dialect.open or "") + thought
    if answer is None:
        return text
    return f"{text}{dialect.close}{dialect.answer_open or ''}{answer}{dialect.answer_close or ''}"


@pytest.mark.parametrize("dialect", THINKING, ids=lambda d: d.name)
def test_thought_and_answer_are_parted(dialect: Dialect) -> None:
    opened = dialect.prompt_opens_when_on
    whole = dialect.split(written(dialect, "Two and three.", "Five."), opened=opened)
    assert [part and part.strip() for part in whole] == ["Two and three.", "Five."]
    cut, missing = dialect.split(written(dialect, "Two and", None), opened=opened)
    assert (cut, missing) == ("Two and", None)
    if not opened:
        thought, answer = dialect.split(written(dialect, None, "Five."))
        assert (thought, (answer or "").strip()) == (None, "Five.")


@pytest.mark.parametrize("dialect", THINKING, ids=lambda d: d.name)
def test_off_gives_an_answer_alone(dialect: Dialect) -> None:
    if dialect.off is None:
        pytest.skip("this dialect cannot be turned off")
    closed = bool((dialect.off_writes or "").strip())
    thought, answer = dialect.split(written(dialect, None, "Five."), mode="nothink", closed=closed)
    assert (thought, (answer or "").strip()) == (None, "Five.")


@pytest.mark.parametrize("dialect", THINKING, ids=lambda d: d.name)
def test_a_call_is_no_answer_and_is_kept(dialect: Dialect) -> None:
    if not dialect.tool_open:
        pytest.skip("nothing says how this dialect calls tools")
    text = written(dialect, "Look it up.", None) + (dialect.close or "") + dialect.tool_open + "weather(Paris)"
    parts = dialect.parts(text, opened=dialect.prompt_opens_when_on)
    assert (parts.thought, parts.answer) == ("Look it up.", None)
    assert parts.calls is not None
    assert "weather(Paris)" in parts.calls


def test_two_thoughts_of_a_turn_are_both_thought() -> None:
    dialect = named("gpt-oss")
    text = (
        "<|channel|>analysis<|message|>One.<|end|>"
        "<|start|>assistant<|channel|>commentary<|message|>Let me see.<|end|>"
        "<|start|>assistant<|channel|>analysis<|message|>Two.<|end|>"
        "<|start|>assistant<|channel|>final<|message|>Five."
    )
    assert dialect.split(text) == ("One.\nTwo.", "Let me see.Five.")


def test_a_tag_that_the_answer_quotes_is_a_word_of_it() -> None:
    text = "<think>\nHm.\n</think>\n\nWrite </think> to close, and <think> to open."
    assert named("qwen3").split(text) == ("Hm.", "Write </think> to close, and <think> to open.")


def test_a_model_may_open_again_what_its_prompt_opened() -> None:
    assert named("deepseek-r1").split("<think>\nHm.\n</think>\n\n5", opened=True) == ("Hm.", "5")


def test_a_sentence_that_opens_a_thought_may_be_said_in_an_answer() -> None:
    text = "Two.\n[BEGIN FINAL RESPONSE]\nAsked how, I say: Here are my reasoning steps: none."
    answer = "Asked how, I say: Here are my reasoning steps: none."
    assert named("apriel-1.6").split(text, opened=True) == ("Two.", answer)


def test_a_close_that_nothing_opened_is_dropped() -> None:
    assert named("deepseek-v3.1").split("</think>5", mode="nothink", closed=True) == (None, "5")


@settings(max_examples=400)
@given(st.sampled_from(THINKING), st.data())
def test_whole_and_stream_agree_however_the_text_is_cut(dialect: Dialect, data: st.DataObject) -> None:
    agree_on_any_text(dialect, data)


@pytest.mark.parametrize("dialect", THINKING, ids=lambda d: d.name)
def test_whole_and_stream_agree_at_every_single_cut(dialect: Dialect) -> None:
    opened = dialect.prompt_opens_when_on
    again = f"{dialect.marks.header}{dialect.open or ''}Again.{dialect.close}{dialect.answer_open or ''}"
    answer = f"Five:\n```\n{dialect.open_tag}\n```\n"
    text = written(dialect, "Two and three.", answer) + (dialect.end_of_turn or "")
    called = written(dialect, "Look.", None) + f"{dialect.close}{dialect.tool_open or ''}f(){again}It is 5."
    for whole in (text, called, written(dialect, "Two.", "Five.") + again + "Six."):
        thought, said = dialect.split(whole, opened=opened)
        for cut in range(len(whole) + 1):
            assert streamed(dialect, whole, [cut], "think", opened, False) == (thought or "", said or ""), cut
        each = list(range(len(whole)))
        assert streamed(dialect, whole, each, "think", opened, False) == (thought or "", said or "")


QWEN, GRANITE = named("qwen3"), named("granite-3.3")


@pytest.mark.parametrize(
    ("dialect", "text", "thought", "answer"),
    [
        (QWEN, "<think>a</think>See:\n```\n<think>\nb\n```\nThat.", "a", "See:\n```\n<think>\nb\n```\nThat."),
        (QWEN, "<think>a</think>```\nx\n```\n<think>b</think>5", "a\nb", "```\nx\n```\n5"),
        (QWEN, "<think>a</think>5<|im_end|>", "a", "5"),
        (QWEN, "<think>a</think>5<|im_end|>\n", "a", "5"),
        (QWEN, "<think>a</think>Write <|im_end|> to end.", "a", "Write <|im_end|> to end."),
        (QWEN, "<think>a<think>b</think>5", "a<think>b", "5"),
        (QWEN, "<think>a</think><think>b</think>5", "a\nb", "5"),
        (QWEN, "<think>a</thi", "a</thi", None),
        (QWEN, "<thi", "", None),
        (GRANITE, "<think>a</think><response>5</response>", "a", "5"),
        (GRANITE, "<think>a</think><response>Use <response> and </response> here.</response>\n", "a",
         "Use <response> and </response> here."),
        (GRANITE, "<think>a</think>Write <response>.", "a", "Write <response>."),
        (named("gpt-oss"), "<|channel|>analysis<|message|>a<|end|>"
         "<|start|>assistant<|channel|>final<|message|>5<|return|>", "a", "5"),
    ],
    ids=["an opening in a block of code", "a thought behind a block of code", "the end of the turn",
         "a line behind it", "a word about it", "a thought opened twice", "two thoughts side by side",
         "a close cut in two", "an opening cut in two", "a wrapper", "a wrapper quoted", "a wrapper as a word",
         "channels with their end"],
)  # fmt: skip
def test_strange_texts_are_parted(dialect: Dialect, text: str, thought: str, answer: str | None) -> None:
    assert dialect.split(text) == (thought, answer)


def test_a_line_behind_an_end_that_was_none_stays_where_it_was() -> None:
    text = "<|im_end|>\n<think>"
    whole = named("qwen3").split(text, closed=True)
    assert whole == (None, text)
    for cut in range(len(text)):
        assert streamed(named("qwen3"), text, [cut], "think", False, True) == ("", text)


def test_a_thought_behind_a_call_is_a_thought_and_the_call_is_kept() -> None:
    call = '<tool_call>\n{"name": "f", "arguments": {"text": "\\n<think>"}}\n</tool_call>'
    parts = named("qwen3").parts(f"<think>Look.</think>One moment.{call}\n<think>Now I know.</think>It is 5.")
    assert (parts.thought, parts.answer) == ("Look.\nNow I know.", "One moment.It is 5.")
    assert parts.calls == f"{call}\n"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("Qwen/Qwen3-8B", "qwen3"),
        ("Qwen/Qwen3.5-4B", "qwen3.5"),
        ("openai/gpt-oss-120b", "gpt-oss"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "deepseek-r1"),
        ("zai-org/GLM-4.6", "glm-4.5"),
        ("mistralai/Magistral-Small-2509", "magistral"),
        ("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "deepseek-r1"),
        ("zai-org/GLM-4.7", "glm-5"),
        ("moonshotai/Kimi-K3", "kimi-k3"),
        ("tencent/Hunyuan-A13B-Instruct", "hunyuan-a13b"),
        ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", "nemotron-nano-2"),
        ("inclusionAI/Ling-flash-3.0", "ling-3"),
    ],
)
def test_model_names_are_known(model: str, name: str) -> None:
    found = of_model(model)
    assert found is not None
    assert (found.name, found.found_by) == (name, "model name")


def test_marks_of_a_level_are_laid_out_as_the_usual_ones() -> None:
    said = {**LEVELS, "open_tag": "<t>", "open": "<t>\n", "close": "\n</t>\n\n"}
    dialect = Dialect.from_mapping({**said, "by_effort": {"low": {"open_tag": "<l>", "close_tag": "</l>"}}})
    assert (dialect.at("low").open, dialect.at("low").close) == ("<l>\n", "\n</l>\n\n")
    assert dialect.at("high") is dialect


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'gpt-oss'"):
        named("gptoss")
    with pytest.raises(ConfigError, match=r"unknown key 'closetag'.*'close_tag'"):
        Dialect.from_mapping({"thinking": "always", "closetag": "</t>"})
    with pytest.raises(ConfigError, match="needs 'close_tag'"):
        Dialect.from_mapping({"thinking": "always"})


LEVELS = {"thinking": "always", "close_tag": "</t>", "effort": {"name": "effort", "values": ["low", "high"]}}


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ({"thinking": "alwys"}, "thinking: unknown value 'alwys'; did you mean 'always'"),
        ({"sampling": {"temprature": 1}}, "sampling: unknown key 'temprature'; did you mean 'temperature'"),
        ({"sampling": {"temperature": "hot"}}, "sampling: temperature: wanted a number, saw 'hot'"),
        ({"effort": {"nam": "x"}}, "effort: wanted a table with `name`"),
        ({"by_effort": {"low": {}}}, "by_effort: unknown level 'low'"),
        (
            {**LEVELS, "by_effort": {"low": {"opentag": "x"}}},
            "by_effort: low: unknown key 'opentag'; did you mean",
        ),
        ({**LEVELS, "by_effort": {"low": {"open_tag": 3}}}, "by_effort: low: open_tag: wanted a text, saw 3"),
        ({**LEVELS, "by_effort": {"low": 3}}, "by_effort: wanted a table, saw"),
        ({"closes_implicitly": "x"}, "closes_implicitly: wanted a list of texts, saw 'x'"),
        ({"open_tag": 3}, "open_tag: wanted a text, saw 3"),
    ],
)
def test_a_mistake_in_a_file_of_ones_own_is_one_line(said: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError) as error:
        Dialect.from_mapping(said, "'mine.toml'")
    assert str(error.value).startswith(f"'mine.toml': {line}")
