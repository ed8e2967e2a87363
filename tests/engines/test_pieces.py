"""Texts put together from single tokens: the detokenizer's own, with few calls, or no pieces at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from thinkcap.engines.pieces import Pieces
from thinkcap.engines.splice import Ids

MARK, SHOWN = 7, "</think>"
BYTES = ["a", " b", "über", "\n", " 12", "{", "}", SHOWN, "é".encode()[:1], "é".encode()[1:], "日本", " "]
VOCABULARY = [piece.encode() if isinstance(piece, str) else piece for piece in BYTES]
ids_of_any_kind = st.lists(st.integers(0, len(VOCABULARY) - 1)).map(tuple)


def bytewise(ids: Ids) -> str:
    """As byte-level tokenizers read."""
    return b"".join(VOCABULARY[i] for i in ids).decode(errors="replace")


def wordwise(ids: Ids) -> str:
    """As tokenizers do whose words depend on their neighbours: no space before the first."""
    return bytewise(ids).lstrip(" ").replace(" 12", " twelve") if len(ids) < 4 else bytewise(ids)


class Server:
    """A detokenizer that counts how often it is asked."""

    def __init__(self, detokenize: Callable[[Ids], str]) -> None:
        self.calls = 0
        self._detokenize = detokenize

    async def __call__(self, ids: Ids) -> str:
        self.calls += 1
        return self._detokenize(ids)


@given(st.lists(ids_of_any_kind))
async def test_the_text_is_the_detokenizers(texts: list[Ids]) -> None:
    pieces = Pieces(Server(bytewise), MARK, SHOWN)
    for ids in texts:
        assert await pieces.compared(ids, bytewise(ids)) == bytewise(ids)
        assert await pieces.text(ids[1:]) == bytewise(ids[1:])


async def test_all_cuts_of_a_trace_take_one_call() -> None:
    server = Server(bytewise)
    pieces = Pieces(server, MARK, SHOWN)
    trace = (0, 1, 2, 7, 4, 10, 3) * 40
    assert await pieces.text(trace) == bytewise(trace)
    assert [await pieces.text(trace[:n]) for n in range(len(trace))] == [
        bytewise(trace[:n]) for n in range(len(trace))
    ]
    assert server.calls == 1


async def test_half_a_character_is_asked_for_and_remembered() -> None:
    server = Server(bytewise)
    pieces = Pieces(server, MARK, SHOWN)
    assert [await pieces.text((0, 8, 9)) for _ in range(3)] == ["aé"] * 3
    assert await pieces.text((0, 8)) == "a\N{REPLACEMENT CHARACTER}"
    assert server.calls == 3


async def test_without_a_mark_every_text_is_asked_for() -> None:
    server = Server(bytewise)
    pieces = Pieces(server, None, SHOWN)
    assert [await pieces.text(ids) for ids in ((0, 1), (1,), ())] == ["a b", " b", ""]
    assert server.calls == 2


async def test_pieces_that_do_not_add_up_to_what_was_written_are_not_even_used_once() -> None:
    server = Server(wordwise)
    pieces = Pieces(server, MARK, SHOWN)
    ids = (0, 4, 1)
    assert await pieces.compared(ids, "a twelve b") == wordwise(ids) == "a twelve b"
    asked = server.calls
    assert await pieces.text((4, 1)) == wordwise((4, 1))
    assert server.calls == asked + 1


async def test_flows_that_learn_while_another_finds_the_pieces_wrong_get_the_detokenizers_text() -> None:
    ids = tuple(range(3000))

    async def slow(asked: Ids) -> str:
        await asyncio.sleep(0)
        return "".join(SHOWN if i == MARK else f" {i}" for i in asked) if len(asked) > 3 else "other"

    pieces = Pieces(slow, MARK, SHOWN)
    long, short = await asyncio.gather(pieces.text(ids), pieces.compared((1, 2), "other"))
    assert short == "other"
    assert long == await slow(ids)


async def test_a_mark_that_reads_otherwise_makes_no_pieces() -> None:
    pieces = Pieces(Server(bytewise), MARK, "<close>")
    assert await pieces.text((0, 1, 2)) == bytewise((0, 1, 2))
    assert await pieces.text((0, 7)) == "a</think>"
