"""AIME 2024, AIME 2025 and AMC 2023: competition problems whose answers are numbers, few and hard.

load("aime25", data=Path("data"))     # data/aime/aime25.jsonl, data/aime25.jsonl, or the file itself
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from thinkcap.core.errors import DataError
from thinkcap.tasks.files import Pinned, checked, rows
from thinkcap.tasks.task import Item, Source, asked


def _pinned(name: str, title: str, count: int, content: str, hub_file: str) -> Pinned:
    return Pinned(
        name=title,
        paths=(f"aime/{name}.jsonl", f"{name}.jsonl", f"{name}/test.jsonl"),
        count=count,
        content=content,
        hub=f"math-ai/{name}",
        hub_file=hub_file,
        # Whatever the branch holds, the hash decides whether it is the same set.
        revision="main",
    )


SETS = {
    "aime24": _pinned(
        "aime24",
        "AIME 2024",
        30,
        "11202356f3b1fd7535e7163720bce4abd90f785be0ae772b8823fd9de884a949",
        "data/test-00000-of-00001.parquet",
    ),
    "aime25": _pinned(
        "aime25", "AIME 2025", 30, "cf85a6c6efe1381e9718c2cdd3380fde4b8ebb7f192d146ed04283f3a36757eb", "test.jsonl"
    ),
    "amc23": _pinned(
        "amc23",
        "AMC 2023",
        40,
        "5a59ab6e6430b1d816730fdad9b80a3b9b1ca2618aaf0fcc577729e8dedfefb6",
        "data/test-00000-of-00001.parquet",
    ),
}


def _read(name: str, variant: str, data: Path | None, seed: int | None, needed: int | None) -> Source:
    if variant:
        raise DataError(f"{name} has no part '{variant}'; wanted plain {name}")
    pinned = SETS[name]
    try:
        pairs = [(row.get("problem") or row["question"], str(row["answer"])) for row in rows(pinned, data)]
    except (KeyError, TypeError, AttributeError) as err:
        raise DataError(f"a record of {pinned.name} has 'problem' and 'answer'; {err} is missing") from err
    digest = checked(pinned, pairs)
    items = [Item(asked(f"{name}/{i}", question, "number"), gold) for i, (question, gold) in enumerate(pairs)]
    return Source(name, tuple(items), digest)


aime24, aime25, amc23 = (partial(_read, name) for name in SETS)
