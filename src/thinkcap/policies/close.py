"""Think up to the cap minus a reserve, then close the thought by force and answer in the same turn.

The field's own remedy (s1, vLLM's and llama.cpp's native budgets) and the rival the paper never met. It
shares the trace's cache, so it is cheap.
"""

from collections.abc import Mapping
from types import MappingProxyType

from thinkcap.core.flow import Flow, ask
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Answer, Question
from thinkcap.policies import stages
from thinkcap.policies.facts import Facts

SENTENCES: Mapping[str, str] = MappingProxyType(
    {
        "qwen": "Considering the limited time by the user, "
        "I have to give the solution based on the thinking directly now.",
        "vllm": "I have to give the solution based on the reasoning directly now.",
        "llamacpp": "... thinking budget exceeded, let's answer now.",
        "placebo": "Considering the colour of the sky at noon, "
        "one may see the birds that move over the fields slowly.",
    }
)
"""Last words of a closed thought: what makers advise, and one of Qwen's length that says nothing about time."""


def close(
    question: Question,
    cap: int,
    *,
    reserve: int | None = None,
    sentence: str = "",
    prompts: Prompts = PROMPTS,
) -> Flow:
    """Think, then close the thought by force and answer in the same turn.

        0                                 cap - reserve   cap
        |thought .........................|</think>answer |

    The answer's share is reserved from the start, so there is always an answer; the turn continues, so nothing is
    generated twice. s1 and the native budgets of vLLM and llama.cpp do the same.
    Use it first: it needs no second prompt and no answer kind. Without a profile the gateway uses it too.
    `reserve` also pays for the forced tokens (an eighth of the cap, at least 32 if that fits). `sentence` is said
    at the end of the closed thought, in the model's own voice and at the reserve's cost: a text in quotes, or
    `qwen`, `vllm`, `llamacpp` for the one those makers advise, or `placebo` for one that says nothing about time.
    """
    if reserve is None:
        reserve = min(max(32, cap // 8), max(1, cap // 2))
    thinking = stages.thinking(question, cap - reserve, keep=reserve, shown="answer")
    chain = yield from ask(thinking)
    if chain.ended:
        return Answer(chain.answer, stage="think", completion=chain)
    rest = yield from ask(stages.in_band(question, chain, reserve, _forced(sentence, prompts), "close"))
    return Answer(stages.answer_of(chain, rest), stage="close", completion=rest)


def _forced(sentence: str, prompts: Prompts) -> str:
    words = SENTENCES.get(sentence, sentence)
    return f"\n\n{words}{prompts.close}" if words else prompts.close


def generous(question: Question, cap: int, *, prompts: Prompts = PROMPTS) -> Flow:
    """`close` with half of the cap kept for the answer.

        0                        cap / 2                  cap
        |thought ................|</think>answer          |

    Use it where answers are long, such as code or proofs; for short answers it gives thinking too little room.
    """
    return close(question, cap, reserve=cap // 2, prompts=prompts)


_IN_THE_SAME_TURN = Facts(
    chain=("think",), then=("close",), may_be_empty=False, needs_nothink=False, divides="close"
)
FACTS = {"close": _IN_THE_SAME_TURN, "generous": _IN_THE_SAME_TURN}
