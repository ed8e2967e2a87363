"""Leave it to the server to end the thought: vLLM's and llama.cpp's own budgets, as an arm beside `close`."""

from thinkcap.core.flow import Flow, ask
from thinkcap.core.types import Answer, Question, Request
from thinkcap.policies.facts import Facts


def native(question: Question, cap: int, *, reserve: int | None = None) -> Flow:
    """Think as long as the server's own budget for thoughts allows, and answer in the same turn.

        0                                 cap - reserve   cap
        |thought .........................|</think>answer |

    vLLM takes the budget as `thinking_token_budget`, llama.cpp's server as `reasoning_budget_tokens`. Both write
    the closing mark themselves. It is one request, and nothing is read twice.
    Use it beside `close` to see what the server's own way is worth. Other servers are refused by name; so is one
    that lets the thought run on. `reserve` is what the thought leaves over (an eighth of the cap, at least 32 if
    that fits).
    """
    if reserve is None:
        reserve = min(max(32, cap // 8), max(1, cap // 2))
    asked = Request(question, "think", cap, "think", "answer", held=max(0, cap - reserve), final=True)
    whole = yield from ask(asked)
    return Answer(whole.answer, stage="think", completion=whole)


FACTS = {"native": Facts(chain=("think",), needs_nothink=False, answer_pass=False, one_call=True)}
