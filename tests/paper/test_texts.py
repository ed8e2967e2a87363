"""The plain extractor of the paper's records: four oldest rules, in order."""

import pytest

from thinkcap.paper.statistics.texts import plain_extraction


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r"so \boxed{42}", ("boxed", "42")),
        (r"\boxed{1} or \boxed{\frac{1}{2}}", ("boxed", r"\frac{1}{2}")),
        ("3 + 4\n#### 1,234", ("hashes", "1,234")),
        ("**Final answer:** $7", ("final", "7")),
        ("he has 3 and then 15", ("last_number", "15")),
        (r"<think>\boxed{1}</think> it is 2", ("last_number", "2")),
        (r"<think>\boxed{17}</think>", ("boxed", "17")),
        ("nothing", ("none", None)),
    ],
)
def test_levels(text: str, found: tuple[str, str | None]) -> None:
    assert plain_extraction(text) == found
