"""A chain that ended is the same at every larger budget: it is asked for once, and its other rows are told of it.

ended = EndedChains()
run = await drive(flow, engine, each=ended)
ended.keep(run.steps)
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence

from msgspec.structs import replace

from thinkcap.core.complete import complete
from thinkcap.core.engine import Emit, Engine
from thinkcap.core.recent import Recent
from thinkcap.core.types import Completion, Question, Request, Step

_TOKENS = 2_000_000
"""Of chains that are kept: those of the questions that are worked on."""


class EndedChains:
    """Answers requests in front of a `Remembering`, as `complete` does."""

    def __init__(self) -> None:
        self._kept: Recent[tuple[object, ...], tuple[Question, Completion]] = Recent(_TOKENS)

    def __call__(
        self, engine: Engine, request: Request, emit: Emit | None = None
    ) -> Coroutine[None, None, Completion]:
        known = self._kept.get(_name(request)) if emit is None and _bare(request) else None
        if known is not None and known[1].tokens <= request.budget:
            return _told(known[1], request.budget)
        return complete(engine, request, emit)

    def keep(self, steps: Sequence[Step]) -> None:
        """What a flow was given, for all that come after it."""
        for step in steps:
            request, got = step.request, step.completion
            if got.ended and got.limit and _bare(request) and self._kept.get(name := _name(request)) is None:
                # With the question itself, for an id is that of one question only as long as it lives.
                self._kept.keep(name, (request.question, _again(got)), got.tokens)


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


def _name(request: Request) -> tuple[object, ...]:
    drawn = request.sampling
    return (
        id(request.question),
        request.mode,
        request.effort,
        request.final,
        request.opens,
        request.thought_only,
        None if drawn is None or drawn.greedy else drawn,
    )


def _again(got: Completion) -> Completion:
    """A chain for those who did not generate it."""
    return replace(got, generated=0, claim=None, origin="cut" if got.origin == "fresh" else got.origin)


async def _told(chain: Completion, budget: int) -> Completion:
    """Whoever asks with the budget it was generated under has what a run of his own would give."""
    own = chain.origin == "cut" and chain.limit in (budget, chain.tokens)
    return replace(chain, origin="fresh") if own else chain
