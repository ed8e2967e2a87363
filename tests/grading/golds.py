"""Golds of our own in every shape that answer keys have, so that laws hold without any benchmark."""

from __future__ import annotations

from thinkcap.core.types import Kind

MATH = [
    "7",
    "-12",
    "1250",
    "0.375",
    "\\frac{3}{8}",
    "-\\frac{11}{4}",
    "2\\sqrt{7}",
    "\\frac{5\\sqrt{3}}{2}",
    "16\\pi",
    "3 + 2i",
    "x^2 - 5x + 6",
    "\\frac{x + 4}{x - 1}",
    "y = 3x - 2",
    "x \\ge 9",
    "[-4, 11)",
    "(-\\infty, 2) \\cup (6, \\infty)",
    "\\left( 3, \\frac{\\pi}{6} \\right)",
    "(8, -5, 1)",
    "2, 5, 9",
    "\\{1, 4, 16\\}",
    "4 \\pm \\sqrt{6}",
    "\\begin{pmatrix} 2 & 0 \\\\ -1 & 5 \\end{pmatrix}",
    "\\begin{pmatrix} 1 \\\\ -3 \\\\ 2 \\end{pmatrix}",
    "75^\\circ",
    "40\\%",
    "\\$17.50",
    "36 \\text{ cm}^2",
    "312_5",
    "\\text{hyperbola}",
    "\\text{(D)}",
    "\\binom{9}{4}",
    "5!",
    "2^{15}",
    "\\log_2 32",
    "\\tan 60^\\circ",
    "5:8",
]
NUMBER = ["18", "3", "70,000", "1,250,000", "0", "-4", "540", "64"]
LABEL = ["(A)", "(B)", "(E)", "True", "False", "Yes", "No"]

GOLDS: list[tuple[Kind, str]] = [
    *(("math", gold) for gold in MATH),
    *(("number", gold) for gold in NUMBER),
    *(("label", gold) for gold in LABEL),
]  # type: ignore[list-item,unused-ignore]
