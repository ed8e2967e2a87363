"""Inputs a fuzz run found worth keeping, once more; `python bench/fuzz.py --keep` adds to them."""

from __future__ import annotations

from pathlib import Path

import pytest
from targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.parametrize("name", TARGETS)
def test_what_was_found_before_ends_well(name: str) -> None:
    kept = sorted((CORPUS / name).glob("*"))
    assert kept, "no corpus for this target; run bench/fuzz.py --keep"
    with TARGETS[name]() as target:
        for path in kept:
            try:
                target.try_one(path.read_bytes())
            except Exception as err:
                raise AssertionError(f"corpus/{name}/{path.name} goes wrong") from err
        for seed in target.seeds:
            target.try_one(seed)
