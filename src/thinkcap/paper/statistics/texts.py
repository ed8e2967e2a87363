"""Names for records that store the text: what a plain extractor finds in it, and whether cuts are prefixes."""

from __future__ import annotations

import re

from thinkcap.diagnose.pairs import matched
from thinkcap.logs import Arm
from thinkcap.paper.statistics.values import Statistics

_FINAL = re.compile(r"final answer\s*+:?\**+\s*+:?\s*+\$?\s*+(-?[\d,]+(?:\.\d+)?)", re.IGNORECASE)
_HASHES = re.compile(r"####\s*+\$?\s*+(-?[\d,]+(?:\.\d+)?)")
_BRACES = re.compile(r"\\boxed\{|[{}]")
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def plain_extraction(text: str) -> tuple[str, str | None]:
    """(level, answer): boxed, ####, `Final answer:`, last number; after </think> where something follows it.

    Kept apart from the graders on purpose: this measures how an answer is stated, by the four oldest rules.
    """
    after = text.rpartition("</think>")[2] if "</think>" in text else ""
    text = after if after.strip() else text
    if (inside := _last_box(text)) is not None:
        return "boxed", inside
    for level, pattern in (("hashes", _HASHES), ("final", _FINAL)):
        if marks := pattern.findall(text):
            return level, marks[-1]
    numbers = _NUMBER.findall(text)
    return ("last_number", numbers[-1]) if numbers else ("none", None)


def _last_box(text: str) -> str | None:
    """What the last box that closes holds."""
    opened: list[re.Match[str]] = []
    last: tuple[int, int] | None = None
    for brace in _BRACES.finditer(text):
        if brace.group() != "}":
            opened.append(brace)
        elif opened and (start := opened.pop()).group() != "{" and (last is None or start.end() > last[0]):
            last = start.end(), brace.start()
    return text[last[0] : last[1]].strip() if last else None


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text.replace(",", "").replace("$", "").rstrip("."))
    except ValueError:
        return None


def text_table(arm: Arm) -> Statistics:
    levels: dict[str, list[int]] = {}
    for text, gold in zip(arm.extra["text"], arm.extra["gold"], strict=True):
        level, answer = plain_extraction(text)
        entry = levels.setdefault(level, [0, 0])
        entry[0] += _number(answer) is not None and _number(answer) == _number(gold)
        entry[1] += 1
    head = f"entropy.b{arm.budget}"
    return {
        f"{head}.correct_stop_n": [int(arm.right.sum()), int(arm.ends.sum()), arm.n],
        f"{head}.own_extraction_by_level": dict(sorted(levels.items())),
        f"{head}.has_close_think": sum(1 for t in arm.extra["text"] if "</think>" in t),
    }


def prefix_table(short: Arm, long: Arm) -> Statistics:
    one, two, _ = matched(short, long)
    same = sum(1 for a, b in zip(one.extra["text"], two.extra["text"], strict=True) if b.startswith(a))
    return {f"entropy.text_prefix_{short.budget}_of_{long.budget}": [same, one.n]}


def same_lengths(text: Arm, other: Arm) -> int:
    one, two, _ = matched(text, other)
    return int((one.lengths == two.lengths).sum())
