"""Values the shell may complete: policies, tasks, presets, kinds, runs. Nothing is imported before Tab."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem


def _fitting(words: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    """Names that go on from what is typed, in a list after its last comma."""
    before, comma, start = incomplete.rpartition(",")
    return [CompletionItem(before + comma + word, help=what) for word, what in words if word.startswith(start)]


def policies(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from thinkcap.policies.methods import summary
    from thinkcap.policies.registry import POLICIES

    return _fitting(((name, summary(name)) for name in ("all", "rivals", *POLICIES)), incomplete)


def tasks(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from thinkcap.tasks.families import FAMILIES
    from thinkcap.tasks.load import TASKS

    names = [*(name for name in TASKS if name not in ("family", "bbh")), *(f"family:{name}" for name in FAMILIES)]
    # A file of one's own questions is a task too.
    return _fitting(((name, "") for name in names), incomplete) or [CompletionItem(incomplete, type="file")]


def presets(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from thinkcap.study.options import known_presets

    return _fitting(((name, "") for name in known_presets()), incomplete)


def kinds(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from thinkcap.tasks.own.guess import KINDS

    return _fitting(((name, "") for name in KINDS), incomplete)


def runs(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Studies made here; files where none fits."""
    from thinkcap.study.folders import RUNS

    found = sorted(str(path.parent) for path in Path().glob(f"{RUNS}/*/rows.jsonl"))
    fitting = [CompletionItem(name) for name in found if name.startswith(incomplete)]
    return fitting or [CompletionItem(incomplete, type="file")]
