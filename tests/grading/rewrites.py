"""Ways of writing the same answer differently; every one of them keeps its meaning."""

from __future__ import annotations

import re
from collections.abc import Callable

from thinkcap.core.types import Kind

Rewrite = Callable[[str], str]


def _thousands(gold: str) -> str:
    return re.sub(r"(?<![\d.,_{])\d{4,}(?![\d_])", lambda m: f"{int(m.group()):,}".replace(",", ",\\!"), gold)


def _spaced(gold: str) -> str:
    return re.sub(r"(?<=[\w})])([+=])(?=[\w\\({])", r" \1 ", gold)


def _unicode_minus(gold: str) -> str:
    return gold if "text" in gold or "begin" in gold else gold.replace("-", "−")


def _without_left(gold: str) -> str:
    return gold.replace("\\left", "").replace("\\right", "")


MATH: dict[str, Rewrite] = {
    "dollars": lambda g: f"${g}$",
    "boxed in a sentence": lambda g: f"Adding up, we arrive at $\\boxed{{{g}}}$.",
    "large fractions": lambda g: g.replace("\\frac", "\\dfrac"),
    "without \\left": _without_left,
    "doubled backslashes": lambda g: g.replace("\\", "\\\\"),
    "full stop": lambda g: g + ".",
    "final answer sentence": lambda g: f"Final Answer: The final answer is ${g}$. I hope it is correct.",
    "after a thought": lambda g: f"<think>Is it 17? No.</think>So it is \\boxed{{{g}}}",
    "more space": _spaced,
    "unicode minus": _unicode_minus,
    "displayed": lambda g: f"\\[\n{g}\n\\]",
    "thin spaces": lambda g: g.replace(" ", "\\, ") if "\\text" not in g and "\\mbox" not in g else g,
    "thousands": _thousands,
    "answer tag": lambda g: f"<answer>{g}</answer>",
}

NUMBER: dict[str, Rewrite] = {
    "decimals": lambda g: g + ".00",
    "currency": lambda g: "$" + g,
    "hashes": lambda g: f"3 + 4 = 7 and so on\n#### {g}",
    "separators": lambda g: f"{int(g.replace(',', '')):,}",
    "no separators": lambda g: g.replace(",", ""),
    "sentence": lambda g: f"The answer is {g}.",
    "boxed": lambda g: f"so we get \\boxed{{{g}}} in 3 steps",
    "unit": lambda g: f"{g} dollars",
    "after a thought": lambda g: f"<think>maybe 17</think>\n\nIn the end it is {g}.",
    "A:": lambda g: f"12 / 3 = 4\nA: {g}",
    "equation": lambda g: f"Answer: 2 + x = {g}",
    "plus": lambda g: g if g.startswith("-") else "+" + g,
}

LABEL: dict[str, Rewrite] = {
    "bare": lambda g: g.strip("()"),
    "small": lambda g: g.lower(),
    "sentence": lambda g: f"So the answer is {g}.",
    "final answer": lambda g: f"Final answer: {g}",
    "bold": lambda g: f"**{g}**",
    "boxed": lambda g: f"\\boxed{{{g}}}",
    "boxed text": lambda g: f"\\boxed{{\\text{{{g}}}}}",
    "tag": lambda g: f"<answer>{g}</answer>",
    "after a thought": lambda g: f"<think>Maybe (A), or is it No?</think>\nThe answer is {g}.",
    "hashes": lambda g: f"#### {g}",
    "dot": lambda g: g + ".",
}

BY_KIND: dict[Kind, dict[str, Rewrite]] = {"math": MATH, "number": NUMBER, "label": LABEL}
