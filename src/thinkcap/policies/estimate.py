"""TALE-EP (arXiv 2412.18547): ask the model how many tokens it needs, then name that number as a limit."""

import re

from msgspec.structs import replace

from thinkcap.core.flow import Flow, ask
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Answer, Mode, Question, Request
from thinkcap.policies import stages
from thinkcap.policies.facts import Facts

_ASK = (
    "Task: Analyze the given question and estimate the minimum number of tokens required to generate a complete "
    "and accurate response. Please Give the response by strictly following this format: [[budget]],for example: "
    "Budget: [[12]]."
)
_TELL = "Let's think step by step and use less than {number} tokens:"
_NUMBER = re.compile(r"\[\[\s*(\d{1,9})\s*\]\]")


def estimate(
    question: Question,
    cap: int,
    *,
    ask_tokens: int = 32,
    mode: Mode = "think",
    answer: int | None = None,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """Ask the model how many tokens it will need, and tell it to use fewer (TALE-EP).

        0          ask_tokens                             cap - answer   cap
        |[[number]]|thought, "use less than number tokens"|</think>answer |

    Use it with models that follow such limits; reasoning models largely ignore them, so the cap still applies.
    `ask_tokens` (32) for the estimate, without thinking; an unreadable one means no limit in words. The answer is
    written in `mode` (think); a thought that is cut is closed with `answer` tokens, as in `close`.
    """
    kept = min(max(32, cap // 8), max(1, cap // 2)) if answer is None else answer
    asking = stages.with_text(question.messages, _ASK)
    told = yield from ask(
        Request(question, "nothink", min(ask_tokens, max(1, cap // 4)), "estimate", keep=kept, messages=asking)
    )
    found = _NUMBER.search(told.answer or told.text)
    number = int(found[1]) if found else None
    messages = stages.with_text(question.messages, _TELL.replace("{number}", str(number))) if found else ()
    # The authors count the second call only.
    notes = {"estimate": number, "trials": 1, "trial_tokens": told.charged}
    if mode == "nothink":
        asked = Request(question, "nothink", cap, "answer", "answer", messages=messages, final=True)
        done = yield from ask(asked)
        return Answer(done.answer, "answer", done, notes=notes)
    budget = cap - kept - told.charged
    chain = yield from ask(Request(question, "think", budget, "think", "answer", kept, messages=messages))
    if chain.ended:
        return Answer(chain.answer, "think", chain, notes=notes)
    closing = stages.in_band(question, chain, cap, prompts.close, "close")
    rest = yield from ask(replace(closing, messages=messages or closing.messages))
    return Answer(stages.answer_of(chain, rest), "close", rest, notes=notes)


FACTS = {
    "estimate": Facts(chain=("estimate", "think", "answer"), then=("close",), may_be_empty=False, adaptive=True)
}
