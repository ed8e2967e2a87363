"""The table of verdicts, and the only way to write it: `python tests/grading/frozen.py`.

Rows of a study carry the grader's version, so that rows of one version compare. The table holds our own cases
with the verdicts of that version; writing it anew is refused while a verdict changed and the version did not.
New cases are added as lines without a verdict: `["math", "1/2", "0.5"]`, `["extract", "number", "it is 5"]`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from thinkcap.grading import Grader, extract

TABLE = Path(__file__).with_name("verdicts.jsonl")
Case = tuple[str, ...]
"""(kind, gold, answer), or ("extract", kind, text) with the thought before it as a fourth where there is one."""


def read() -> tuple[str, dict[Case, Any]]:
    """The version of the table, and what it says of each case; None where it says nothing yet."""
    head, *lines = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]
    return head["version"], dict(_parted(line) for line in lines)


def _parted(line: list[Any]) -> tuple[Case, Any]:
    last = line[-1]
    if line[0] == "extract":
        return (tuple(line[:-1]), last) if isinstance(last, list) else (tuple(line), None)
    return (tuple(line[:3]), line[3]) if len(line) > 3 else (tuple(line), None)


async def judged(cases: list[Case]) -> dict[Case, Any]:
    """What the grader of today says of each case."""
    found: dict[Case, Any] = {}
    async with Grader() as grader:
        for case in cases:
            if case[0] == "extract":
                thought = case[3] if len(case) > 3 else None
                found[case] = list(extract(case[2], case[1], thought=thought))  # type: ignore[arg-type]
            else:
                found[case] = await grader.grade(case[1], case[2], case[0])  # type: ignore[arg-type]
    return found


def main() -> None:
    version, before = read()
    now = asyncio.run(judged(list(before)))
    changed = [case for case, said in before.items() if said not in (None, now[case])]
    if changed and version == Grader.version:
        for case in changed:
            print(f"{case}: {before[case]} -> {now[case]}")
        sys.exit(f"{len(changed)} verdicts changed; if that is meant, raise VERSION in grading/grader.py first")
    lines = [{"version": Grader.version}, *([*case, said] for case, said in now.items())]
    TABLE.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    print(f"{len(now)} cases of version {Grader.version}, {len(changed)} verdicts changed")


if __name__ == "__main__":
    main()
