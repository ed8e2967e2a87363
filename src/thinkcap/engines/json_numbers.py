"""Numbers between bounds, as forms of text: digit by digit, without leading zeros, never endless.

>>> from thinkcap.engines.grammar import gbnf
>>> gbnf(integers(0, 99))
'root ::= [0-9] | [1-9] [0-9]'
"""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from math import ceil, floor

from thinkcap.engines.grammar import EMPTY, NEVER, Chars, Exactly, Form, Seq, Times, either, maybe

_DIGITS = 15
"""Of a whole number without bounds: more are not exact in JavaScript."""
_DECIMALS = 9
_FEWEST_DECIMALS = 2
_DIGIT = Chars("0-9")


@lru_cache(maxsize=256)
def integers(low: float | None, high: float | None, open_low: bool = False, open_high: bool = False) -> Form:
    """Whole numbers from `low` to `high`; an open end is itself left out."""
    least = None if low is None else ceil(_exact(low))
    most = None if high is None else floor(_exact(high))
    if least is not None and open_low and least == _exact(low or 0):
        least += 1
    if most is not None and open_high and most == _exact(high or 0):
        most -= 1
    far = 10**_DIGITS - 1
    if least is None:
        least = -far if most is None else min(-far, most - far)
    if most is None:
        most = max(far, least + far)
    return either((_natural(max(0, least), most), Seq((Exactly("-"), _natural(max(1, -most), -least)))))


@lru_cache(maxsize=256)
def numbers(low: float | None, high: float | None, open_low: bool = False, open_high: bool = False) -> Form:
    """Numbers from `low` to `high`, with a few decimals; an open end is itself left out."""
    if low is None and high is None:
        whole = integers(None, None)
        return Seq((whole, maybe(Seq((Exactly("."), Times(_DIGIT, 1, _DECIMALS))))))
    places = max(_FEWEST_DECIMALS, *(_decimals(bound) for bound in (low, high)))
    unit = 10**places
    least = None if low is None else ceil(_exact(low) * unit)
    most = None if high is None else floor(_exact(high) * unit)
    if least is not None and open_low and least == _exact(low or 0) * unit:
        least += 1
    if most is not None and open_high and most == _exact(high or 0) * unit:
        most -= 1
    far = 10 ** (_DIGITS - 1)
    if least is None:
        least = min(-far, (most or 0) - far)
    if most is None:
        most = max(far, least + far)
    return either(
        (_decimal(max(0, least), most, places), Seq((Exactly("-"), _decimal(max(1, -most), -least, places))))
    )


def _decimal(least: int, most: int, places: int) -> Form:
    """From `least` to `most`, neither below 0, both counted in the last decimal place."""
    if least > most:
        return NEVER
    unit = 10**places
    whole, part = divmod(least, unit)
    last, rest = divmod(most, unit)
    if part and whole == last:
        return Seq((Exactly(f"{whole}."), _between(f"{part:0{places}}", f"{rest:0{places}}")))
    first = whole + bool(part)
    return either(
        (
            Seq((_natural(first, last - 1), maybe(Seq((Exactly("."), Times(_DIGIT, 1, places)))))),
            Seq((Exactly(str(last)), maybe(Seq((Exactly("."), _between("0" * places, f"{rest:0{places}}")))))),
            Seq((Exactly(f"{whole}."), _between(f"{part:0{places}}", "9" * places))) if part else NEVER,
        )
    )


def _natural(least: int, most: int) -> Form:
    """Whole numbers that are not negative."""
    options: list[Form] = []
    full: list[int] = []
    for length in range(len(str(max(0, least))), len(str(max(0, most))) + 1):
        first, last = (0 if length == 1 else 10 ** (length - 1)), 10**length - 1
        if max(least, first) > min(most, last):
            continue
        if length > 1 and least <= first and last <= most:
            full.append(length)
        else:
            options.append(_between(str(max(least, first)), str(min(most, last))))
    if full:
        options.append(Seq((Chars("1-9"), Times(_DIGIT, full[0] - 1, full[-1] - 1))))
    return either(options)


def _between(least: str, most: str) -> Form:
    """Digits of one length, from `least` to `most`."""
    length = len(least)
    if not length:
        return EMPTY
    if set(least) == {"0"} and set(most) == {"9"}:
        return _DIGIT if length == 1 else Times(_DIGIT, length, length)
    if least[0] == most[0]:
        return Seq((Exactly(least[0]), _between(least[1:], most[1:])))
    low, high = int(least[0]), int(most[0])
    options: list[Form] = []
    if least[1:].strip("0"):
        options.append(Seq((Exactly(least[0]), _between(least[1:], "9" * (length - 1)))))
        low += 1
    if most[1:].strip("9"):
        options.append(Seq((Exactly(most[0]), _between("0" * (length - 1), most[1:]))))
        high -= 1
    if low <= high:
        digit = Exactly(str(low)) if low == high else Chars(f"{low}-{high}")
        options.append(Seq((digit, Times(_DIGIT, length - 1, length - 1))) if length > 1 else digit)
    return either(options)


def _exact(value: float) -> Decimal:
    return Decimal(repr(value))


def _decimals(value: float | None) -> int:
    exponent = _exact(value or 0).normalize().as_tuple().exponent
    return min(_DECIMALS, max(0, -exponent)) if isinstance(exponent, int) else 0
