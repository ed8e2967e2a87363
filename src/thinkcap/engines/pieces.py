"""What single tokens say, learned from a server's detokenizer, so that a cut of a trace needs no call.

Many ids are asked for in one call with a mark between them, whose own text parts the answer again. Pieces are
used only where they are whole characters, and only as long as they add up to the text the server itself wrote:
for a tokenizer whose words depend on their neighbours they do not, and then every text is asked for.

    pieces = Pieces(detokenize, mark=151668, shown="</think>")
    text = await pieces.compared(ids, written)
    cut = await pieces.text(ids[:64])
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from thinkcap.core.recent import Recent
from thinkcap.core.types import Ids

_BROKEN = "\N{REPLACEMENT CHARACTER}"
_AT_ONCE = 1024
_KEPT_TOKENS = 4_000_000
"""Of texts that had to be asked for."""


class Pieces:
    """`mark` is a token that reads `shown`, which no other token holds; without one every text is asked for."""

    def __init__(self, detokenize: Callable[[Ids], Awaitable[str]], mark: int | None, shown: str) -> None:
        self._detokenize = detokenize
        self._shown = shown
        self._mark = mark
        self._known: dict[int, str] = {} if mark is None else {mark: shown}
        self._asked: Recent[Ids, str] = Recent(_KEPT_TOKENS)

    async def text(self, ids: Ids) -> str:
        if not ids:
            return ""
        if self._mark is not None:
            await self._learn(tuple({i for i in ids if i not in self._known}), self._mark)
        joined = self._joined(ids)
        if joined is not None:
            return joined
        return await self._asked.made(ids, lambda: self._detokenize(ids), len(ids))

    async def compared(self, ids: Ids, written: str) -> str:
        """The text of ids the server has just written; where the pieces say otherwise they are not used again."""
        text = await self.text(ids)
        if self._joined(ids) in (None, written):
            return text
        self._mark = None
        return await self.text(ids)

    def _joined(self, ids: Ids) -> str | None:
        if self._mark is None:
            return None
        text = "".join([self._known.get(i, _BROKEN) for i in ids])
        return None if _BROKEN in text else text

    async def _learn(self, new: Ids, mark: int) -> None:
        for at in range(0, len(new), _AT_ONCE):
            some = new[at : at + _AT_ONCE]
            marked = (mark, *(i for one in some for i in (one, mark)))
            found = (await self._detokenize(marked)).split(self._shown)
            if len(found) != len(some) + 2 or found[0] or found[-1]:
                self._mark = None
                return
            self._known.update(zip(some, found[1:-1], strict=True))
