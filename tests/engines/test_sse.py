"""Events survive any cutting of the bytes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkcap.engines.sse import EventReader, EventTooLarge

TEXTS = st.lists(
    st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1), max_size=6
)


def read(raw: bytes, cuts: list[int]) -> list[str]:
    reader = EventReader()
    places = [0, *sorted(c % (len(raw) + 1) for c in cuts), len(raw)]
    found: list[str] = []
    for start, end in pairwise(places):
        if not reader.done:
            found += [data.decode() for data in reader.feed(raw[start:end])]
    return found


@given(TEXTS, st.lists(st.integers(0, 10_000), max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_events_come_whole_however_the_bytes_are_cut(texts: list[str], cuts: list[int], newline: str) -> None:
    texts = [t for t in texts if t != "[DONE]"]
    raw = "".join(f": ping{newline}data: {t}{newline}{newline}" for t in texts).encode()
    assert read(raw, cuts) == texts


def test_lines_of_one_event_are_joined_and_done_ends_it() -> None:
    assert read(b"data: a\ndata: b\n\ndata: [DONE]\n\ndata: c\n\n", [5]) == ["a\nb"]


def test_an_event_cut_off_by_the_end_is_no_event() -> None:
    assert read(b"data: whole\n\ndata: hal", []) == ["whole"]


@pytest.mark.parametrize(
    "raw", [b"data: " + b"x" * 200, b"data: " + b"x" * 200 + b"\n\n", b": " + b"x" * 200, b"x" * 200]
)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_an_event_without_end_is_refused_however_it_comes(raw: bytes, size: int) -> None:
    reader = EventReader(most=100)

    def feed() -> None:
        for at in range(0, len(raw), size):
            reader.feed(raw[at : at + size])

    with pytest.raises(EventTooLarge):
        feed()
