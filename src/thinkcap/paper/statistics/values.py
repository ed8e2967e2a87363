"""How values are written in the table: counts as they are, shares to six decimals, small p-values to six digits.

>>> rounded(2 / 3), p_value(1.23456789e-12)
(0.666667, 1.23457e-12)
"""

from __future__ import annotations

from typing import Any

from thinkcap.statistics.paired import McNemar
from thinkcap.statistics.precision import wilson

Statistics = dict[str, Any]


def rounded(value: float | None, digits: int = 6) -> float | None:
    return None if value is None else round(float(value), digits)


def percent(value: float | None, digits: int = 6) -> float | None:
    return None if value is None else round(100 * float(value), digits)


def p_value(value: float) -> float:
    """Six decimals while they say something, six digits below a thousandth."""
    return round(value, 6) if value >= 1e-3 else float(f"{value:.6g}")


def test(result: McNemar) -> list[float]:
    """[only first, only second, exact two-sided p]"""
    return [result.only_first, result.only_second, p_value(result.p)]


def interval(k: int, n: int) -> list[float | None]:
    found = wilson(k, n)
    return [rounded(found.low), rounded(found.high)]


def counted(values: Any) -> dict[str, int]:
    """How often each value occurs, keys as text in sorted order."""
    table: dict[str, int] = {}
    for value in values:
        table[str(value)] = table.get(str(value), 0) + 1
    return dict(sorted(table.items()))
