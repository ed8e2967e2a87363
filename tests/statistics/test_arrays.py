"""Rows that are alike get one number, whether the numbers in them are small or span more than memory does."""

import numpy as np
import pytest

from thinkcap.statistics.arrays import distinct


@pytest.mark.parametrize("most", [1, 3, 1 << 30])
@pytest.mark.parametrize("rows", [0, 1, 500])
def test_different_rows_are_numbered_in_order_of_appearance(most: int, rows: int) -> None:
    rng = np.random.default_rng(most)
    few = rng.integers(-1, 4, rows).astype(np.int32)
    scattered = rng.choice(rng.integers(0, most, 9), rows)
    first, number = distinct([few, scattered])
    seen: dict[tuple[int, int], int] = {}
    wanted = [seen.setdefault(row, len(seen)) for row in zip(few.tolist(), scattered.tolist(), strict=True)]
    assert number.tolist() == wanted
    assert first.tolist() == [wanted.index(at) for at in range(len(seen))]
