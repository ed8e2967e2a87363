"""Progress for people in Python: a line in a terminal, a line in a notebook's cell, nothing where nobody looks.

with watching(None) as watch:
    wait(run_study(config, watch=watch))
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from thinkcap.notebook import cell_line
from thinkcap.shown import progress_text

if TYPE_CHECKING:
    from thinkcap.study.progress import Progress, Watcher

_EVERY_S = 0.2


def now_and_then(write: Callable[[str], None], every_s: float) -> Watcher:
    """Writes the line at most so often, and once more at the end."""
    last = float("-inf")

    def watch(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= every_s or progress.done == progress.total:
            last = now
            write(progress_text(progress))

    return watch


@contextmanager
def watching(wanted: bool | None) -> Iterator[Watcher | None]:
    """`wanted` says whether there is a line; None means: in a notebook and in a terminal."""
    cell = None if wanted is False else cell_line()
    if cell is not None:
        yield now_and_then(lambda text: cell.update({"text/plain": text}, raw=True), _EVERY_S)
    elif wanted or (wanted is None and sys.stderr.isatty()):
        live = sys.stderr.isatty()
        before, after = ("\r\x1b[K", "") if live else ("", "\n")

        def write(text: str) -> None:
            # A line that wraps could not be taken back.
            sys.stderr.write(before + (text[: get_terminal_size().columns - 1] if live else text) + after)
            sys.stderr.flush()

        try:
            yield now_and_then(write, _EVERY_S if live else 10.0)
        finally:
            if live:
                sys.stderr.write("\n")
    else:
        yield None
