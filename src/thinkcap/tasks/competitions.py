"""AIME 2024, AIME 2025 and AMC 2023: competition problems whose answers are numbers, few and hard.

load("aime25", data=Path("data"))     # data/aime/aime25.jsonl, data/aime25.jsonl, or the file itself

Files of these sets differ in what does not matter: blanks in a problem, `27`, `027` or `27.0`, the answer alone or
boxed at the end of a `solution`. The hash is of what is left when that is taken off.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from thinkcap.core.errors import DataError
from thinkcap.tasks.files import Pinned, checked, rows
from thinkcap.tasks.task import Item, Source, asked

_BOXED = re.compile(r"\\boxed\{([^{}]*)\}")
_WHOLE = re.compile(r"(-?[0-9]{1,9})(?:\.0)?")


def _pinned(name: str, title: str, count: int, content: str, hub_file: str, revision: str) -> Pinned:
    return Pinned(
        name=title,
        paths=(f"aime/{name}.jsonl", f"{name}.jsonl", f"{name}/test.jsonl"),
        count=count,
        content=content,
        hub=f"math-ai/{name}",
        hub_file=hub_file,
        revision=revision,
    )


SETS = {
    "aime24": _pinned(
        "aime24",
        "AIME 2024",
        30,
        "5b2be8bb91c319a7a251f7a9510c41bf5652676d1e79a5411ffe1bd926419c40",
        "test-00000-of-00001.parquet",
        "83a7f387baaa524a8bda0022eac0541582297103",
    ),
    "aime25": _pinned(
        "aime25",
        "AIME 2025",
        30,
        "f12ab6352754cad896718b4abd1ec5af7d0dfcd6e1d04ebc017ddb7729fa7e59",
        "test.jsonl",
        "563bb8404243c5f09de6ec262f2db674fe5bce9b",
    ),
    "amc23": _pinned(
        "amc23",
        "AMC 2023",
        40,
        "5c3809ad2e5d3ff65749dba8808a949e17b183a6092c4285fb1978f31ff5d940",
        "test-00000-of-00001.parquet",
        "80815d37005feb82cd7f8fbc6901d5d3eff43057",
    ),
}


def _read(name: str, variant: str, data: Path | None, seed: int | None, needed: int | None) -> Source:
    if variant:
        raise DataError(f"{name} has no part '{variant}'; wanted plain {name}")
    pinned = SETS[name]
    try:
        pairs = [(row.get("problem") or row["question"], _gold(row)) for row in rows(pinned, data)]
        digest = checked(pinned, [(" ".join(problem.split()), gold) for problem, gold in pairs])
    except (KeyError, TypeError, AttributeError) as err:
        raise DataError(f"a record of {pinned.name} has 'problem' and 'answer'; {err} is missing") from err
    items = [Item(asked(f"{name}/{i}", question, "number"), gold) for i, (question, gold) in enumerate(pairs)]
    return Source(name, tuple(items), digest)


def _gold(row: Mapping[str, Any]) -> str:
    boxed = () if "answer" in row else _BOXED.findall(row.get("solution") or "")
    said = str(boxed[-1] if boxed else row["answer"]).strip()
    return str(int(whole[1])) if (whole := _WHOLE.fullmatch(said)) else said


aime24, aime25, amc23 = (partial(_read, name) for name in SETS)
