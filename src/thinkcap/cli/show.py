"""What a person sees in the terminal while a study runs and when it is done."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import get_terminal_size

from thinkcap.cli.served import StartLine
from thinkcap.cli.terminal import REWRITE, say
from thinkcap.engines.served import Tell
from thinkcap.progress import now_and_then
from thinkcap.shown import counted
from thinkcap.studied import Studied
from thinkcap.study.estimate import Estimate
from thinkcap.study.progress import Watcher

_ERRORS = 10


@contextmanager
def progress(*, quiet: bool) -> Iterator[tuple[Watcher | None, Tell]]:
    """A line that says how far a study is and how its server comes up; on Ctrl-C, how to go on."""
    line, start = _Line(), StartLine(quiet)
    try:
        yield None if quiet else now_and_then(line.write, 0.2 if line.live else 10.0), start
    except KeyboardInterrupt:
        start.end()
        line.end()
        command = " ".join(shlex.quote(word) for word in ["thinkcap", *sys.argv[1:]])
        say(f"Stopped; everything finished is saved. To continue:\n  {command}", err=True)
        raise
    finally:
        start.end()
        line.end()


class _Line:
    """One line on standard error, rewritten on a terminal, printed anew elsewhere."""

    def __init__(self) -> None:
        self.live = sys.stderr.isatty()
        self._open = False

    def write(self, text: str) -> None:
        # A line that wraps could not be taken back.
        shown = text[: get_terminal_size().columns - 1] if self.live else text
        say(shown, nl=not self.live, err=True, before=REWRITE if self.live else "")
        self._open = self.live

    def end(self) -> None:
        if self._open:
            say(err=True)
            self._open = False


def estimate_text(found: Estimate) -> str:
    asked = f"{counted(found.questions, 'question')}, {counted(found.rows, 'row')}"
    if found.rows_done == found.rows:
        return "\n".join([*found.notes, f"{asked}, all done already: nothing will be generated"])
    done = f" ({found.rows_done:,} done already)" if found.rows_done else ""
    lines = [
        *found.notes,
        asked + done,
        f"at most {found.tokens_at_most:,} tokens to generate "
        f"(up to {found.tokens_one_run_per_cell:,} with one run per cell); "
        f"{found.tokens_stored:,} are stored already",
    ]
    if found.cost_at_most is not None:
        lines.append(f"at most {found.cost_at_most:.2f} to pay for output")
    return "\n".join(lines)


def errors_text(result: Studied) -> str:
    """What went wrong in rows that failed, the most frequent first."""
    said = Counter(" ".join((row.error or "no reason given").split()) for row in result.rows if row.failed)
    lines = [f"{count:,} x {error}" for error, count in said.most_common(_ERRORS)]
    return "\n".join(["failed because of:", *lines])
