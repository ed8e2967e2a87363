"""An engine whose every token is known beforehand, for tests of everything that is not the model.

A script says which tokens the model would write for a prompt if it had no limit; the engine cuts at the
limit exactly as a real one does, counts what it was asked for, and can fail on cue. Text is one character a
token, so that tests can be read.

    engine = ScriptedEngine(lambda prompt: "<think>2+3</think>5")
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile

from thinkcap.core.engine import Emit, EngineCard, Output, Prompt
from thinkcap.core.errors import EngineError
from thinkcap.core.prompts import HERE
from thinkcap.core.scores import Scores
from thinkcap.core.stopping import stopped
from thinkcap.core.thinking import Delta
from thinkcap.core.types import Request, Sampling, Span

END = 0
"""The end-of-turn token; every other id is the code point of its character."""

HOLDS = "held"
OPEN, CLOSE = "<think>", "</think>"
QUIET = "[nothink]"
"""Ends the prompt of a request not to think."""

Script = Callable[[str], str | EngineError]
"""Prompt text in, unlimited reply out; end it with a NUL for a reply that never ends by itself."""
Odds = Callable[[str, str], tuple[float, Sequence[float]]]
"""Text before a token and the token in; its log probability and those of the likeliest out."""
_LIKELY, _UNLIKELY = math.log(0.9), math.log(0.1)


class ScriptedEngine:
    """Think tags count one token each, as they do for real models."""

    def __init__(
        self,
        script: Script,
        *,
        delay_s: float = 0.0,
        switch: str = "native",
        sampled: bool = False,
        odds: Odds | None = None,
    ) -> None:
        self._script = script
        self._delay_s = delay_s
        self._sampled = sampled
        self._odds = odds or (lambda before, token: (_LIKELY, (_LIKELY, _UNLIKELY)))
        self.calls: list[tuple[int, int]] = []
        """(prompt length, limit) of every generate call, in order."""
        self.generated = 0
        self.card = EngineCard(
            engine="scripted",
            model="scripted",
            fingerprint="scripted-" + hashlib.sha256(repr(switch).encode()).hexdigest()[:8],
            transport="ids",
            switch=switch,  # type: ignore[arg-type]
            context=1_000_000,
            close_id=_TAGS[CLOSE],
            concurrency=64,
            stops=True,
            scores="any",
            holds=HOLDS,
        )

    async def prompt(self, request: Request) -> Prompt:
        spans = iter(request.inserts)
        ids: list[int] = []
        for message in request.messages:
            ids += encode(f"[{message['role']}]")
            first, *rest = str(message["content"]).split(HERE)
            ids += encode(first)
            for tail in rest:
                ids += next(spans).ids or ()
                ids += encode(tail)
        nothink = request.mode == "nothink"
        ids += encode("[assistant]" + (QUIET if nothink else ""))
        opening = encode(f"{OPEN}\n") if request.opens and not nothink else []
        ids += opening
        forced = len(opening)
        for part in request.prefill:
            piece = encode(part) if isinstance(part, str) else list(part.ids or ())
            forced += len(piece) if isinstance(part, str) else 0
            ids += piece
        closed = nothink or any(CLOSE in (p.text if isinstance(p, Span) else p) for p in request.prefill)
        opened = bool(request.prefill) and not closed
        own = takewhile(lambda part: isinstance(part, Span), reversed(request.prefill))
        begun = sum(len(part) for part in own)
        body = {} if request.held is None else {HOLDS: request.held}
        return Prompt(tuple(ids), body, forced=forced, opened=opened, closed=closed, tokens=len(ids), begun=begun)

    async def generate(self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None = None) -> Output:
        assert prompt.ids is not None
        self.calls.append((len(prompt.ids), limit))
        await asyncio.sleep(self._delay_s)
        ids = tuple(self._held(prompt, sampling)[:limit])
        ended = bool(ids) and ids[-1] == END
        whole = Output(
            decode(ids),
            ended,
            len(ids),
            ids=ids,
            prompt_tokens=len(prompt.ids),
            finish="stop" if ended else "length",
            scores=await self.score(prompt, ids) if prompt.scored else None,
        )
        output = await stopped(whole, prompt, self.read)
        if emit is None:
            self.generated += output.tokens
        for token in output.ids or () if emit else ():
            # One by one, so that who is cancelled has written no more than was shown.
            self.generated += 1
            if text := decode([token]):
                emit(Delta(text))  # type: ignore[misc]
            await asyncio.sleep(0)
        return replace(output, fresh=output.tokens)

    async def score(self, prompt: Prompt, ids: Sequence[int]) -> Scores:
        shown = decode(prompt.ids or ())
        return Scores.of([self._odds(shown + decode(ids[:at]), decode([i])) for at, i in enumerate(ids)])

    def _held(self, prompt: Prompt, sampling: Sampling) -> list[int]:
        """The reply; a thought that is held ends after so many tokens behind its mark, and the turn goes on."""
        assert prompt.ids is not None
        whole, most = self._reply(prompt.ids, sampling), prompt.body.get(HOLDS)
        if (
            most is None
            or whole[:1] != [_TAGS[OPEN]]
            or _TAGS[CLOSE] in whole[: most + 2]
            or len(whole) < most + 2
        ):
            return whole
        begun = [*whole[: most + 1], _TAGS[CLOSE]]
        return begun + self._reply((*prompt.ids, *begun), sampling)

    def _reply(self, prompt: tuple[int, ...], sampling: Sampling) -> list[int]:
        """The rest of the reply, also where the prompt already holds its beginning (a continued trace)."""
        whole = decode(prompt)
        asked, mark, begun = whole.rpartition("[assistant]")
        head = QUIET if begun.startswith(QUIET) else ""
        begun = begun.removeprefix(head)
        shown = asked + mark + head
        if self._sampled and not sampling.greedy:
            shown += f"[seed {sampling.seed}]"
        reply = self._script(shown)
        if isinstance(reply, EngineError):
            raise reply
        if begun and not reply.startswith(begun):
            reply = self._script(whole)
            if isinstance(reply, EngineError):
                raise reply
            begun = ""
        rest = reply[len(begun) :]
        return encode(rest[:-1]) if rest.endswith("\0") else [*encode(rest), END]

    async def read(self, ids: Sequence[int]) -> str:
        return decode(ids)

    async def aclose(self) -> None:
        return


_TAGS = {OPEN: 1, CLOSE: 2}


def encode(text: str) -> list[int]:
    ids: list[int] = []
    while text:
        tag = next((t for t in _TAGS if text.startswith(t)), None)
        ids.append(_TAGS[tag] if tag else ord(text[0]))
        text = text[len(tag) if tag else 1 :]
    return ids


def decode(ids: Sequence[int]) -> str:
    tags = {v: k for k, v in _TAGS.items()}
    return "".join("" if i == END else tags.get(i) or chr(i) for i in ids)
