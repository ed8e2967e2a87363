"""A chain that ended is the same at every larger budget: it is asked for once, and its other rows are told of it.

each = EndedChains()
await drive(flow, engine, each=each)
"""

from __future__ import annotations

from dataclasses import replace

from thinkcap.core.complete import complete
from thinkcap.core.engine import Emit, Engine
from thinkcap.core.recent import Recent
from thinkcap.core.types import Completion, Question, Request

_TOKENS = 2_000_000
"""Of chains that are kept: those of the questions that are worked on."""


class EndedChains:
    """Answers requests in front of a `Remembering`, as `complete` does."""

    def __init__(self) -> None:
        self._ended: Recent[tuple[object, ...], tuple[Question, Completion]] = Recent(_TOKENS)

    async def __call__(self, engine: Engine, request: Request, emit: Emit | None = None) -> Completion:
        if emit or not _bare(request):
            return await complete(engine, request, emit)
        question, drawn = request.question, request.sampling
        asked = (
            id(question),
            request.mode,
            request.effort,
            request.final,
            request.opens,
            request.thought_only,
            None if drawn is None or drawn.greedy else drawn,
        )
        known = self._ended.get(asked)
        if known is not None and known[1].tokens <= request.budget:
            return _at(known[1], request.budget)
        found = await complete(engine, request)
        if found.ended and found.limit:
            # With the question itself, for an id is that of one question only as long as it lives.
            self._ended.keep(asked, (question, _again(found)), found.tokens)
        return found


def _bare(request: Request) -> bool:
    """Nothing but the question, and nothing but the budget bounds the answer."""
    return not (
        request.inserts
        or request.prefill
        or request.stop_at
        or request.scored
        or request.unsure
        or request.most is not None
        or request.held is not None
        or request.messages is not request.question.messages
    )


def _again(found: Completion) -> Completion:
    """A chain for those who did not generate it."""
    return replace(found, generated=0, claim=None, origin="cut" if found.origin == "fresh" else found.origin)


def _at(whole: Completion, budget: int) -> Completion:
    """Whoever asks with the budget it was generated under has what a run of his own would give."""
    own = whole.origin == "cut" and whole.limit in (budget, whole.tokens)
    return replace(whole, origin="fresh") if own else whole
