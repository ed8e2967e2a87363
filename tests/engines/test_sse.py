"""Events survive any cutting of the bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from thinkcap.engines.sse import events

TEXTS = st.lists(
    st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1), max_size=6
)


async def read(raw: bytes, cuts: list[int]) -> list[str]:
    async def chunks() -> AsyncIterator[bytes]:
        places = [0, *sorted(c % (len(raw) + 1) for c in cuts), len(raw)]
        for start, end in pairwise(places):
            yield raw[start:end]

    return [event async for event in events(chunks())]


@given(TEXTS, st.lists(st.integers(0, 10_000), max_size=8), st.sampled_from(["\n", "\r\n"]))
async def test_events_come_whole_however_the_bytes_are_cut(
    texts: list[str], cuts: list[int], newline: str
) -> None:
    texts = [t for t in texts if t != "[DONE]"]
    raw = "".join(f": ping{newline}data: {t}{newline}{newline}" for t in texts).encode()
    assert await read(raw, cuts) == texts


async def test_lines_of_one_event_are_joined_and_done_ends_it() -> None:
    assert await read(b"data: a\ndata: b\n\ndata: [DONE]\n\ndata: c\n\n", [5]) == ["a\nb"]


async def test_an_event_cut_off_by_the_end_is_no_event() -> None:
    assert await read(b"data: whole\n\ndata: hal", []) == ["whole"]
