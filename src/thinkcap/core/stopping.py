"""Where a generation stops before its budget: at a text somebody waits for, or where the model becomes unsure.

Engines stop there while they write; a stored trace is cut there afterwards. Both ways give the same tokens: up to
and with the one that makes the text complete.

    output = await stopped(output, prompt, engine.read)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from thinkcap.core.engine import Output, Prompt
from thinkcap.core.types import Span

ReadIds = Callable[[Sequence[int]], Awaitable[str]]


async def stopped(output: Output, prompt: Prompt, read: ReadIds) -> Output:
    """The output as far as the prompt's stops let it go. What is cut off was never asked for."""
    ids = output.ids
    if ids is None:
        return output
    unsure = prompt.unsure.first(output.scores.mean) if prompt.unsure and output.scores else None
    word = await _met(ids, prompt.stop_at, read) if prompt.stop_at else None
    if unsure is not None and (word is None or unsure < word[1]):
        return await _cut(output, unsure, read, "unsure")
    if word is None:
        return output
    starts, ends = word
    before = Span(await read(ids[:starts]), ids[:starts])
    return replace(await _cut(output, ends, read, "stopped"), before=before)


async def _cut(output: Output, tokens: int, read: ReadIds, finish: str) -> Output:
    assert output.ids is not None
    if tokens == len(output.ids):
        text = await read(output.ids)
        return replace(output, text=text, ended=False, finish=finish)
    ids = output.ids[:tokens]
    scores = output.scores.cut(tokens) if output.scores else None
    return replace(output, text=await read(ids), ids=ids, tokens=tokens, ended=False, finish=finish, scores=scores)


async def _met(ids: Sequence[int], words: Sequence[str], read: ReadIds) -> tuple[int, int] | None:
    """The token in which the first complete text begins, and the number of tokens up to its end."""
    text = await read(ids)
    found = [(at + len(word), at) for word in words if (at := text.find(word)) >= 0]
    if not found:
        return None
    end, start = min(found)
    # Texts of beginnings only ever grow, so the tokens at both places are found by halving.
    ends = await _first(len(ids), lambda count: _reaches(ids, count, end, read))
    starts = await _first(ends, lambda count: _reaches(ids, count, start + 1, read))
    return starts - 1, ends


async def _reaches(ids: Sequence[int], count: int, length: int, read: ReadIds) -> bool:
    text = await read(ids[:count])
    # Bytes of an unfinished character are shown as its placeholder, which does not count yet.
    return len(text.rstrip("\ufffd")) >= length or count == len(ids)


async def _first(most: int, holds: Callable[[int], Awaitable[bool]]) -> int:
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        if await holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


__all__ = ["stopped"]
