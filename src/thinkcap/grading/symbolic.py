"""What only a computer algebra system can settle: sums, integrals, limits. Runs in a worker program alone.

sympy can take for ever and eat all memory on a short line of text, so only `worker_program.py` calls this.
"""

from __future__ import annotations

from thinkcap.grading.kinds import Decision


def load() -> None:
    """Import the heavy part, so that its seconds are not charged to the first case."""
    import math_verify  # noqa: F401


def settle(gold: str, answer: str) -> Decision:
    """math-verify's judgement; UNREADABLE where it cannot parse one of them."""
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

    config = (LatexExtractionConfig(), ExprExtractionConfig())
    parsed = []
    for text in (gold, answer):
        marked = text if "$" in text or "\\boxed" in text else f"${text}$"
        found = parse(marked, extraction_config=config, parsing_timeout=None, raise_on_error=False)
        # What was read as nothing but a string is not understood, and strings were compared before.
        if not any(not isinstance(part, str) for part in found):
            return Decision.UNREADABLE
        parsed.append(found)
    right = verify(parsed[0], parsed[1], timeout_seconds=None, raise_on_error=False)
    return Decision.SAME if right else Decision.DIFFERENT
