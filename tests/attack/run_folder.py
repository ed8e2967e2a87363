"""A run that came from somebody else, one of its files changed: it is listed, followed, searched and opened.

with RunFolder() as target:
    target.try_one(b"summary.json\\n{}")
"""

from __future__ import annotations

import shutil
from pathlib import Path

from chains import study
from target import Target

from thinkcap.report.explorer.shell import safe_json, served
from thinkcap.study.listing import list_runs
from thinkcap.view.following import Following
from thinkcap.view.searching import search
from thinkcap.view.shelf import Shelf

FILES = ("rows.jsonl", "study.toml", "summary.json", "chains.jsonl", "progress.json", "rows.parquet")


class RunFolder(Target):
    """The input's first line names the file, the rest is its content."""

    def __enter__(self) -> RunFolder:
        super().__enter__()
        self.whole = self.folder / "whole"
        study(self.whole, limit=3, policies="nothink,think,iris", budgets="32,64")
        self.seeds = [
            name.encode() + b"\n" + (self.whole / name).read_bytes()
            for name in FILES
            if (self.whole / name).is_file()
        ]
        self.seeds.append(b'progress.json\n{"done": 1, "total": 4, "failed": 0, "seconds_left": 3.5}')
        return self

    def run(self, data: bytes) -> str:
        first, _, content = data.partition(b"\n")
        name = FILES[FILES.index(known)] if (known := first.decode("ascii", "replace")) in FILES else FILES[0]
        root = self.folder / "runs"
        shutil.copytree(self.whole, root / "a")
        try:
            (root / "a" / name).write_bytes(content)
            if len(data) % 2:
                # Without its summary a run counts as one that was stopped.
                (root / "a" / "summary.json").unlink()
            return self.look(root)
        finally:
            shutil.rmtree(root)

    def look(self, root: Path) -> str:
        """Each page of `thinkcap view`, as far as the run has it."""
        states = [run.state for run in list_runs(root)]
        search([root / "a"], "what")
        shelf = Shelf(root)
        for folder in shelf.without_headline():
            shelf.diagnose(folder)
        followed = Following(root / "a")
        served(followed.data(), brand="")
        followed.look()
        safe_json([followed.news(0), followed.details(0)])
        made = shelf.content("a")
        safe_json([made.data, made.details[:]])
        return f"{states} {sorted(made.data)}"
