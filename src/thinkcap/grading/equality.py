"""Our own rules for whether an answer means the gold answer, behind grading, votes and convergence.

    >>> decide("\\\\frac{1}{2}", "0.5", "math"), decide("(B)", "b", "label")
    (<Decision.SAME: 'same'>, <Decision.SAME: 'same'>)

Cheap rules come first (the same text, the same number), then our own reading of formulas, which is bounded in time
and size; what that cannot read is left to the algebra system.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from thinkcap.grading import labels, text
from thinkcap.grading.extraction import extract
from thinkcap.grading.kinds import Decision, KindName
from thinkcap.grading.latex_cleanup import LONGEST, is_plain, plain_words, squeezed
from thinkcap.grading.prose import NUMBER, is_bare, words
from thinkcap.grading.vocabulary import is_word

if TYPE_CHECKING:
    from thinkcap.grading.shapes import Shape


_SHORT = 300


def quick(gold: str, answer: str, kind: KindName) -> Decision:
    """The cheap rules alone: the same text, plain numbers, labels. UNSURE means that more is needed."""
    if not answer.strip():
        return Decision.UNREADABLE
    if gold.strip() == answer.strip():
        return Decision.SAME
    if kind == "label":
        return _decide_label(gold, answer)
    if kind == "text":
        return text.decide(gold, answer)
    ours = plain_number(gold)
    theirs = plain_number(answer) if ours is not None else None
    if ours is not None and theirs is not None and (kind == "number" or ours == theirs):
        return _decision(ours == theirs)
    return Decision.UNSURE


def decide(gold: str, answer: str | None, kind: KindName) -> Decision:
    """Our own rules: quick ones first, then formulas. Bounded, and honest about what they cannot tell."""
    if answer is None or not isinstance(answer, str):
        return Decision.UNREADABLE
    decision = quick(gold, answer, kind)
    return _decide_math(gold, answer, kind) if decision is Decision.UNSURE and kind != "text" else decision


def _decision(same: bool) -> Decision:
    return Decision.SAME if same else Decision.DIFFERENT


def _decide_label(gold: str, answer: str) -> Decision:
    ours = labels.label(gold)
    if ours is None:
        return _decision(plain_words(gold) == plain_words(answer))
    stated = extract(answer, "label").answer
    if stated is None and len(answer) <= _SHORT:
        stated = answer  # no marker, but a short text may still be read for its label
    theirs = labels.label(stated) if stated else None
    return Decision.UNREADABLE if theirs is None else _decision(ours == theirs)


_PLAIN = re.compile(
    r"\s*+\\?[$€£]?\s*+([-+]?)\s*+\\?[$€£]?\s*+(\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+(?:\.\d*)?|\.\d+)\s*+\\?[$€£%]?\s*+\.?\s*+"
)


@lru_cache(maxsize=4096)
def plain_number(text: str) -> Fraction | None:
    """A number in digits, with or without separators, currency and percent sign; None for anything else."""
    if len(text) > 60:
        return None
    found = _PLAIN.fullmatch(text)
    if not found:
        return None
    return Fraction(found.group(1) + found.group(2).replace(",", "").rstrip(".") or "0")


def _decide_math(gold: str, answer: str, kind: KindName) -> Decision:
    if squeezed(gold) == squeezed(answer) and len(gold) < LONGEST > len(answer):
        return Decision.SAME
    ours, theirs = final(gold, kind), final(answer, kind)
    if (option := _option(ours or gold, theirs or answer)) is not None:
        return option
    if ours is None or theirs is None:
        if max(len(gold), len(answer)) > LONGEST:
            return Decision.UNREADABLE
        same = plain_words(ours or gold) == plain_words(theirs or answer) != ""
        return Decision.SAME if same else Decision.DIFFERENT if ours is None else Decision.UNREADABLE
    if max(len(ours), len(theirs)) > LONGEST:
        return Decision.UNREADABLE
    if squeezed(ours) == squeezed(theirs):
        return Decision.SAME
    return _decide_shapes(ours, theirs)


def _option(gold: str, answer: str) -> Decision | None:
    """Option letters: `(C)`, `C`, `\\text{C}`, `C. because ...`. A plain `c` against `C` is a variable."""
    ours, theirs = labels.bare(gold), labels.bare(answer)
    if ours is not None and theirs is not None:
        small = {text for text in (labels.plain(gold), labels.plain(answer)) if len(text) == 1}
        return _decision(ours == theirs and len(small) < 2)
    if ours is not None and (labels.plain(gold).isupper() or len(ours) > 1):
        theirs = labels.leading(answer) or (labels.label(answer) if words(answer[:LONGEST]) else None)
    elif theirs is not None and labels.plain(answer).isupper() and words(gold):
        ours = labels.label(gold)
    return None if ours is None or theirs is None else _decision(ours == theirs)


def _decide_shapes(gold: str, answer: str) -> Decision:
    from thinkcap.grading.compare import same
    from thinkcap.grading.evaluate import TooLarge
    from thinkcap.grading.tokens import Unparsed

    if is_plain(gold) and is_plain(answer) and plain_words(gold) == plain_words(answer):
        return Decision.SAME
    ours, theirs = readings(gold), readings(answer)
    if not ours or not theirs:
        # Words against a formula are simply different; two formulas, one of them beyond us, are not.
        beyond = [t for t, r in ((gold, ours), (answer, theirs)) if not r]
        return Decision.DIFFERENT if any(_is_sentence(t) for t in beyond) else Decision.UNSURE
    too_large = False
    for mine in ours:
        for yours in theirs:
            try:
                if same(mine, yours):
                    return Decision.SAME
            except TooLarge:
                too_large = True
            except (Unparsed, RecursionError, ArithmeticError, TypeError, ValueError):
                # A formula stranger than our rules foresee (a matrix in an interval's end): others may read it.
                return Decision.UNSURE
    return Decision.UNREADABLE if too_large else Decision.DIFFERENT


def _is_sentence(text: str) -> bool:
    """Words without a sign of mathematics, or too many of them for one."""
    spoken = [word for word in plain_words(text).split() if is_word(word)]
    return len(spoken) > 2 or ("\\" not in text and not re.search(r"\d", text))


_COMMA_THOUSANDS = re.compile(r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,])")
_SPACE_THOUSANDS = re.compile(r"(?<![\d ])\d{1,3}(?: \d{3})+(?![\d ])")
_COMMA_DECIMAL = re.compile(
    r"(?<![\d,.])(?:\d{1,3}(?:[. ]\d{3}){1,12},\d+|\d+,(?!\d{3}(?!\d))\d+|0,\d+)(?![\d,.])"
)
_PYTHON_UNIT = re.compile(r"(?<![A-Za-z\\])I(?![A-Za-z])")


@lru_cache(maxsize=4096)
def readings(text: str) -> tuple[Shape, ...]:
    """What a short text may mean: commas separate thousands, decimals or items, whichever can be."""
    from thinkcap.grading.shapes import shape
    from thinkcap.grading.tokens import Unparsed, tokens

    variants = []
    if _SPACE_THOUSANDS.search(text):
        variants.append(_SPACE_THOUSANDS.sub(lambda m: m.group().replace(" ", ""), text))
    if not re.search(r"[(\[]|\\\{", text):
        if _COMMA_THOUSANDS.search(text):
            variants.append(_COMMA_THOUSANDS.sub(lambda m: m.group().replace(",", ""), text))
        if _COMMA_DECIMAL.search(text):
            variants.append(_COMMA_DECIMAL.sub(_with_point, text))
    if _PYTHON_UNIT.search(text) and "*" in text:
        variants.append(_PYTHON_UNIT.sub("i", text))
    out = []
    for variant in [*variants, text]:
        try:
            out.append(shape(tokens(variant)))
        except (Unparsed, RecursionError):
            continue
    return tuple(out)


def _with_point(found: re.Match[str]) -> str:
    whole, _, decimals = found.group().partition(",")
    return whole.replace(".", "").replace(" ", "") + "." + decimals


_STATES = re.compile(r"boxed|####|<answer>|answer", re.IGNORECASE)


def final(text: str, kind: KindName = "math") -> str | None:
    """The answer in a text, or the text itself where it is nothing else; None where it is words without one."""
    text = text.strip()
    if _STATES.search(text):
        found = extract(text, "number" if kind == "number" else "math")
        return text if found.answer is None else found.answer
    if is_bare(text) or len(text) == 1:
        return text
    if len(text) <= LONGEST and len(words(text)) <= 1 and not NUMBER.search(text):
        return text
    return extract(text, kind if kind == "number" else "math").answer
