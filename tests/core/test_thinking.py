"""Whole-text and piecewise splitting must agree, wherever the pieces break."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkcap.core.marks import PLAIN, Marks
from thinkcap.core.thinking import Delta, Splitter, parted, split
from thinkcap.core.types import Mode


def test_closed_thought() -> None:
    assert split("<think>\n2+3\n</think>\n\n5") == ("2+3", "5")


def test_open_thought_has_no_answer() -> None:
    assert split("<think>\n2+3") == ("2+3", None)


def test_half_an_open_tag_is_not_an_answer() -> None:
    assert split("<thi") == ("", None)
    assert split("") == ("", None)


def test_template_opened_the_thought() -> None:
    assert split("2+3</think>5", opened=True) == ("2+3", "5")
    assert split("2+3", opened=True) == ("2+3", None)


def test_no_thinking_asked_none_given() -> None:
    assert split("5", mode="nothink", closed=True) == (None, "5")


def test_model_that_thinks_though_told_not_to_is_caught() -> None:
    assert split("<think>\nhm", mode="nothink") == ("hm", None)


def streamed(parts: list[str], mode: Mode, opened: bool, closed: bool) -> tuple[str, str]:
    """What a reader of the stream has at its end, thought and answer."""
    got = {"thought": "", "answer": ""}

    def emit(delta: Delta) -> None:
        assert delta.text
        assert delta.channel is not None
        got[delta.channel] += delta.text

    splitter = Splitter(PLAIN, mode, opened, closed)
    take = splitter.through(emit)
    for part in parts:
        take(Delta(part))
    splitter.finish(emit)
    return got["thought"], got["answer"]


def test_line_ends_before_the_first_word_are_dropped_whenever_they_come() -> None:
    assert streamed(["<think>", "\n", "\n2", "+3\n", "</think>", "\n", "\n5\n"], "think", False, False) == (
        "2+3",
        "5\n",
    )
    assert streamed(["\n", "2+3", "\n"], "think", True, False) == ("2+3", "")
    assert streamed(["\n", "5"], "nothink", False, True) == ("", "5")


PARTS = ["<think>", "</think>", "\n", " ", "a", "b<", "/th", "ink>", "5", "<thi", "nk>", "\u2003"]


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join), st.data())
def test_streamed_pieces_join_to_the_split(text: str, data: st.DataObject) -> None:
    mode: Mode = data.draw(st.sampled_from(["think", "nothink"]))
    opened, closed = data.draw(st.booleans()), data.draw(st.booleans())
    places = st.integers(0, len(text))
    cuts = [0, *sorted(data.draw(st.lists(places, max_size=len(text)))), len(text)]
    parts = [text[i:j] for i, j in pairwise(cuts)]
    thought, answer = split(text, PLAIN, mode, opened, closed)
    assert streamed(parts, mode, opened, closed) == (thought or "", answer or "")


@given(st.lists(st.sampled_from(["\n", "a", " ", "b\n", "\nc"]), max_size=8))
def test_a_thought_the_server_parted_loses_only_the_line_ends_around_it(parts: list[str]) -> None:
    sent: list[Delta] = []
    splitter = Splitter()
    take = splitter.through(sent.append)
    for part in parts:
        take(Delta(part, "thought"))
    take(Delta("5\n", "answer"))
    splitter.finish(sent.append)
    assert "".join(d.text for d in sent if d.channel == "thought") == "".join(parts).strip("\n")
    assert "".join(d.text for d in sent if d.channel == "answer") == "5\n"


@pytest.mark.parametrize(
    ("text", "unclosed", "thought", "reply"),
    [
        ("5", False, None, "5"),
        ("<think>2+3</think>5", False, " 2+3", "5"),
        ("2+3</think>5", False, "2+3", "5"),
        ("<think>2+3", False, None, ""),
        ("4<think>no, 5", False, None, "4"),
        ("<think>1</think>2<think>3", False, None, "2"),
        ("<think>1</think>2<think>3</think>4", False, " 1</think>2 3", "4"),
        ("<think>2+3", True, None, " 2+3"),
        ("<think>1</think>2<think>3", True, " 1", "2 3"),
        ("<think>2+3</think>5", True, " 2+3", "5"),
    ],
)
def test_a_stored_text_is_parted_by_its_last_tags(
    text: str, unclosed: bool, thought: str | None, reply: str
) -> None:
    assert parted(text, unclosed=unclosed) == (thought, reply)


def test_a_stored_text_may_have_tags_of_its_own() -> None:
    assert parted("[T]a[/T]b", Marks("[T]", "[/T]")) == (" a", "b")
