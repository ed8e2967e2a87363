"""MATH-500: competition problems with answers of every shape; levels and subjects are kept.

load("math500", data=Path("data")).facts["test/algebra/2584.json"]     # {'level': '3', 'subject': 'Algebra'}
"""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

from thinkcap.core.errors import DataError
from thinkcap.tasks.files import Pinned, checked, rows
from thinkcap.tasks.task import Item, Source, asked

PINNED = Pinned(
    name="MATH-500",
    paths=("math500/test.jsonl", "test.jsonl"),
    count=500,
    content="f4baeb27c3e5bac0396fdc3e42173df932f77910bb436684edaf9c6fa18cc3df",
    hub="HuggingFaceH4/MATH-500",
    hub_file="test.jsonl",
    revision="6e4ed1a2a79af7d8630a6b768ec859cb5af4d3be",
)


def read(variant: str, data: Path | None, seed: int | None, needed: int | None) -> Source:
    if variant:
        raise DataError(f"math500 has no part '{variant}'; its rows carry level and subject instead")
    try:
        found = [(r["problem"], r["answer"], r["unique_id"], r["level"], r["subject"]) for r in rows(PINNED, data)]
    except (KeyError, TypeError) as err:
        raise DataError(
            f"a MATH-500 record has 'problem', 'answer', 'unique_id', 'level' and 'subject'; {err} is missing"
        ) from err
    digest = checked(PINNED, [(problem, answer) for problem, answer, *_ in found])
    items = [
        Item(
            asked(unique_id, problem, "math", group=f"level {level}"),
            answer,
            MappingProxyType({"level": str(level), "subject": str(subject)}),
        )
        for problem, answer, unique_id, level, subject in found
    ]
    return Source("math500", tuple(items), digest)
