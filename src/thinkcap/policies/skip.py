"""NoThinking (arXiv 2504.09858): the turn starts with a finished dummy thought, then comes an answer or a vote."""

from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import Flow, ask, ask_all
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Answer, Question, Request, Sampling
from thinkcap.policies import stages
from thinkcap.policies.facts import Facts
from thinkcap.policies.vote import classes

DONE = "Okay, I think I have finished thinking."


def skip(question: Question, cap: int, *, thought: str = DONE, prompts: Prompts = PROMPTS) -> Flow:
    """Start the model's turn with a finished dummy thought, and let it answer (NoThinking).

        0                                                        cap
        |<think>Okay, I think I have finished thinking.</think>answer |

    Use it for models without a switch of their own; where there is one, `nothink` costs a dozen tokens less.
    `thought` is what the model is made to have thought.
    """
    found = yield from ask(_request(question, cap, thought, prompts))
    return Answer(found.text if found.tokens else None, "answer", found)


def skip_vote(
    question: Question,
    cap: int,
    *,
    samples: int = 5,
    thought: str = DONE,
    temperature: float = 0.7,
    top_p: float = 0.95,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """Vote among several answers, each after a dummy thought (NoThinking with votes).

        0                                                        cap
        |<think>..</think>answer 1 |<think>..</think>answer 2 |..|   in parallel, an equal share each

    Use it as `vote`, for models without a switch of their own. It needs an answer kind.
    `samples` (5; authors up to 64; fewer where the cap is small) at `temperature` and `top_p`, each after the same
    `thought`.
    """
    if samples < 1:
        raise ConfigError(f"skip_vote needs at least one sample, not {samples}")
    drawn = Sampling(temperature, top_p)
    # A sample that its own dummy thought fills up is none.
    samples = max(1, min(samples, cap // (len(thought + prompts.close) + 1)))
    requests = [
        _request(question, cap // samples, thought, prompts, sampling=drawn, sample=i) for i in range(samples)
    ]
    found = yield from ask_all(requests)
    answers = [stages.read(question, c.text).answer if c.tokens else None for c in found]
    groups = yield from classes(answers, question)
    notes = {"votes": tuple(len(g) for g in groups), "samples": samples}
    if not groups:
        return Answer(None, "vote", notes=notes)
    best = found[max(groups, key=len)[0]]
    return Answer(best.text, "vote", best, notes=notes)


def _request(
    question: Question,
    budget: int,
    thought: str,
    prompts: Prompts,
    *,
    sampling: Sampling | None = None,
    sample: int = 0,
) -> Request:
    """Shown only where it is alone; a sample's words would run into another's."""
    return Request(
        question,
        "think",
        budget,
        "answer",
        "hidden" if sampling else "answer",
        prefill=(thought + prompts.close,),
        sampling=sampling,
        sample=sample,
        final=True,
        opens=True,
    )


FACTS = {
    "skip": Facts(chain=("answer",), then=("answer",), needs_nothink=False, one_call=True),
    "skip_vote": Facts(chain=("answer",), then=("answer",), needs_kind=True, needs_nothink=False, votes=True),
}
