"""A journal of traffic: JSON lines in files that only their owner may read, bounded, each line written whole.

    journal = WatchJournal(Path("journal"), total_bytes=2**28)
    journal.write({"model": "m", "tokens": 12})

A line is with the operating system before `write` returns, so a killed process loses none. Every gateway writes
files of its own and holds a lock on the one it is writing; when all files together grow too large, the oldest that
nobody writes go. Trouble with the disk is counted and told once: it must never stop the traffic.
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from thinkcap.core.files import private_file, private_folder

log = logging.getLogger("thinkcap.gateway")

NAMES = "watch-*.jsonl"
_FILES = 8
"""Files a journal is made of, about: what goes when it is full is an eighth of it."""


class WatchJournal:
    def __init__(self, folder: Path, total_bytes: int) -> None:
        self._folder = private_folder(folder)
        self._total_bytes = total_bytes
        self._file_bytes = max(1, total_bytes // _FILES)
        self._stem = f"watch-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(4)}"
        self._number = 0
        self._size = 0
        self._torn = False
        self.lost = 0
        """Lines that could not be written."""
        self._file = self._next()

    @property
    def path(self) -> Path:
        return self._folder / f"{self._stem}-{self._number:04}.jsonl"

    def write(self, entry: Mapping[str, Any]) -> None:
        line = msgspec.json.encode(entry) + b"\n"
        try:
            if self._size and self._size + len(line) > self._file_bytes:
                os.close(self._file)
                self._number += 1
                self._file = self._next()
            if self._torn:
                # What is left of a line that did not fit ends here, and is no part of the next.
                line = b"\n" + line
            written = os.write(self._file, line)
            self._torn = written < len(line)
            self._size += written
        except OSError as err:
            self._torn = True
            self._missed(err)
            return
        if self._torn:
            self._missed(OSError(0, "the disk is full"))

    def close(self) -> None:
        with suppress(OSError):
            os.close(self._file)

    def _next(self) -> int:
        self._sweep()
        found = private_file(self.path, os.O_WRONLY | os.O_APPEND | os.O_EXCL)
        fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._size = 0
        self._torn = False
        return found

    def _sweep(self) -> None:
        """Makes room for one more file; what another gateway is writing is locked and stays."""
        files = []
        for path in self._folder.glob(NAMES):
            with suppress(OSError):
                about = path.stat(follow_symlinks=False)
                files.append((about.st_mtime, path, about.st_size))
        size = sum(one[2] for one in files) + self._file_bytes
        for _, path, taken in sorted(files):
            if size <= self._total_bytes:
                return
            if _removed(path):
                size -= taken

    def _missed(self, err: OSError) -> None:
        self.lost += 1
        if self.lost == 1:
            log.error(
                "the journal at '%s' cannot be written (%s); requests still pass", self._folder, err.strerror
            )


def _removed(path: Path) -> bool:
    with suppress(OSError):
        found = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
            return True
        finally:
            os.close(found)
    return False
