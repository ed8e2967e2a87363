"""`Reply.no_answer` and `Reply.caveat`: the true cause for every way in which an answer can be missing."""

from __future__ import annotations

import pytest

from thinkcap.api import Reply, ask_async
from thinkcap.core.sync import wait
from thinkcap.engines.scripted import ScriptedEngine

ENDLESS = "\0"


def asked(script: str, policy: str, cap: int, kind: str | None = None) -> Reply:
    return wait(ask_async("2 + 3?", cap=cap, policy=policy, kind=kind, model=ScriptedEngine(lambda _: script)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("script", "policy", "cap", "kind", "cause"),
    [
        ("<think>2+3", "think", 40, None, "the model stopped without giving one, after 5 of 40 tokens"),
        ("<think>2+3</think>", "think", 40, None, "the model stopped without giving one, after 6 of 40 tokens"),
        ("<think>2+3</think> \n", "think", 40, None, "the model stopped without giving one, after 8 of 40 tokens"),
        ("", "nothink", 9, None, "the model stopped without giving one, after 1 of 9 tokens"),
        (
            f"<think>{'2' * 50}{ENDLESS}",
            "think",
            20,
            None,
            "the reasoning used up its budget and was truncated (20 of 20 tokens); "
            "allow more, or use policy close",
        ),
        ("<think>2+3</think>5", "think", 5, None, "the answer was truncated (5 of 5 tokens); allow more tokens"),
        (f"I {ENDLESS}", "nothink", 2, "number", "the answer was truncated (2 of 2 tokens); allow more tokens"),
        (f"I {ENDLESS}", "vote", 10, "number", "the answer was truncated (2 of 2 tokens); allow more tokens"),
        (
            f"I{'.' * 80}{ENDLESS}",
            "think[heuristic]",
            20,
            "number",
            "the answer was truncated (20 of 20 tokens); allow more tokens",
        ),
    ],
)
def test_no_answer_has_a_cause(script: str, policy: str, cap: int, kind: str | None, cause: str) -> None:
    reply = asked(script, policy, cap, kind)
    assert (reply.answer, reply.no_answer, reply.caveat) == (None, cause, None)


@pytest.mark.parametrize(
    ("script", "policy", "cap", "kind", "answer", "caveat"),
    [
        ("<think>2+3</think>5", "think", 40, None, "5", None),
        ("It is red.", "nothink", 40, "number", None, "the text contains no number"),
        ("It is red.", "vote", 200, "number", None, "the text contains no number"),
        (f"It is {'so ' * 20}", "nothink", 12, None, "It is so so", "the answer was truncated (12 of 12 tokens)"),
        (
            f"<think>2+3=5 {ENDLESS}",
            "think[heuristic]",
            7,
            "number",
            "5",
            "the answer is a guess from truncated reasoning (7 of 7 tokens)",
        ),
    ],
)
def test_a_text_is_given_with_its_caveat(
    script: str, policy: str, cap: int, kind: str | None, answer: str | None, caveat: str | None
) -> None:
    reply = asked(script, policy, cap, kind)
    assert (reply.answer, reply.no_answer, reply.caveat) == (answer, None, caveat)
    assert reply.text
