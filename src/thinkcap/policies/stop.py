"""Think in steps, and at each checkpoint weigh the chance that the chain still ends against answering now.

A chain that has run long, or turns in circles, may be worth less than the answer that can be read out of it
already. The steps continue one and the same turn, so what comes after the stop is never generated, and the sum
of the steps is what the thought cost. Where to stop is a table (`thinkcap.allocate.stop`) that a study fits;
without one, a chain stops where it loops.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from thinkcap.allocate.file import stopping
from thinkcap.allocate.signals import signal
from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import Flow, ask
from thinkcap.core.names import nearest
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Answer, Completion, Question
from thinkcap.policies import stages
from thinkcap.policies.facts import Declared, Facts

WAYS = ("close", "extract")


def stop(
    question: Question,
    cap: int,
    *,
    first: int = 0,
    think: int | None = None,
    answer: int | None = None,
    how: str = "close",
    table: str = "",
    checks: bool = True,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """Think in steps, and stop where the thought is unlikely to end in time.

        0          check   check   check   cap - answer   cap
        |thought ..|.......|.......|answer                    unlikely to end: answer now
        |thought ..|.......|.......|.......|</think>answer|   else go on to the limit

    The steps continue one turn, so nothing is generated twice and a stopped chain's tokens are saved.
    Use it where long thoughts run in circles. `thinkcap calibrate --allocate` fits when to stop; without its file
    (`table`) a thought stops where it loops.
    `first` tokens for a probe (none), at most `think` of thought, `answer` to close it in band or, with
    `how=extract`, in a pass of its own. `checks=false` never stops early.
    """
    if how not in WAYS:
        raise ConfigError(f"unknown way to answer '{how}'{nearest(how, WAYS)}")
    if answer is None:
        answer = min(max(32, cap // 8), max(1, cap // 2))
    if first:
        quick = yield from ask(stages.probe(question, first, keep=answer))
        if quick.ended:
            return Answer(quick.answer, stage="probe", completion=quick)
    most = max(0, cap - first - answer)
    limit = min(think, most) if think else most
    rule = stopping(table)
    points = [c for c in rule.checkpoints if c < limit] if checks else []
    chain: Completion | None = None
    seen: list[tuple[int, int]] = []
    for at in (*points, limit):
        begun = (chain.span(),) if chain else ()
        step = stages.thinking(question, at - (chain.tokens if chain else 0), keep=answer, shown="answer")
        piece = yield from ask(replace(step, prefill=begun))
        chain = stages.joined(chain, piece) if chain else piece
        if chain.ended:
            return Answer(chain.answer, stage="think", completion=piece, notes={"checks": tuple(seen)})
        # A gateway that wants the answer in a pass of its own hides the end of a turn that gave it already.
        if not piece.tokens or piece.finish == "stop" or at == limit:
            break
        sign = signal(chain.text)
        seen.append((at, sign))
        if chain.answer is None and rule.stops(at, sign, limit):
            break
    assert chain is not None
    notes: dict[str, Any] = {"checks": tuple(seen)}
    if chain.tokens < limit:
        notes["stopped"] = chain.tokens
    if how == "extract":
        final = yield from ask(stages.extraction(question, chain, answer, prompts))
        return Answer(final.answer, stage="extract", completion=final, notes=notes)
    rest = yield from ask(stages.in_band(question, chain, answer, prompts.close, "close"))
    return Answer(stages.answer_of(chain, rest), stage="close", completion=rest, notes=notes)


def _by_way(options: Mapping[str, Any]) -> Facts:
    extracts = options["how"] == "extract"
    return Facts(
        chain=("probe", "think"),
        then=("extract",) if extracts else ("close",),
        may_be_empty=False,
        needs_nothink=extracts or bool(options["first"]),
    )


FACTS: Declared = {"stop": _by_way}
