"""Probes a server and says what it obeys and what it only claims. Tokens are counted, never trusted.

    report = await examine("http://localhost:8000/v1#Qwen/Qwen3-8B")
    report.table(), report.to_dict()

Every finding has a verdict (`yes`, `no`, `partly`, `unknown`) and the numbers it rests on. A probe that fails is a
finding, not a crash: a server may refuse what it does not know.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from thinkcap.core.complete import complete
from thinkcap.core.engine import Engine, EngineCard
from thinkcap.core.errors import ConfigError, EngineError, ThinkcapError
from thinkcap.core.types import GREEDY, Mode, Question, Request, Sampling
from thinkcap.doctor.probe import Probe, Seen
from thinkcap.engines import open_engine
from thinkcap.engines.chat import WIRES, switched
from thinkcap.engines.retry import RetryPolicy
from thinkcap.engines.served import ServeWith, Tell, silent
from thinkcap.engines.served.running import serving

Capability = Literal["yes", "no", "partly", "unknown"]
_ASKED = (
    "What is 17 + 25?",
    "A train leaves at 9:40 and arrives at 11:05. How many minutes does it take?",
    "Which is larger, 3/7 or 4/9?",
)
_BUDGET = 16
_BUDGET_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "thinking_token_budget": {"thinking_token_budget": _BUDGET},
    "reasoning_budget_tokens": {"reasoning_budget_tokens": _BUDGET},
    "thinking_budget_tokens": {"thinking_budget_tokens": _BUDGET},
    "custom_params.thinking_budget": {"custom_params": {"thinking_budget": _BUDGET}},
    "reasoning.max_tokens": {"reasoning": {"max_tokens": _BUDGET}},
    "thinking.budget_tokens": {"thinking": {"type": "enabled", "budget_tokens": _BUDGET}},
}
_SWITCHES: Mapping[str, str] = {
    "template": "chat_template_kwargs.enable_thinking",
    "effort": "reasoning_effort",
    "type": "thinking.type",
    "enabled": "reasoning.enabled",
}
_TRANSPORTS: Mapping[str, str] = {"ids": "by token ids", "chat": "over chat"}
_FILLER = "The quick brown fox jumps over the lazy dog near the river bank. " * 60


@dataclass(frozen=True)
class Finding:
    name: str
    verdict: Capability
    seen: str


@dataclass(frozen=True)
class DoctorReport:
    address: str
    card: Mapping[str, Any]
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """The capability card as it is written to a file."""
        found = {f.name: {"verdict": f.verdict, "seen": f.seen} for f in self.findings}
        return {"address": self.address, "card": dict(self.card), "findings": found}

    def table(self) -> str:
        width = max(len(f.name) for f in self.findings)
        card = self.card
        asked = _TRANSPORTS[card["transport"]]
        head = f"{self.address}: {card['model']}, asked {asked}, {card['version'] or 'unknown server'}"
        return "\n".join(
            [
                _one_line(head),
                _one_line(_dialect(card)),
                *(f"  {f.name:<{width}}  {f.verdict:<8} {f.seen}" for f in self.findings),
            ]
        )


def _one_line(words: str) -> str:
    """What a server says of itself begins no line of its own."""
    return words.replace("\n", " ")


_OFF = {"native": "the model's own switch", "block": "an empty thought", "prompt": "words in the prompt"}


def _dialect(card: Mapping[str, Any]) -> str:
    """The line that says how the model thinks, and how that was found."""
    name = f"dialect {card['dialect']}" if card["dialect"] else "unnamed dialect"
    marks = f"{card['open_tag'] or '(nothing)'} ... {card['close_tag']}"
    levels = "".join(
        f", at {level} {level_marks['open_tag']} ... {level_marks['close_tag']}"
        for level, (level_marks, _) in card.get("by_effort", {}).items()
    )
    found = f"  {name}, found by {card['dialect_by']}: {marks}{levels}"
    return f"{found}, thinking is turned off by {_OFF.get(card['switch'], card['switch'])}"


async def examine(address: str, *, tokens: int = 256, timeout_s: float = 120.0, dialect: str = "") -> DoctorReport:
    """`tokens` is the longest answer asked for; a thought must fit to be seen whole."""
    if not address.startswith(("http://", "https://")):
        raise ConfigError(f"'{address}' is not the address of a server; wanted http://host:port/v1#model-name")
    retry = RetryPolicy(first_byte_s=timeout_s, between_bytes_s=timeout_s, total_s=timeout_s, attempts=2)
    engine = await open_engine(address, dialect=dialect, retry=retry, canary_every=10**9, canary_s=1e9)
    try:
        async with Probe(address, engine.card.model, timeout_s, engine.card.marks) as probe:
            return DoctorReport(
                address.partition("#")[0], engine.card.to_dict(), await _all(engine, probe, tokens)
            )
    finally:
        await engine.aclose()


async def _all(engine: Engine, probe: Probe, tokens: int) -> tuple[Finding, ...]:
    """One after another: a probe beside others would time and batch differently."""
    checks: list[tuple[str, Callable[[], Awaitable[Finding]]]] = [
        ("thinking off means off", lambda: _off(probe, engine.card, tokens)),
        ("reasoning apart", lambda: _field(probe, tokens)),
        ("usage given", lambda: _usage(probe)),
        ("max_tokens holds", lambda: _limit(probe)),
        ("length is truthful", lambda: _length(probe, tokens)),
        ("native budget holds", lambda: _native(probe, tokens)),
        ("token ids", lambda: _ids(engine)),
        ("prefix property", lambda: _prefix(engine)),
        ("seeds respected", lambda: _seeds(engine)),
        ("prefix caching", lambda: _caching(probe)),
        ("streams as it writes", lambda: _streams(probe)),
        ("response format", lambda: _format(probe)),
        ("tools reach the model", lambda: _tools(probe)),
    ]
    found = []
    for name, check in checks:
        try:
            found.append(await check())
        except EngineError as err:
            found.append(Finding(name, "unknown", " ".join(str(err).split())[:160]))
        except ThinkcapError as err:
            found.append(Finding(name, "no", " ".join(str(err).split())[:160]))
    return tuple(found)


async def _off(probe: Probe, card: EngineCard, tokens: int) -> Finding:
    """Each known switch, on and off; the first that thinks when on and does not when off."""
    name = "thinking off means off"
    said = []
    for wire in WIRES:
        on, off = 0, 0
        try:
            for text in _ASKED:
                off += (await probe.ask(text, max_tokens=tokens, **_asked(wire, "nothink", card))).thinks
                on += (await probe.ask(text, max_tokens=tokens, **_asked(wire, "think", card))).thinks
        except EngineError:
            said.append(f"{_switch(wire, card)} is refused")
            continue
        many = len(_ASKED)
        if on and not off:
            probe.switches = {mode: _asked(wire, mode, card) for mode in ("think", "nothink")}
            return Finding(
                name, "yes", f"by {_switch(wire, card)}: {on} of {many} think when on, {off} of {many} when off"
            )
        said.append(f"{_switch(wire, card)}: {on} of {many} think when on, {off} of {many} when off")
        if not on and not off:
            return Finding(name, "unknown", "no thought was seen, on or off; does this model think?")
    return Finding(name, "no", "; ".join(said))


def _asked(wire: str, mode: Mode, card: EngineCard) -> dict[str, Any]:
    return switched(wire, mode, card.switches.get(mode, {}))


def _switch(wire: str, card: EngineCard) -> str:
    """The field by its name on the wire; a template's arguments by their own."""
    names = list(card.switches.get("nothink", {})) if wire == "template" else []
    return f"chat_template_kwargs.{names[0]}" if names else _SWITCHES[wire]


async def _field(probe: Probe, tokens: int) -> Finding:
    seen = [await probe.ask(text, max_tokens=tokens, **probe.mode("think")) for text in _ASKED]
    places = sorted({one.place for one in seen if one.place})
    if not places:
        return Finding("reasoning apart", "unknown", "no reasoning was seen")
    apart = all(place != "content" for place in places)
    words = "inside the content, between tags" if not apart else "in " + ", ".join(places)
    counted = sum(one.reasoning_tokens is not None for one in seen)
    often = "counts" if counted == len(seen) else "sometimes counts" if counted else "does not count"
    more = f"; usage {often} its tokens separately"
    return Finding("reasoning apart", "yes" if apart else "no", words + more)


async def _usage(probe: Probe) -> Finding:
    whole = await probe.ask(_ASKED[0], max_tokens=8)
    streamed = await probe.stream(_ASKED[0], max_tokens=8, stream_options={"include_usage": True})
    given = [where for where, one in (("whole answers", whole), ("streams", streamed)) if one.tokens is not None]
    verdict: Capability = "yes" if len(given) == 2 else "partly" if given else "no"
    return Finding("usage given", verdict, f"completion_tokens in {' and '.join(given) or 'no answer'}")


async def _limit(probe: Probe) -> Finding:
    """Pieces of a stream are counted: each holds at least one token."""
    worst, claimed = 0, 0
    for text in _ASKED:
        seen = await probe.stream(text, max_tokens=8, stream_options={"include_usage": True})
        worst, claimed = max(worst, seen.pieces), max(claimed, seen.tokens or 0)
    held = worst <= 9 and claimed <= 8
    return Finding(
        "max_tokens holds",
        "yes" if held else "no",
        f"with 8 allowed, at most {worst} pieces were streamed; usage says {claimed}",
    )


async def _length(probe: Probe, tokens: int) -> Finding:
    """Cut means `length`, ended means `stop`, also where the answer fills the limit exactly."""
    name = "length is truthful"
    cut = await probe.ask(_ASKED[1], max_tokens=4, **probe.mode("nothink"))
    whole = await probe.ask(_ASKED[0], max_tokens=tokens, **probe.mode("nothink"))
    if whole.finish != "stop" or not whole.tokens:
        return Finding(name, "unknown", f"no answer ended within {tokens} tokens ({whole.finish})")
    exact = await probe.ask(_ASKED[0], max_tokens=whole.tokens, **probe.mode("nothink"))
    said = f"'{cut.finish}' when cut at 4 tokens, '{whole.finish}' when ended after {whole.tokens}, "
    said += f"'{exact.finish}' under a limit of exactly {whole.tokens}"
    if cut.finish != "length":
        return Finding(name, "no", said)
    return Finding(name, "yes" if exact.finish == "stop" else "partly", said)


async def _native(probe: Probe, tokens: int) -> Finding:
    name = "native budget holds"
    thoughts = {text: await probe.stream(text, max_tokens=tokens, **probe.mode("think")) for text in _ASKED}
    text, free = max(thoughts.items(), key=lambda item: item[1].thought_pieces)
    if free.thought_pieces <= _BUDGET + 4:
        words = f"thoughts are too short to tell: {free.thought_pieces} pieces when uncut"
        return Finding(name, "unknown", words)
    said = []
    for field, body in _BUDGET_FIELDS.items():
        try:
            seen = await probe.stream(text, max_tokens=tokens, **{**probe.mode("think"), **body})
        except EngineError:
            continue
        if seen.thought_pieces <= _BUDGET + 4:
            return Finding(
                name,
                "yes",
                f"{field} = {_BUDGET}: a thought of {free.thought_pieces} pieces is cut to {seen.thought_pieces}",
            )
        said.append(f"{field}: {seen.thought_pieces}")
    if not said:
        return Finding(name, "no", "the server refuses every known field for it")
    words = (
        f"a budget of {_BUDGET} is ignored; pieces of thought: {free.thought_pieces} without, {', '.join(said)}"
    )
    return Finding(name, "no", words)


async def _ids(engine: Engine) -> Finding:
    card = engine.card
    by = card.transport == "ids"
    words = "prompts and answers as ids" if by else "text only: nothing can be cut or spliced exactly"
    more = (
        "; the assistant's turn can be prefilled"
        if card.prefills
        else "; the assistant's turn cannot be prefilled"
    )
    return Finding("token ids", "yes" if by else "no", words + more)


def _question(text: str) -> Question:
    return Question("doctor", ({"role": "user", "content": text},))


async def _text(engine: Engine, text: str, budget: int, sampling: Sampling = GREEDY, mode: Mode = "think") -> str:
    request = Request(_question(text), mode, budget, stage="doctor", sampling=sampling)
    done = await complete(engine, request)
    return done.text


async def _prefix(engine: Engine) -> Finding:
    held = 0
    for text in _ASKED:
        long, short = await _text(engine, text, 64), await _text(engine, text, 24)
        # A cut inside a character shows as a replacement mark.
        held += long.startswith(short.rstrip("\ufffd"))
    many = len(_ASKED)
    verdict: Capability = "yes" if held == many else "partly" if held else "no"
    return Finding(
        "prefix property", verdict, f"24 greedy tokens are the first 24 of 64 in {held} of {many} answers"
    )


async def _seeds(engine: Engine) -> Finding:
    same, other = 0, 0
    for text in _ASKED:
        first, again, third = [await _text(engine, text, 32, Sampling(1.5, 1.0, seed)) for seed in (1, 1, 2)]
        same += first == again
        other += first != third
    many = len(_ASKED)
    verdict: Capability = "yes" if same == many and other else "no" if not same else "partly"
    return Finding(
        "seeds respected",
        verdict,
        f"the same seed repeats {same} of {many} answers, another seed changes {other} of {many}",
    )


async def _caching(probe: Probe) -> Finding:
    """By the server's own count where it gives one, else by the clock."""
    mark = f"[{time.time_ns()}] "
    times, cached = [], None
    for _ in range(3):
        started = time.perf_counter()
        seen = await probe.ask(mark + _FILLER, max_tokens=1)
        times.append(time.perf_counter() - started)
        cached = seen.cached_tokens if seen.cached_tokens is not None else cached
    told = f"{1000 * times[0]:.0f} ms to read a prompt, {1000 * min(times[1:]):.0f} ms to read it again"
    if cached is not None:
        return Finding(
            "prefix caching", "yes" if cached > 0 else "no", f"{cached} prompt tokens came from the cache; {told}"
        )
    verdict: Capability = "yes" if min(times[1:]) < 0.5 * times[0] else "unknown"
    return Finding("prefix caching", verdict, told)


async def _streams(probe: Probe) -> Finding:
    seen = await probe.stream(_ASKED[1], max_tokens=48, **probe.mode("think"))
    incremental = seen.pieces > 4 and seen.first_s < 0.6 * seen.total_s
    words = f"{seen.pieces} pieces, the first after {1000 * seen.first_s:.0f} of {1000 * seen.total_s:.0f} ms"
    return Finding("streams as it writes", "yes" if incremental else "unknown" if seen.pieces > 4 else "no", words)


async def _format(probe: Probe) -> Finding:
    wanted = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": wanted, "strict": True}}
    seen: Seen = await probe.ask(_ASKED[0], max_tokens=64, response_format=form, **probe.mode("nothink"))
    kept: Capability = "yes" if seen.json_keys == {"n"} else "unknown" if seen.finish == "length" else "no"
    # A schema allows blanks between its parts, and a small model may write nothing else.
    said = " ".join(seen.content.split())[:60]
    return Finding("response format", kept, f"under a JSON schema: {said!r} ({seen.finish})")


async def _tools(probe: Probe) -> Finding:
    """Some servers drop tools without a word where the model's template has no place for them."""
    name = "tools reach the model"
    function = {"name": "weather", "description": "The weather of a city.", "parameters": {"type": "object"}}
    body = {"max_tokens": 1, **probe.mode("nothink")}
    without = (await probe.ask(_ASKED[0], **body)).prompt_tokens
    seen = await probe.ask(_ASKED[0], **body, tools=[{"type": "function", "function": function}])
    if without is None or seen.prompt_tokens is None:
        return Finding(name, "unknown", "the server does not count prompt tokens")
    more = seen.prompt_tokens - without
    words = (
        f"the prompt grows by {more} tokens"
        if more > 0
        else "the prompt has the same length with tools and without"
    )
    return Finding(name, "yes" if more > 0 else "no", words)


def examined(
    address: str,
    tokens: int = 256,
    timeout_s: float = 120.0,
    dialect: str = "",
    how: ServeWith | None = None,
    tell: Tell = silent,
) -> DoctorReport:
    """The same for the command line; with `how`, of a server that is started for it."""

    async def work() -> DoctorReport:
        if how is None:
            return await examine(address, tokens=tokens, timeout_s=timeout_s, dialect=dialect)
        async with serving(address, how, tell=tell) as server:
            return await examine(server.address, tokens=tokens, timeout_s=timeout_s, dialect=dialect)

    return asyncio.run(work())
