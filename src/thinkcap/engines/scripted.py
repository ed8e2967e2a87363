"""An engine whose every token is known beforehand, for tests of everything that is not the model.

A script says which tokens the model would write for a prompt if it had no limit; the engine cuts at the
limit exactly as a real one does, counts what it was asked for, and can fail on cue. Text is one character a
token, so that tests can be read.

    engine = ScriptedEngine(lambda prompt: "<think>2+3</think>5")

In another dialect the parts of control marks are a token each (`<|channel|>`), tags of plain text one a character.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from msgspec.structs import replace

from thinkcap.core.engine import Emit, EngineCard, Output, Prompt
from thinkcap.core.errors import EngineError
from thinkcap.core.marks import PLAIN
from thinkcap.core.prompts import HERE, PROMPTS
from thinkcap.core.scores import Scores
from thinkcap.core.stopping import stopped
from thinkcap.core.thinking import Delta
from thinkcap.core.types import Request, Sampling, Span
from thinkcap.dialects import Dialect
from thinkcap.engines.speech import Speech

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


class Spelling:
    """Which texts are one token; every other character is one by itself."""

    def __init__(self, single: Mapping[str, int]) -> None:
        self.single = single
        self._singles = re.compile("|".join(map(re.escape, single)) or "(?!)")
        self._texts = _Texts({END: "", **{number: text for text, number in single.items()}})

    @classmethod
    def of(cls, dialect: Dialect) -> Spelling:
        marks = dialect.marks
        parts = [text for text in dialect.tokens if marks.control and not any(c.isspace() for c in text)]
        atoms = [text for text in parts if not any(other != text and other in text for other in parts)]
        return cls({text: _FIRST_CONTROL + n for n, text in enumerate(atoms)})

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        at = 0
        for tag in self._singles.finditer(text):
            ids += map(ord, text[at : tag.start()])
            ids.append(self.single[tag[0]])
            at = tag.end()
        ids += map(ord, text[at:])
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(self._texts.__getitem__, ids))


class _Texts(dict[int, str]):
    """Of every token; that of a character is the character."""

    def __missing__(self, number: int) -> str:
        self[number] = chr(number)
        return self[number]


_FIRST_CONTROL = 0xE000
"""Code points that no text uses."""
_PLAIN = Spelling({OPEN: 1, CLOSE: 2})
encode, decode = _PLAIN.encode, _PLAIN.decode


def _spoken(dialect: Dialect) -> Speech:
    levels = {level: Speech(dialect.at(level), "none", PROMPTS) for level in dialect.by_effort}
    return Speech(dialect, "none", PROMPTS, by_effort=levels)


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
        dialect: Dialect | None = None,
    ) -> None:
        self._script = script
        self._delay_s = delay_s
        self._sampled = sampled
        self._odds = odds or (lambda before, token: (_LIKELY, (_LIKELY, _UNLIKELY)))
        spelling = Spelling.of(dialect) if dialect else _PLAIN
        self._encode, self._decode = spelling.encode, spelling.decode
        spoken = _spoken(dialect).card() if dialect else {}
        self._marks = dialect.marks if dialect else PLAIN
        self.calls: list[tuple[int, int]] = []
        """(prompt length, limit) of every generate call, in order."""
        self.generated = 0
        self.card = EngineCard(
            engine="scripted",
            model="scripted",
            fingerprint="scripted-" + hashlib.sha256(repr(switch).encode()).hexdigest()[:8],
            transport="ids",
            context=1_000_000,
            close_id=spelling.single.get(self._marks.close_tag),
            concurrency=64,
            stops=True,
            scores="any",
            holds=HOLDS,
            **{**spoken, "switch": switch},
        )

    async def prompt(self, request: Request) -> Prompt:
        spans = iter(request.inserts)
        ids: list[int] = []
        for message in request.messages:
            ids += self._encode(f"[{message['role']}]")
            first, *rest = str(message["content"]).split(HERE)
            ids += self._encode(first)
            for tail in rest:
                ids += next(spans).ids or ()
                ids += self._encode(tail)
        nothink = request.mode == "nothink"
        marks = self.card.at(request.effort).marks
        ids += self._encode(f"[effort {request.effort}]" if request.effort else "")
        ids += self._encode("[assistant]" + (QUIET if nothink else ""))
        opening = self._encode(f"{marks.open_tag}\n") if request.opens and not nothink else []
        ids += opening
        forced = len(opening)
        for part in request.prefill:
            piece = self._encode(part) if isinstance(part, str) else list(part.ids or ())
            forced += len(piece) if isinstance(part, str) else 0
            ids += piece
        closed = nothink or any(marks.close_tag in (p.text if isinstance(p, Span) else p) for p in request.prefill)
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
            self._decode(ids),
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
            emit(Delta(self._decode([token])))  # type: ignore[misc]
            await asyncio.sleep(0)
        return replace(output, generated=output.tokens)

    async def score(self, prompt: Prompt, ids: Sequence[int]) -> Scores:
        shown = self._decode(prompt.ids or ())
        return Scores.of(
            [self._odds(shown + self._decode(ids[:at]), self._decode([i])) for at, i in enumerate(ids)]
        )

    def _held(self, prompt: Prompt, sampling: Sampling) -> list[int]:
        """The reply; a bounded thought ends this many tokens after its mark, and the turn goes on."""
        assert prompt.ids is not None
        whole, most = self._reply(prompt.ids, sampling), prompt.body.get(HOLDS)
        opening, closing = (self._encode(tag) for tag in (self._marks.open_tag, self._marks.close_tag))
        if most is None or whole[: len(opening)] != opening:
            return whole
        held = whole[: most + len(opening)]
        if len(held) == len(whole) or self._marks.close_tag in self._decode(whole[: len(held) + len(closing)]):
            return whole
        return [*held, *closing, *self._reply((*prompt.ids, *held, *closing), sampling)]

    def _reply(self, prompt: tuple[int, ...], sampling: Sampling) -> list[int]:
        """The rest of the reply, also where the prompt already holds its beginning (a continued trace)."""
        whole = self._decode(prompt)
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
        return self._encode(rest[:-1]) if rest.endswith("\0") else [*self._encode(rest), END]

    async def read(self, ids: Sequence[int]) -> str:
        return self._decode(ids)

    async def aclose(self) -> None:
        return
