"""One thing that reads a stranger's bytes, opened once and fed many times; a refusal in our own words is good.

with Text(["iris"], parse) as target:
    target.try_one(b"vote(samples=3)")        # a kind of outcome, or whatever went wrong as an exception
"""

from __future__ import annotations

import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from thinkcap.core.errors import ThinkcapError


class Wrong(AssertionError):
    """What must not happen, whatever is sent."""


class Target(ABC):
    """Opened once, fed many times."""

    seeds: list[bytes]

    def __init__(self) -> None:
        self.open = ExitStack()

    def __enter__(self) -> Target:
        self.folder = Path(self.open.enter_context(tempfile.TemporaryDirectory()))
        return self

    def __exit__(self, *_: object) -> None:
        self.open.close()

    def try_one(self, data: bytes) -> str:
        """The kind of outcome: what was said, without the names and numbers in it."""
        try:
            return self.run(data)
        except ThinkcapError as err:
            said = str(err)
            if "Traceback" in said or not said.strip():
                raise Wrong(f"an error says {said[:200]!r}") from err
            return kind_of(f"{type(err).__name__} {said}")

    @abstractmethod
    def run(self, data: bytes) -> str: ...


def kind_of(said: str) -> str:
    """Words of ours, without what was quoted."""
    return " ".join(re.findall(r"\b[a-z]{3,}\b", re.sub(r"'[^']*'?|\"[^\"]*\"?|/\S+", " ", said[:600]))[:8])


class Text(Target):
    """One function of one text."""

    def __init__(self, seeds: list[str], function: Callable[[str], Any]) -> None:
        super().__init__()
        self.seeds = [seed.encode() for seed in seeds]
        self.function = function

    def run(self, data: bytes) -> str:
        found = self.function(data.decode("utf-8", "replace"))
        return str(found) if isinstance(found, tuple) else type(found).__name__


class File(Target):
    """A file of some kind, which the input's first line names: `name.toml`, then its bytes."""

    def __init__(self, seeds: list[tuple[str, bytes]], read: Callable[[Path], Any]) -> None:
        super().__init__()
        self.seeds = [name.encode() + b"\n" + content for name, content in seeds]
        self.read = read

    def run(self, data: bytes) -> str:
        first, _, content = data.partition(b"\n")
        name = re.sub(rb"[^a-z.]", b"", first)[-20:].decode().strip(".") or "x"
        path = self.folder / name
        path.write_bytes(content)
        try:
            return type(self.read(path)).__name__
        finally:
            for left in sorted(self.folder.iterdir()):
                left.unlink()
