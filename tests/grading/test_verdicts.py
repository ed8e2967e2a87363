"""Verdicts are frozen under the grader's version: a change nobody meant is seen, one that is meant is numbered."""

from __future__ import annotations

import frozen

from thinkcap.grading import Grader

HOW = (
    "if that is meant, raise VERSION in src/thinkcap/grading/grader.py, name the change in CHANGELOG.md, and "
    "write the table with `python tests/grading/frozen.py`; otherwise mend the rule"
)


async def test_no_verdict_changed_under_the_same_version() -> None:
    version, table = frozen.read()
    assert version == Grader.version, f"the table is of version {version}, the grader of {Grader.version}; {HOW}"
    now = await frozen.judged(list(table))
    changed = [f"{case}: {said} -> {now[case]}" for case, said in table.items() if now[case] != said]
    assert not changed, f"{len(changed)} verdicts changed; {HOW}\n" + "\n".join(changed)


def test_the_table_has_every_kind_and_every_verdict() -> None:
    _, table = frozen.read()
    assert len(table) > 600
    for kind in ("number", "math", "label", "text"):
        assert {said for case, said in table.items() if case[0] == kind} == {"right", "wrong", "unreadable"}
        levels = {said[1] for case, said in table.items() if case[:2] == ("extract", kind)}
        assert levels == ({0, 1, 2, 3} if kind == "label" else {0, 1, 2, 3, 4})
