"""GSM8K, the test set: school word problems whose answers are whole numbers.

load("gsm8k", data=Path("data"))     # data/gsm8k/test.jsonl, data/test.jsonl, or the file itself
"""

from __future__ import annotations

from pathlib import Path

from thinkcap.core.errors import DataError
from thinkcap.tasks.files import Pinned, checked, rows
from thinkcap.tasks.task import Item, Source, asked

PINNED = Pinned(
    name="GSM8K",
    paths=("gsm8k/test.jsonl", "gsm8k/test.parquet", "test.jsonl"),
    count=1319,
    content="f294fbc26f89a50d527859a5c78f60a0cced51829afeb2f2806754fd23599e86",
    hub="openai/gsm8k",
    hub_file="main/test-00000-of-00001.parquet",
    revision="740312add88f781978c0658806c59bc2815b9866",
)


def read(variant: str, data: Path | None, seed: int | None, needed: int | None) -> Source:
    if variant:
        raise DataError(f"gsm8k has no part '{variant}'; wanted plain gsm8k")
    try:
        pairs = [(row["question"], row["answer"].split("####")[-1].strip()) for row in rows(PINNED, data)]
    except (KeyError, TypeError, AttributeError) as err:
        raise DataError(f"a GSM8K record has 'question' and 'answer'; {err} is missing in this file") from err
    digest = checked(PINNED, pairs)
    items = [Item(asked(f"gsm8k/{i}", q, "number"), gold) for i, (q, gold) in enumerate(pairs)]
    return Source("gsm8k", tuple(items), digest)
