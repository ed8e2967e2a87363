"""What a policy is, declared beside it, so that nobody elsewhere keeps a list of policies' names.

A policy's file holds `FACTS`: for each of its functions the facts, or a function of the options where these
change them. A policy of your own needs none; what is not declared is taken with caution.

    FACTS = {"close": Facts(chain=("think",), then=("close",), may_be_empty=False, needs_nothink=False)}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Facts:
    chain: tuple[str, ...] = ()
    """Stages a cap cuts: the last of them that ran says whether a row `ended`. Not declared: every pass that
    begins a turn of its own."""
    then: tuple[str, ...] = ()
    """Stages that answer where the chain was cut."""
    may_be_empty: bool = True
    """The cap can leave it without a word of answer."""
    needs_kind: bool = False
    """It reads answers or compares them, and must know what kind of answer to look for."""
    needs_nothink: bool = True
    """It makes a pass without thinking, which a model that always thinks cannot."""
    answer_pass: bool = True
    """The answer can come from a pass that only answers, so a response format or tools can bind it."""
    one_call: bool = False
    """Never more than one request."""
    adaptive: bool = False
    """Later requests depend on the budget through an earlier answer: no row of it is `derived`."""
    splits: bool = False
    """A chain that was cut is answered in one pass of its own, without thinking: what is that pass worth?"""
    votes: bool = False
    """Several samples decide."""
    plain: str = ""
    """One call in this mode, read as it stands: a cut of that mode's trace."""
    divides: Literal["", "split", "close"] = ""
    """One thought and its answer share the tokens: `split` in two passes, `close` in one turn."""
    first_try: bool = False
    """A try without thinking comes first, and may settle the question."""
    coupled: bool = False
    """The thought itself is read for the answer: nothing is kept for an answer pass."""
    looks_again: bool = False
    """An answer that cannot be read is looked for once more."""
    refines: bool = False
    """It thinks in rounds, with the last answer in view."""
    falls_back_to: str = ""
    """The policy that is asked where its samples do not agree, unless the option `otherwise` names another."""
    control: Literal["", "always_cut", "without_trace", "other_trace", "thinking"] = ""
    """Run to be compared with, never to be advised: how its answer pass differs from that of `split`."""

    @property
    def cascade(self) -> bool:
        """A first try, then a thought with an answer pass of its own."""
        return self.first_try and self.splits


# Of the options the function sees the defaults too, and for a policy among them that policy's facts.
Declared = Mapping[str, Facts | Callable[[Mapping[str, Any]], Facts]]
