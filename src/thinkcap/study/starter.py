"""A study file to start from, written for the file of questions it is pointed at, every line explained.

text = starter(Path("questions.csv"), Path("study.toml"))
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from thinkcap.core.types import EMPTY
from thinkcap.tasks.own.reading import read
from thinkcap.tasks.task import Source

_FIRST_TRY = 50
_TEXT = """\
# A study of {name}: {count} questions.
# {note}
# Run it with:  thinkcap study {file}
# See what it would take with:  thinkcap study {file} --dry-run

model = "bundled"            # a GGUF file, a transformers folder, or http://host:8000/v1#name
tasks = [{task}]
{kind:<28} # how golds compare: number, math, label, truth, yesno or text{mixed}
budgets = "64:1024:64"       # caps in tokens: from:to:step, or a list
{limit:<28} # questions{rest}
seeds = [0]                  # the order of the questions; several give mean and spread
# policies = "nothink,think,iris"     # `thinkcap policies` explains them

{columns}"""


def starter(
    questions: Path, target: Path, *, columns: Mapping[str, str] = EMPTY, kind: str | None = None
) -> tuple[str, str]:
    """The text of the study file, and the line that says how the questions were read."""
    source = read(str(questions), None, columns=columns, kind=kind)
    kinds = list(dict.fromkeys(item.question.form or item.question.kind for item in source.items))
    several = len(kinds) > 1
    count = len(source.items)
    text = _TEXT.format(
        name=_plain(questions.name),
        count=count,
        note=_plain(source.note),
        file=_plain(target.name),
        task=json.dumps(os.path.relpath(questions), ensure_ascii=False),
        # A kind in the study is that of all questions: where the file has several, it is only shown.
        kind=f"{'# ' if several else ''}kind = {json.dumps(kinds[0])}",
        mixed=" (the file has several; unsaid, each keeps its own)" if several else "",
        limit=f"limit = {min(count, _FIRST_TRY)}",
        rest=f": a first try, the file has {count}" if count > _FIRST_TRY else ": all of the file",
        columns=_columns(source),
    )
    return text, source.note


def _columns(source: Source) -> str:
    lines = ["[map]                        # which column is what"]
    lines += [f"{role} = {json.dumps(column, ensure_ascii=False)}" for role, column in source.columns.items()]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """In one line, so that a strange name cannot end a comment."""
    return " ".join(text.split())
