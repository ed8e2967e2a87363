"""Where an answer is found, at which level, and how long it may take."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkcap import extract
from thinkcap.grading.decode import decoded
from thinkcap.grading.extraction import Extracted


def test_after_the_thought_first() -> None:
    text = "<think>\\boxed{1} or is it 2</think>\nThe answer is 3."
    assert extract(text, "number") == Extracted("3", 3)
    assert extract("<think>\\boxed{1}</think>", "number") == Extracted("1", 1)
    assert extract("thinking without an opening tag 4</think>It is 5.", "number").answer == "5"


def test_an_open_thought_says_nothing_unless_the_pipeline_guesses() -> None:
    text = "<think>so the answer is 5. \\boxed{5}"
    for kind in ("number", "math", "label"):
        assert extract(text, kind) == Extracted(None, 0)  # type: ignore[arg-type]
    assert extract(text, "number", unclosed=True) == Extracted("5", 1)
    assert extract("\\boxed{4}<think>no, 5", "number") == Extracted("4", 1)
    assert extract("<think>1</think>2<think>3", "number").answer == "2"


def test_undecoded_bytes_are_read() -> None:
    plain = "The answer is\n 42 – naïve"
    assert decoded(_encoded(plain)) == plain
    assert extract(_encoded("so the final answer is 42."), "number") == Extracted("42", 3)
    assert decoded("Ġ is a letter of Maltese") == "Ġ is a letter of Maltese"


def _encoded(text: str) -> str:
    """As byte-level BPE vocabularies write bytes: printable Latin-1 as itself, the others from U+0100 on."""
    plain = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [b for b in range(256) if b not in plain]
    return "".join(chr(b) if b in plain else chr(0x100 + others.index(b)) for b in text.encode())


@given(st.text(max_size=80))
def test_decoding_gives_back_what_was_encoded(text: str) -> None:
    encoded = _encoded(text)
    if " " in text or "\n" in text:
        assert decoded(encoded) == text


def test_weak() -> None:
    assert not Extracted("5", 1).weak
    assert not Extracted("5", 3).weak
    assert Extracted("5", 4).weak
    assert Extracted(None, 0).weak


@given(st.text(alphabet="xyz{}0123456789\\ ,", max_size=40))
def test_a_balanced_box_comes_back_whole(inner: str) -> None:
    depth = 0
    for char in inner.replace("\\\\", ""):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if depth < 0:
            return
    if depth or "\\" in inner or not inner.strip():
        return
    assert extract(f"so \\boxed{{{inner}}} it is", "math") == Extracted(inner.strip(), 1)


N = 1_000_000
ADVERSARIAL = {
    "open braces": "{" * N,
    "open boxes": "\\boxed{" * (N // 7),
    "nested boxes": "\\boxed{" * (N // 8) + "5" + "}" * (N // 8),
    "dollars": "$" * N,
    "prices": "$1" * (N // 2),
    "digits": "1" * N,
    "digit groups": "123," * (N // 4),
    "fractions": "½" * (N // 2) + "√π" * (N // 4),
    "undecoded": "Ġ" * N,
    "markers": "answer is " * (N // 10),
    "a marker and space": "answer" + " " * N,
    "hashes": "####\n" * (N // 5),
    "tags": "<answer>" * (N // 8),
    "thoughts": "<think>" * (N // 7),
    "closed thoughts": "</think>5" * (N // 9),
    "newlines": "\n" * N,
    "open fractions": "\\frac{1}{" * (N // 9),
    "open formulas": "\\(" * (N // 2),
    "words": "word " * (N // 5),
    "letters and digits": "a1" * (N // 2),
    "labels": "(B) " * (N // 4),
    "minus": "-" * N,
    "backslashes": "\\" * N,
    "mixed": "{$1½\\boxed{(" * (N // 12),
}


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_a_megabyte_of_anything_is_read_in_no_time(name: str) -> None:
    # bench/grading.py prints the seconds; this only tells a blow-up from a busy machine.
    text = ADVERSARIAL[name]
    for kind in ("number", "math", "label"):
        assert _seconds(text, kind) < 8.0


def _seconds(text: str, kind: str) -> float:
    # Processor time: other programs on the machine must not decide this test.
    started = time.process_time()
    extract(text, kind)  # type: ignore[arg-type]
    return time.process_time() - started


@pytest.mark.parametrize("name", ["open boxes", "markers", "prices", "letters and digits", "words"])
def test_time_grows_in_a_straight_line(name: str) -> None:
    text = ADVERSARIAL[name]
    # Thirty-two times the text: a straight line takes 32 times as long, a square a thousand times.
    short = max(min(_seconds(text[: N // 32], "math") for _ in range(3)), 0.002)
    assert any(_seconds(text, "math") < 400 * short for _ in range(3))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    for kind in ("number", "math", "label"):
        answer, level = extract(text, kind)  # type: ignore[arg-type]
        assert (answer is None) == (level == 0)
        assert kind != "label" or level != 4
