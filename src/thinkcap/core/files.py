"""Files of a run on disk: replaced whole or not at all, never through a link, for their owner's eyes only.

replace_text(folder / "summary.json", text)
with replacing(folder / "rows.parquet") as file:
    file.write(columns)
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from thinkcap.core.errors import StoreError


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` once it is complete; until then `path` stays as it was."""
    # A name nobody can foresee, made exclusively: a link laid in its way is never followed, and two writers at
    # once never share it. A link at `path` itself is replaced, not written through.
    try:
        descriptor, made = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as err:
        raise cannot_write(path, err) from err
    fresh = Path(made)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        fresh.replace(path)
    except OSError as err:
        raise cannot_write(path, err) from err
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    with replacing(path) as file:
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
    """A descriptor of a file of ours, made where it is missing; a link in its place is refused."""
    try:
        return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as err:
        raise cannot_write(path, err) from err


def cannot_write(path: Path, err: OSError) -> StoreError:
    return StoreError(
        f"cannot write to '{path}': {err.strerror or err}; free some space or choose another --out, "
        f"then run the same command again"
    )
