"""Files we write: replaced whole or not at all, never through a link; those of a run for their owner's eyes only.
And those that are read at once, which are plain and not large.

replace_text(folder / "summary.json", text)
replace_text(named_by_the_user, text, mode=SHARED)
with replacing(folder / "rows.parquet") as file:
    file.write(columns)
read_file(folder / "summary.json")
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from thinkcap.core.errors import StoreError

PRIVATE = 0o600
SHARED = 0o666
"""What the umask leaves of it: for files that a person named, and that hold no questions and no answers."""
_WHOLE_BYTES = 64 << 20
"""No settings, plan or summary comes near it; a run that came from somebody else may hold anything."""
_LEFT_BEHIND_S = 60
"""A file that somebody writes is locked from its first moment on, but for the one between the two calls."""


@contextmanager
def replacing(path: Path, mode: int = PRIVATE) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` once it is complete; until then `path` stays as it was."""
    # A name nobody can foresee, made exclusively: a link laid in its way is never followed, and two writers at
    # once never share it. A link at `path` itself is replaced, not written through.
    fresh = path.parent / f".{path.name}.{secrets.token_hex(8)}.tmp"
    try:
        _check_place(path)
        _sweep(path)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    except OSError as err:
        raise cannot_write(path, err) from err
    try:
        with os.fdopen(descriptor, "wb") as file:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield file
            file.flush()
            fresh.replace(path)
    except OSError as err:
        raise cannot_write(path, err) from err
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)


def read_file(path: Path, most: int = _WHOLE_BYTES) -> bytes:
    """All of a file. An OSError where it is no plain one, or above what such a file may be."""
    # Without waiting: a pipe in its place would let us wait for a writer that never comes.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file", str(path))
        if about.st_size > most:
            raise OSError(
                errno.EFBIG, f"it is larger than {most >> 20} MiB, and no such file of a run is", str(path)
            )
        return file.read(most)


def replace_text(path: Path, text: str, mode: int = PRIVATE) -> None:
    with replacing(path, mode) as file:
        file.write(text.encode())


def private_folder(path: Path) -> Path:
    """The folder, made where it is missing, as one that only its owner may enter."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as err:
        raise cannot_write(path, err) from err
    return path


def private_file(path: Path, flags: int) -> int:
    """A descriptor of a file of our own, created if missing; anything else in its place is refused."""
    try:
        # Without waiting: a pipe in its place would let us wait for a reader that never comes.
        descriptor = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, PRIVATE)
    except OSError as err:
        raise cannot_write(path, err) from err
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) and found.st_nlink <= 1:
        return descriptor
    os.close(descriptor)
    what = "has a second name elsewhere (a hard link)" if stat.S_ISREG(found.st_mode) else "is not a plain file"
    raise StoreError(f"'{path}' {what}; put a copy in its place, or choose another --out")


def cannot_write(path: Path, err: OSError) -> StoreError:
    return StoreError(
        f"cannot write to '{path}': {err.strerror or err}; free some space or choose another --out, "
        f"then run the same command again"
    )


def _check_place(path: Path) -> None:
    """A device, a pipe or a folder, also behind a link, is not to be replaced by a file."""
    try:
        found = path.stat().st_mode
    except OSError:
        return  # Nothing there, or a link to nothing: making the file will tell whatever else is wrong.
    if not stat.S_ISREG(found):
        raise OSError(errno.EINVAL, "it is not a plain file")


def _sweep(path: Path) -> None:
    """Removes what a writer that was killed left beside `path`; what is being written is locked and stays."""
    start = f".{path.name}."
    with suppress(OSError), os.scandir(path.parent) as beside:
        for one in beside:
            if one.name.startswith(start) and one.name.endswith(".tmp"):
                with suppress(OSError):
                    _remove_dead(one)


def _remove_dead(left: os.DirEntry[str]) -> None:
    about = left.stat(follow_symlinks=False)
    old = time.time() - about.st_mtime > _LEFT_BEHIND_S
    if not (old and stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid()):
        return
    descriptor = os.open(left.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(left.path)
    finally:
        os.close(descriptor)
