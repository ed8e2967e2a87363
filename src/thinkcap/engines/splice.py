"""From a request to token ids: the template's text tokenized around the marks, traces put in by their ids.

Tokenizing each piece on its own and never decoding a trace keeps one promise: the model reads exactly the
tokens it once wrote. The pieces are remembered, since a study asks the same question at many budgets.

    splicer = Splicer(speech, render, tokenize)
    ids, forced = await splicer.ids(request)
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Any

from thinkcap.core.engine import Prompt
from thinkcap.core.errors import ConfigError
from thinkcap.core.prompts import HERE
from thinkcap.core.recent import Recent
from thinkcap.core.types import Ids, Message, Request, Span
from thinkcap.engines.speech import Render, Speech

Tokenize = Callable[[str, bool], Awaitable[Ids]]
"""Text in, ids out; the flag says whether the text begins the prompt (a BOS token may be due)."""
TokenizeChat = Callable[[Sequence[Message], Mapping[str, Any]], Awaitable[Ids]]


class Splicer:
    """`whole` renders and tokenizes in one go, for servers that do; used where nothing is inserted."""

    def __init__(
        self, speech: Speech, render: Render, tokenize: Tokenize, whole: TokenizeChat | None = None
    ) -> None:
        self._speech = speech
        self._render = render
        self._tokenize = tokenize
        self._whole = whole
        self._heads: Recent[Hashable, tuple[Ids, ...]] = Recent(8192)
        self._texts: Recent[str, Ids] = Recent(8192)

    async def prompt(self, request: Request, body: Mapping[str, Any]) -> Prompt:
        ids, forced = await self.ids(request)
        opened, closed = self._speech.state(request)
        begun = await self._begun(request)
        return Prompt(
            ids,
            body,
            forced=forced,
            opened=opened,
            closed=closed,
            tokens=len(ids),
            begun=begun,
        )

    async def _begun(self, request: Request) -> int:
        """Length of the model's own part of the turn since our last word in it."""
        count = 0
        for part in reversed(request.prefill):
            if isinstance(part, str):
                break
            count += len(await self._span(part))
        return count

    async def ids(self, request: Request) -> tuple[Ids, int]:
        """The prompt, and how many of its tokens are ours in the assistant's mouth."""
        pieces = await self._pieces(request)
        if len(pieces) != len(request.inserts) + 1:
            raise ConfigError(
                f"stage '{request.stage}' has {len(request.inserts)} traces to insert and "
                f"{len(pieces) - 1} marks U+FFFC in its messages; wanted one mark per trace"
            )
        ids = list(pieces[0])
        for span, piece in zip(request.inserts, pieces[1:], strict=True):
            ids += await self._span(span)
            ids += piece
        ids += await self._text(self._speech.block(request.mode))
        opening = await self._text(self._speech.opening(request))
        ids += opening
        forced = len(opening)
        for part in request.prefill:
            if isinstance(part, str):
                piece = await self._text(part)
                forced += len(piece)
                ids += piece
            else:
                ids += await self._span(part)
        return tuple(ids), forced

    async def _pieces(self, request: Request) -> tuple[Ids, ...]:
        messages = self._speech.messages(request.messages, request.mode)
        split = bool(request.inserts)
        tools = request.question.tools
        key = json.dumps([request.mode, request.effort, split, messages, tools], sort_keys=True, default=dict)

        async def make() -> tuple[Ids, ...]:
            arguments = self._speech.switches(request.mode, request.effort)
            if tools:
                arguments["tools"] = tools
            if self._whole and not split:
                return (await self._whole(messages, arguments),)
            text = await self._render(messages, arguments)
            # Without traces to insert, a mark in somebody's question is an ordinary character.
            texts = text.split(HERE) if split else [text]
            return tuple([await self._tokenize(t, i == 0) for i, t in enumerate(texts)])

        return await self._heads.made(key, make)

    async def _span(self, span: Span) -> Ids:
        return span.ids if span.ids is not None else await self._text(span.text)

    async def _text(self, text: str) -> Ids:
        if not text:
            return ()
        return await self._texts.made(text, lambda: self._tokenize(text, False))
