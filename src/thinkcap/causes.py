"""Why a run gave no answer, or an answer to be careful with, for people.

explain_no_answer(run, None)          # "the model stopped without giving one, after 11 of 384 tokens"
"""

from __future__ import annotations

from thinkcap.core.types import Run, Step


def explain_no_answer(run: Run, answer: str | None) -> str | None:
    """The cause, to be read after "no answer:"; None if the run gave an answer or at least a finished text."""
    if answer is not None:
        return None
    step = _final_step(run)
    if step is None:
        return "the policy made no call"
    if _has_text(text_of(run)) and not run.answer.guess and not _is_truncated(step):
        return None
    got, spent = step.completion, _spent(step)
    if not got.tokens:
        return f"no tokens were left for stage '{step.request.stage}' (the stages before it used {run.charged})"
    if got.ended:
        return f"the model stopped without giving one, after {spent}"
    if not _is_truncated(step):
        return f"generation stopped after {spent} (finish reason '{got.finish}')"
    if got.thinking:
        return f"the reasoning used up its budget and was truncated ({spent}); allow more, or use policy close"
    return f"the answer was truncated ({spent}); allow more tokens"


def text_of(run: Run) -> str | None:
    """The text that the policy settled on, else the last finished one in which it could find no answer."""
    unread = _unread(run)
    return unread[-1].completion.answer if unread else run.answer.text


def describe_caveat(run: Run, answer: str | None) -> str | None:
    """Why to be careful with an answer or a text that was given; None if there is no reason."""
    step = _final_step(run)
    if step is None or explain_no_answer(run, answer) is not None:
        return None
    if answer is None:
        return f"the text contains no {step.request.question.kind or 'answer'}"
    if run.answer.guess and not _has_text(step.completion.answer):
        return f"the answer is a guess from truncated reasoning ({_spent(step)})"
    return f"the answer was truncated ({_spent(step)})" if _is_truncated(step) else None


def _final_step(run: Run) -> Step | None:
    """The call that the text comes from, else the last one."""
    text = text_of(run)
    found = [s for s in run.steps if s.completion is run.answer.completion]
    found = found or [s for s in run.steps if text is not None and s.completion.answer == text]
    return found[-1] if found else next(reversed(run.steps), None)


def _unread(run: Run) -> list[Step]:
    """Passes with a finished text, of a policy that compares answers and could read none."""
    if run.answer.text is not None or run.answer.completion is not None:
        return []
    return [s for s in run.steps if s.completion.ended and _has_text(s.completion.answer)]


def _is_truncated(step: Step) -> bool:
    got = step.completion
    return not got.ended and (got.charged >= step.request.budget or got.finish == "length")


def _spent(step: Step) -> str:
    return f"{step.completion.charged} of {step.request.budget} tokens"


def _has_text(text: str | None) -> bool:
    return text is not None and bool(text.strip())
