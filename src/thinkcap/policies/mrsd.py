"""MRSD: several rounds of think-then-answer, each told the previous answer, until two in a row agree.

A completed chain does not end the loop: agreement does. Without agreement the majority decides, and among
equally frequent answers the latest, which is the most refined.
"""

from thinkcap.core.flow import Flow, ask, same
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Answer, Completion, Question
from thinkcap.policies import stages
from thinkcap.policies.facts import Facts
from thinkcap.policies.vote import classes


def mrsd(
    question: Question,
    cap: int,
    *,
    first: int | None = None,
    think: int | None = None,
    answer: int | None = None,
    rounds: int = 3,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """Think and answer in rounds, each told the last answer, until two in a row agree.

        0          first                                  cap
        |probe ....|think|ans   |think|ans   |think|ans   |
                    round 1      round 2      round 3

    A finished thought does not end the loop; agreement does. Without it the majority decides, then the latest.
    Use it where thousands of tokens are available and a right answer is worth them; small caps starve each round.
    `first` is a quarter of the cap; `rounds` (3) share the rest, a quarter of each for its `answer` and
    what remains to `think`.
    """
    (first,) = stages.shares(cap, first, default=(0.25,))
    each = max(2, (cap - first) // rounds)
    answer = answer or max(1, each // 4)
    think = think or max(1, each - answer)
    quick = yield from ask(stages.probe(question, first, keep=answer))
    if quick.ended:
        return Answer(quick.answer, "probe", quick, notes={"rounds": 0, "converged": True})
    texts: list[str | None] = []
    found: list[str | None] = []
    last: Completion = quick
    for number in range(1, rounds + 1):
        hint = prompts.hinted(found[-1]) if found and found[-1] else ""
        chain = yield from ask(stages.thinking(question, think, keep=answer, hint=hint, stage=f"think{number}"))
        last = chain
        if not chain.ended:
            last = yield from ask(
                stages.extraction(question, chain, answer, prompts, stage=f"extract{number}", shown="hidden")
            )
        texts.append(last.answer)
        found.append(stages.read(question, last.answer).answer)
        if number > 1 and (yield from same(found[-1], found[-2], question)):
            notes = {"rounds": number, "converged": True, "answers": tuple(found)}
            return Answer(texts[-1], f"round{number}", last, notes=notes)
    groups = yield from classes(found, question)
    winner = max(groups, key=lambda g: (len(g), g[-1]))[-1] if groups else None
    notes = {"rounds": rounds, "converged": False, "answers": tuple(found)}
    text = texts[winner] if winner is not None else None
    return Answer(text, "majority", None, notes=notes)


FACTS = {
    "mrsd": Facts(
        chain=("probe", "think"), then=("extract",), needs_kind=True, adaptive=True, first_try=True, refines=True
    )
}
