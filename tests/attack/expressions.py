"""Every regular expression of the product, found in its source, with the texts that would make it slow.

    for found in expressions():
        found.where, found.pattern, found.uses         # 'engines/masking.py: _BEARER', compiled, {'sub'}
        pumps(found.pattern)                           # texts whose middle can be repeated

Slow expressions are slow on something they nearly match: for each repetition in an expression, a text that leads
up to it, what it repeats, and an end that does not fit.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

SOURCES = Path(__file__).parents[2] / "src" / "thinkcap"
_CALLS = {"compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
_STOPS = ("\x01", " ")


@dataclass(frozen=True)
class Expression:
    where: str
    pattern: re.Pattern[str] | None
    """None where it is made of what is known only when it runs."""
    uses: frozenset[str]
    """`search` and its kin try it at every place of a text, `match` and `fullmatch` at the beginning only."""


@cache
def expressions() -> tuple[Expression, ...]:
    return tuple(_found())


def _found() -> Iterator[Expression]:
    trees = {path: ast.parse(path.read_text()) for path in sorted(SOURCES.rglob("*.py"))}
    everywhere = _methods(trees.values())
    for path, tree in trees.items():
        if not any(isinstance(node, ast.Import) and node.names[0].name == "re" for node in ast.walk(tree)):
            continue
        here = _methods([tree])
        # One of a table is used by a name that is no constant.
        lower = {m for name, many in here.items() if name.islower() and name != "re" for m in many}
        unnamed = lower - {"split"} or {"search"}  # `split` is a text's own, too
        names = {
            id(node.value): target.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in ast.walk(tree):
            if not (isinstance(call, ast.Call) and ast.unparse(call.func) in {f"re.{name}" for name in _CALLS}):
                continue
            method = str(ast.unparse(call.func)).removeprefix("re.")
            name = names.get(id(call), "")
            known = here if name.startswith("_") else everywhere
            used = known.get(name, unnamed) if method == "compile" else {method}
            where = f"{path.relative_to(SOURCES)}: {name or ast.unparse(call.args[0])[:60]}"
            yield Expression(where, _compiled(path, call, method), frozenset(used - {"compile"}))


def _methods(trees: Any) -> dict[str, set[str]]:
    """How each compiled expression is used, by its name."""
    found: dict[str, set[str]] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _CALLS:
                found.setdefault(node.value.id, set()).add(node.attr)
    return found


def _compiled(path: Path, call: ast.Call, method: str) -> re.Pattern[str] | None:
    inside = path.relative_to(SOURCES).with_suffix("")
    module = importlib.import_module(".".join(("thinkcap", *inside.parts)).removesuffix(".__init__"))
    flags = [ast.unparse(k.value) for k in call.keywords if k.arg == "flags"]
    if method == "compile" and len(call.args) > 1:
        flags = [ast.unparse(call.args[1])]
    try:
        source = eval(ast.unparse(call.args[0]), vars(module))
        return re.compile(source, eval(flags[0], vars(module)) if flags else 0)
    except NameError:
        return None


def pumps(pattern: re.Pattern[str]) -> set[tuple[str, str, str]]:
    """Head, what to repeat, end."""
    found: set[tuple[str, str, str]] = set()

    def walk(parsed: Any, before: str) -> str:
        """An example of what is parsed; on the way every repetition gives pumps."""
        text = before
        for kind, value in parsed:
            name = str(kind)
            if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
                low, high, body = value
                unit = walk(body, text)[len(text) :] or "a"
                if high > 8:
                    found.update((text, unit, stop) for stop in _STOPS)
                    found.update(("", unit, stop) for stop in _STOPS[:2])
                text += unit * max(1, min(low, 50))
            elif name == "SUBPATTERN":
                text = walk(value[3], text)
            elif name == "ATOMIC_GROUP":
                text = walk(value, text)
            elif name == "BRANCH":
                text = max((walk(branch, text) for branch in value[1]), key=len)
            elif name in ("ASSERT", "ASSERT_NOT"):
                direction, inside = value
                seen = walk(inside, text)
                text = seen if direction < 0 and name == "ASSERT" else text
            else:
                text += _example(name, value)
        return text

    whole = walk(parser.parse(pattern.pattern, pattern.flags), "")
    found.update(("", whole or "a", stop) for stop in _STOPS[:2])
    return found


def _example(name: str, value: Any) -> str:
    if name == "LITERAL":
        return chr(value)
    if name == "NOT_LITERAL":
        return "a" if value != ord("a") else "b"
    if name == "ANY":
        return "a"
    if name == "IN":
        negated = str(value[0][0]) == "NEGATE"
        inside = re.compile("[" + "".join(_of_class(str(k), v) for k, v in value if str(k) != "NEGATE") + "]")
        return next((c for c in "a1 A,.-x\n(" if bool(inside.match(c)) != negated), _first(value))
    return ""


def _of_class(name: str, value: Any) -> str:
    if name == "LITERAL":
        return re.escape(chr(value))
    if name == "RANGE":
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    categories = {
        "DIGIT": r"\d",
        "NOT_DIGIT": r"\D",
        "SPACE": r"\s",
        "NOT_SPACE": r"\S",
        "WORD": r"\w",
        "NOT_WORD": r"\W",
    }
    return categories[str(value).removeprefix("CATEGORY_")]


def _first(value: Any) -> str:
    for kind, inner in value:
        if str(kind) in ("LITERAL", "RANGE"):
            return chr(inner if str(kind) == "LITERAL" else inner[0])
    return "a"
