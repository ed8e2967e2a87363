"""Answers in JSON under a cap: always finished, and written from the model's own words where it knows no JSON.

Two ways. *Direct*: the policy's answer pass is held to the schema's form, and enough of the cap is kept back to
close what was begun: an answer that reaches its cap ends a string or a list early instead of in the middle.
*Drafted*: the policy answers as if no schema had been given, then the JSON is written from that answer. Every
token of both counts.

    flow = held.direct(structured(policy(question, cap)), cap)
    flow = held.drafted(lambda free, cap: policy(free, cap), question, cap)
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

from msgspec.structs import replace

from thinkcap.core.engine import Engine
from thinkcap.core.errors import Unsupported
from thinkcap.core.flow import Ask, First, Flow, ask, wrapped
from thinkcap.core.types import NOTHING, Answer, Completion, Question, Request, Span
from thinkcap.engines.background import run_in_background
from thinkcap.engines.binding import GRAMMAR
from thinkcap.engines.calling import forced_schema, held_to
from thinkcap.engines.grammar import Exactly, Form, gbnf, lead, longest, remainder, shortest, within
from thinkcap.engines.json_limits import Work
from thinkcap.engines.json_scalars import written
from thinkcap.engines.json_schema import response_form, schema_form
from thinkcap.gateway.answering.json_draft import Draft, narrowed, settled, value_of
from thinkcap.gateway.refusal import Refusal
from thinkcap.model import bundled_fingerprint

_VALUES = 16
"""Bytes beyond the shortest end, so that what is still to be said when the cap comes near can be said."""
_DRAFT_VALUES = 12
"""Tokens beyond those of the shortest JSON that are kept from a draft."""
_NARROWED_PARTS = 1000
"""Of a narrowed schema: its form is made while other requests wait."""
_BREAK = "\n"
_ONE_ANSWER = {"type": "object", "properties": {"answer": {}}, "required": ["answer"]}
"""What a draft is written into where an object is asked for and nobody says of what."""
_LINES = (None, 2, 1, 0)
"""Lines of working that are told, the most first; fewer where they do not fit."""


@dataclass(frozen=True)
class Held:
    """What a request's answer is held to."""

    form: Form
    schema: Mapping[str, Any] | bool
    draft: bool
    """The model answers in its own words first."""
    tokens: int
    """What the shortest JSON costs after a draft."""
    grammar: str
    """The form as servers read it."""

    def direct(self, flow: Flow, cap: int) -> Flow:
        """The flow with its answer passes held to the form and closed; its thinking passes leave room for that."""
        need = min(ceil(self.form.least + self.form.tail) + _VALUES, cap // 2)
        last: dict[int, tuple[Completion, bool]] = {}

        def each(effect: Ask | First) -> Generator[Ask | First, Any, tuple[Completion, ...]]:
            asked = tuple(self._bound(request, need) for request in effect.requests)
            if len(asked) > 1 or not asked[0].final or asked[0].stage == "probe":
                # A probe that was cut says that the question is hard; closing it would hide that.
                return tuple((yield replace(effect, requests=asked)))
            whole, final, closed = yield from _closed(self.form, asked[0])
            last[id(whole)] = final, closed
            return (whole,)

        return _told((yield from wrapped(flow, each)), last)

    def drafted(self, policy: Callable[[Question, int], Flow], question: Question, cap: int) -> Flow:
        """The policy's own answer, then JSON from it."""
        kept = min(self.tokens + _DRAFT_VALUES, cap // 2)
        options = {name: value for name, value in question.options.items() if name != "stop"}
        free = replace(question, format=None, options=options)
        answer = yield from _reserved(policy(free, max(1, cap - kept)), kept)
        said = (answer.text or "").strip()
        if not said:
            return answer
        asked = "\n".join(m["content"] for m in question.messages if isinstance(m.get("content"), str))
        notes = {**answer.notes, "drafted": True}
        for lines in _LINES:
            schema = narrowed(self.schema, Draft(said, asked, question.kind, lines))
            if not settled(schema):
                break
            # All of it is ours but the last character, after which the model ends its turn.
            text = written(value_of(schema))
            found = yield from ask(self._request(question, said, text[:-1], Exactly(text[-1]), cap))
            if found.tokens:
                return Answer(text, "json", found, notes={**notes, "json_whole": True})
        begun, form = lead(self.form if settled(schema) else self.narrowed_form(schema))
        request = self._request(question, said, begun, form, cap)
        whole, final, closed = yield from _closed(form, request)
        text = begun + (whole.answer or "")
        return _told(Answer(text, "json", whole, notes=notes), {id(whole): (final, closed)})

    def narrowed_form(self, schema: Any) -> Form:
        """The form of a narrowed schema; the form of the whole one if references make the other too large."""
        try:
            return schema_form(schema, root=self.schema, work=Work(_NARROWED_PARTS))
        except Unsupported:
            return self.form

    def _request(self, question: Question, said: str, begun: str, form: Form, cap: int) -> Request:
        return Request(
            replace(question, format=_grammar(form), options={}),
            "nothink",
            cap,
            stage="json",
            prefill=(Span(said), _BREAK + begun),
            final=True,
        )

    def _bound(self, request: Request, need: int) -> Request:
        if not request.final:
            return replace(request, keep=max(request.keep, need))
        question = replace(request.question, format={"type": GRAMMAR, "grammar": self.grammar})
        return replace(request, question=question, budget=max(request.budget, need))


async def held(question: Question, engine: Engine, way: str | None) -> Held | None:
    """What the question's response format asks for; a 400 that names what cannot be held to."""
    if question.format is None or engine.card.transport != "ids":
        return None
    try:
        found = await run_in_background(_compile, question.format)
    except Unsupported as err:
        raise Refusal(str(err), code="unsupported_schema", param="response_format") from err
    if found is None:
        return None
    form, grammar, text = found
    draft = way == "drafted" or (
        way is None and engine.card.fingerprint == bundled_fingerprint() and not question.options.get("logprobs")
    )
    if draft and "nothink" not in engine.card.modes:
        raise Refusal("a model that always thinks cannot write a draft; leave out thinkcap.json", param="thinkcap")
    schema = (question.format.get("json_schema") or {}).get("schema", _ONE_ANSWER)
    tokens = 0
    if draft:
        plain = replace(question, format=None, options={})
        begun = (_BREAK + text,)
        tokens = (await engine.prompt(Request(plain, "nothink", 1, stage="measure", prefill=begun))).forced
    return Held(form, schema, draft, tokens, grammar)


async def check_forced_call(question: Question, engine: Engine) -> None:
    """Return a 400 before anything is generated if a call that the caller forces cannot be enforced."""
    if not question.tools or engine.card.transport != "ids":
        return
    try:
        await run_in_background(_compile_call, Request(question, "nothink", 1, stage="measure", final=True))
    except Unsupported as err:
        raise Refusal(str(err), code="unsupported_schema", param="tools") from err


def _compile(wanted: Mapping[str, Any]) -> tuple[Form, str, str] | None:
    """The form of a response format, its grammar, and its shortest text."""
    form = response_form(wanted)
    try:
        return None if form is None else (form, gbnf(form), shortest(form))
    except RecursionError:
        raise Unsupported(
            "the JSON schema has too many parts one inside the other; ask for fewer fields"
        ) from None


def _compile_call(request: Request) -> None:
    schema = forced_schema(request)
    if schema is not None:
        held_to(schema, "json")


def _closed(form: Form, request: Request) -> Generator[Ask, Any, tuple[Completion, Completion, bool]]:
    """An answer pass and, where it was cut, the way to its end: both as one, the last, and whether it was cut."""
    end = ceil(form.tail) + _VALUES
    first = NOTHING
    # Room to end with what is still to be said, room just to end, or as far as it goes.
    kept = () if request.question.options.get("logprobs") else (end + 1, ceil(form.tail) + 1)
    for keep in (*kept, 0):
        first = yield from ask(replace(request, keep=request.keep + keep))
        if first.tokens:
            break
    text = (first.answer or "").rstrip("\N{REPLACEMENT CHARACTER}")
    rest = remainder(form, text)
    if first.ended or not first.tokens or rest.least == inf:
        return first, first, False
    if not longest(rest):
        return replace(first, answer=text, ended=True), first, False
    question = replace(request.question, format=_grammar(within(rest, keep - 1)))
    prefill = (*request.prefill, Span(text))
    second = yield from ask(replace(request, question=question, prefill=prefill, budget=max(1, keep), stage="end"))
    if not second.tokens:
        return first, first, False
    whole = text + (second.answer or "")
    both = replace(second, text=whole, answer=whole, ended=second.ended or not longest(remainder(form, whole)))
    return both, second, True


def _reserved(flow: Flow, kept: int) -> Flow:
    """The flow with that many tokens left for what follows, and its answer not shown."""

    def each(effect: Ask | First) -> Generator[Ask | First, Any, tuple[Completion, ...]]:
        asked = tuple(
            replace(r, keep=r.keep + kept, shown="thought" if r.shown == "answer" else r.shown)
            for r in effect.requests
        )
        return tuple((yield replace(effect, requests=asked)))

    return wrapped(flow, each)


def _told(answer: Answer, last: Mapping[int, tuple[Completion, bool]]) -> Answer:
    """The answer with the pass that really ended it, which is the one a reader has seen."""
    if answer.completion is None or id(answer.completion) not in last:
        return answer
    final, closed = last[id(answer.completion)]
    notes = {**answer.notes, "json_closed": True} if closed else answer.notes
    if answer.completion.ended:
        notes = {**notes, "json_whole": True}
    return replace(answer, completion=final, notes=notes)


def _grammar(form: Form) -> dict[str, Any]:
    return {"type": GRAMMAR, "grammar": gbnf(form)}
