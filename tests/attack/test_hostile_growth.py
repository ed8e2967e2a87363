"""Doubling what a stranger sends at most about doubles the work: parsers of requests, streams and templates."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import jinja2
import pytest
from expressions import Expression, expressions, pumps

from thinkcap.allocate.features import features
from thinkcap.core.errors import ThinkcapError
from thinkcap.core.thinking import parted
from thinkcap.dialects.rendering import Template
from thinkcap.engines.grammar import gbnf
from thinkcap.engines.json_schema import schema_form
from thinkcap.engines.masking import Mask, sentence
from thinkcap.engines.sse import EventReader
from thinkcap.logs.memory import parse_size
from thinkcap.logs.models import canonical
from thinkcap.logs.modes import read_name, split_label
from thinkcap.policies.registry import parse

UNITS = (" ", "(", ")", "a=", "a(", ",", '"', "\\", "<", "<think>", "</", "a:", "://", "a://", "key", "bearer ")
UNITS += ("authorization: ", "{{", "{%", "{#", "data:", "\n", "-", "_", "/", "[", "{")
RATIO = 3.2
"""Twice the text, with room for noise; a square would give four, a cube eight."""


def events(text: str) -> None:
    EventReader().feed(text.encode())


PARSERS: dict[str, Callable[[str], Any]] = {
    "policy": parse,
    "mask": Mask("secret-key", "http://10.0.0.5:8000/v1"),
    "sentence": sentence,
    "events": events,
    "thought": parted,
    "label": split_label,
    "model": canonical,
    "template": Template,
    "schema": lambda text: gbnf(schema_form(json.loads(text))),
    "schema of many": lambda text: gbnf(schema_form({"enum": [f"{n}{text[:9]}" for n in range(len(text) // 9)]})),
    "schema's pattern": lambda text: gbnf(schema_form({"type": "string", "pattern": text})),
    "log's name": read_name,
    "size": parse_size,
    "allocation's features": features,
}


BOUNDED = {
    "logs/columns.py: '(?:": "a column's name, at most 100 characters",
    "logs/formats/harness.py: found": "a file's name, at most 255 bytes",
    "logs/formats/harness.py: stamp": "a file's name, at most 255 bytes",
}
"""Expressions, by how they begin, that may take a square of the time, since their texts cannot be long."""

MADE_LATER = {
    "core/marks.py: '|'.join(map(re.escape, self.marks)) if self.marks else '(?!": "marks, letter by letter",
    "dialects/marks.py: f'(?<![A-Za-z]){text}(?![A-Za-z])|{text}(?=\\\\W*$){glued}'": "a word, letter by letter",
    "dialects/naming.py: pattern": "names of models in the table above it",
    "dialects/turns.py: f'\\\\b{n}\\\\b'": "one name, letter by letter",
    "engines/grammar.py: f'[{inside}]'": "one character",
    "engines/scripted.py: '|'.join(map(re.escape, single)) or '(?!)'": "tags, letter by letter",
    "gateway/answering/json_draft.py: f'(?<!\\\\w){re.escape(word)}(?!\\\\w)'": "one word, letter by letter",
    "gateway/answering/json_draft.py: option": "one letter, tried at the start of a line",
    "grading/latex_cleanup.py: f'\\\\\\\\(?:{old})(?![A-Za-z])'": "names of commands in the table beside it",
    "grading/text.py: wanted": "a gold's own pattern: matched in the worker program, under its time limit",
    "paper/tables/subject.py: subject.model": "names of models in the paper's catalogue",
    "tasks/own/reading.py: found.group(1)": "a gold's own pattern: compiled here, never matched",
}
"""Expressions made when they run, of what."""


def spent(parser: Callable[[str], Any], text: str, looks: int = 2) -> float:
    best = float("inf")
    for _ in range(looks):
        began = time.thread_time()
        with suppress(ThinkcapError, ValueError, jinja2.TemplateError):
            parser(text)
        best = min(best, time.thread_time() - began)
    return best


def growth(
    parser: Callable[[str], Any], unit: str, head: str = "m+iris", end: str = "x", size: int = 8000
) -> float:
    """Work on twice the text by work on the text; 1 where both are done within the blink of a clock."""

    def work(size: int, looks: int = 2) -> float:
        return spent(parser, head + unit * (size // len(unit) + 1) + end, looks)

    # One look tells what is too quick to measure; only the rest is worth another. Above 12,000 characters a square
    # is no longer quick: it is 144 million steps.
    while work(size, looks=1) < 0.004 or (least := work(size)) < 0.004:
        if size >= 12_000:
            return 1.0
        size *= 2
    # A look that was disturbed only makes it look slower, and then it is measured again.
    return work(2 * size, looks=1) / least


@pytest.mark.parametrize("name", PARSERS)
def test_work_grows_with_the_text(name: str) -> None:
    for unit in UNITS:
        # A busy machine can spoil one measurement, not four in a row.
        ratio = next((r for _ in range(4) if (r := growth(PARSERS[name], unit)) < RATIO), None)
        assert ratio is not None, f"{name}: twice as many {unit!r} take more than {RATIO} times as long"


def matcher(found: Expression) -> Callable[[str], Any]:
    """The expression as the product uses it."""
    assert found.pattern is not None
    one = found.pattern

    def match(text: str) -> None:
        given = text.encode() if isinstance(one.pattern, bytes) else text
        if "match" in found.uses:
            one.match(given)
        if "fullmatch" in found.uses:
            one.fullmatch(given)
        if found.uses - {"match", "fullmatch"}:
            for _ in one.finditer(given):
                pass

    return match


def too_slow(found: Expression) -> Iterator[str]:
    """Texts that take an expression far longer when they are twice as long."""
    assert found.pattern is not None
    for head, unit, end in pumps(found.pattern):
        if all(growth(matcher(found), unit, head, end, size=400) >= RATIO for _ in range(4)):
            yield f"{found.where}: twice the n in {head!r} + {unit!r} * n + {end!r}"[:300]


def test_every_regular_expression_takes_time_that_grows_with_the_text() -> None:
    known = [found for found in expressions() if found.pattern and not found.where.startswith(tuple(BOUNDED))]
    assert len(known) > 100
    slow = [text for found in known for text in too_slow(found)]
    assert not slow, f"these take over {RATIO} times as long: {slow}"


def test_the_lists_above_name_what_is_there() -> None:
    there = [found.where for found in expressions()]
    assert not [name for name in BOUNDED if not any(where.startswith(name) for where in there)]
    made_later = {found.where for found in expressions() if found.pattern is None}
    assert made_later == MADE_LATER.keys(), "made when they run; say above of what"


def test_a_slow_expression_would_be_found() -> None:
    for slow in (r"\s*x?\s*y", r"(\d+(?:\.\d+)?)B", r"(?<=\d)\^\s*\{?\s*o"):
        made = Expression("here", re.compile(slow), frozenset({"search"}))
        looks = [pump for _ in range(4) for pump in pumps(made.pattern)]
        assert any(growth(matcher(made), u, h, e, size=400) >= RATIO for h, u, e in looks), slow
