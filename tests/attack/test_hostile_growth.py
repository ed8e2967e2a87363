"""Doubling what a stranger sends at most about doubles the work: parsers of requests, streams and templates."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import jinja2
import pytest

from thinkcap.core.errors import ThinkcapError
from thinkcap.core.thinking import parted
from thinkcap.dialects.rendering import Template
from thinkcap.engines.masking import Mask, sentence
from thinkcap.engines.sse import EventReader
from thinkcap.logs.models import canonical
from thinkcap.logs.modes import split_label
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
}


def spent(parser: Callable[[str], Any], text: str) -> float:
    best = float("inf")
    for _ in range(3):
        began = time.thread_time()
        with suppress(ThinkcapError, ValueError, jinja2.TemplateError):
            parser(text)
        best = min(best, time.thread_time() - began)
    return best


def growth(parser: Callable[[str], Any], unit: str) -> float:
    """Work on twice the text by work on the text; 1 where both are done within the blink of a clock."""

    def work(size: int) -> float:
        return spent(parser, "m+iris" + unit * (size // len(unit)) + "x")

    size = 8_000
    while (least := work(size)) < 0.004 and size < 60_000:
        size *= 2
    return work(2 * size) / least if least >= 0.004 else 1.0


@pytest.mark.parametrize("name", PARSERS)
def test_work_grows_with_the_text(name: str) -> None:
    for unit in UNITS:
        # A busy machine can spoil one measurement, not four in a row.
        ratio = next((r for _ in range(4) if (r := growth(PARSERS[name], unit)) < RATIO), None)
        assert ratio is not None, f"{name}: twice as many {unit!r} take more than {RATIO} times as long"
