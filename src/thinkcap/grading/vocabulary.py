"""Which letters are words: units, functions and connectors, so that `cm` is not c times m and `Evelyn` is a name.

>>> [unit("centimetres"), unit("hrs"), is_word("xyz"), is_word("Evelyn"), is_word("ABCD")]
['cm', 'hour', False, True, False]
"""

from __future__ import annotations

_UNIT_NAMES = """
mm millimeter millimeters millimetre millimetres
cm centimeter centimeters centimetre centimetres
km kms kilometer kilometers kilometre kilometres
meter meters metre metres
inch inches
feet foot ft
yard yards
mile miles mi
gram grams
kg kgs kilogram kilograms
mg milligram milligrams
pound pounds lb lbs
ounce ounces oz
ton tons tonne tonnes
liter liters litre litres
ml milliliter milliliters millilitre millilitres
gallon gallons
second seconds sec secs
minute minutes mins
hour hours hr hrs
day days
week weeks
month months
year years yr yrs
dollar dollars usd
cent cents pence penny pennies
euro euros
mph
kmh kph
degree degrees deg
radian radians rad
unit units
square sq
cubic cu
percent percentage pct
people person persons
way ways
time times
point points
piece pieces item items
"""

_UNITS = {name: line.split()[0] for line in _UNIT_NAMES.split("\n") for name in line.split()}

COMPARABLE = frozenset(
    {
        *(
            "mm",
            "cm",
            "km",
            "meter",
            "inch",
            "feet",
            "yard",
            "mile",
            "gram",
            "kg",
            "mg",
            "pound",
            "ounce",
            "ton",
            "liter",
        ),
        *(
            "ml",
            "gallon",
            "second",
            "minute",
            "hour",
            "day",
            "week",
            "month",
            "year",
            "dollar",
            "cent",
            "mph",
            "degree",
        ),
        "radian",
    }
)
"""Units that exclude each other: 5 minutes is not 5 hours, while 5 apples may well be 5 pieces."""

FUNCTIONS = frozenset(
    [
        "sin",
        "cos",
        "tan",
        "cot",
        "sec",
        "csc",
        "arcsin",
        "arccos",
        "arctan",
        "arccot",
        "arcsec",
        "arccsc",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "coth",
        "sech",
        "csch",
        "ln",
        "log",
        "lg",
        "exp",
        "sqrt",
        "cbrt",
        "abs",
        "floor",
        "ceil",
        "gcd",
        "lcm",
        "max",
        "min",
        "det",
        "Re",
        "Im",
        "binom",
        "frac",
    ]
)
CONSTANTS = frozenset({"pi", "infinity", "inf", "oo", "infty", "tau", "theta", "alpha", "beta", "gamma", "phi"})
PYTHON = frozenset({"Matrix", "array", "Tuple", "FiniteSet"})
CONNECTORS = frozenset({"and", "or"})
VERBAL = frozenset(
    {"per", "of", "in", "a", "an", "the", "approximately", "about", "roughly", "exactly", "only", "total"}
)


SHORT_WORDS = frozenset({"is", "it", "so", "we", "he", "to", "at", "as", "if", "no", "on", "be", "do"})
"""Too short to tell from a product of variables by their letters, but no one writes `is` for i times s."""


def unit(word: str) -> str | None:
    """The unit's own name, or None where the word is no unit we know."""
    return _UNITS.get(word.lower())


def is_word(letters: str) -> bool:
    """Whether a run of letters is a word of a language rather than a product of variables."""
    if not letters.isascii():
        return len(letters) > 1
    if len(letters) < 3 or letters in FUNCTIONS or letters in CONSTANTS or letters in PYTHON:
        return False
    if letters.isupper() and len(letters) <= 5:
        return False  # a segment or polygon: ABCD
    lower = letters.lower()
    if lower == "".join(chr(ord(lower[0]) + i) for i in range(len(lower))):
        return False  # abc, xyz
    return any(v in lower for v in "aeiouy") or len(letters) > 5
