"""Budget forcing with extension (s1, arXiv 2501.19393): a thought that ends early is told to wait, and goes on."""

from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import Flow, ask
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Answer, Question, Request, Span
from thinkcap.policies.facts import Facts


def wait(
    question: Question,
    cap: int,
    *,
    times: int = 1,
    word: str = "Wait",
    answer: int | None = None,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """When the thought ends early, say "Wait" and let it go on (s1's budget forcing, extended).

        0                                                cap - answer   cap
        |thought ..........Wait|thought ................|</think>answer |

    The mark that ends the thought is removed, `word` follows, and the model thinks on in the same turn.
    Use it where the model stops too early and tokens are left; it may also talk the model out of a right answer.
    At most `times` extensions (1; the authors tried 1 to 6) by `word`, written as it is; `answer` tokens
    are kept for the answer (an eighth of the cap, at least 32 if that fits).
    """
    if times < 0:
        raise ConfigError(f"wait needs 0 or more extensions, not {times}")
    kept = min(max(32, cap // 8), max(1, cap // 2)) if answer is None else answer
    turn: tuple[Span | str, ...] = ()
    paid = spent = extended = 0
    while True:
        room = cap - kept - spent
        # The last thought runs on into its own answer.
        last = extended == times
        request = Request(
            question, "think", room, "think", "answer", kept, prefill=turn, paid=paid, thought_only=not last
        )
        piece = yield from ask(request)
        spent += piece.charged
        paid += piece.forced
        turn = (*turn, piece.span()) if piece.tokens else turn
        if last or piece.finish != "stop" or piece.ended or cap - kept - spent <= len(word):
            break
        turn, extended = (*turn, word), extended + 1
    notes = {"extended": extended}
    if piece.ended:
        return Answer(piece.answer, "think", piece, notes=notes)
    # Where the engine could not stop at the mark, the answer is under way already.
    closing = () if piece.answer is not None else (prompts.close,)
    left = cap - spent
    final = Request(
        question, "think", left, "close", "answer", prefill=(*turn, *closing), paid=paid, final=bool(closing)
    )
    rest = yield from ask(final)
    return Answer((piece.answer or "") + rest.text, "close", rest, notes=notes)


FACTS = {"wait": Facts(chain=("think",), then=("close",), may_be_empty=False, needs_nothink=False)}
