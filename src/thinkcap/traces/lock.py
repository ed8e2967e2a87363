"""One run at a time writes to a store; the lock vanishes with its process, however that dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from thinkcap.core.errors import StoreError

_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "ceph", "lustre", "9p"}


class FileLock:
    """An exclusive lock on `PATH.lock`, which also says which process holds it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path) -> FileLock:
        kind = _file_system(path)
        if kind in _NETWORK:
            raise StoreError(
                f"'{path}' is on a network file system ({kind}), where SQLite's locks do not hold; "
                f"choose a local --out"
            )
        lock = path.with_name(path.name + ".lock")
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as err:
            raise StoreError(f"cannot write to '{lock.parent}': {err.strerror}; choose another --out") from err
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as err:
            holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise StoreError(
                f"'{path}' is in use by another run (process {holder}); wait for it, or choose another --out"
            ) from err
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        return cls(descriptor)

    def release(self) -> None:
        os.close(self._descriptor)


def _file_system(path: Path) -> str:
    """The kind of file system a path is on, as Linux tells it; empty elsewhere."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return ""
    where = str(path.absolute())
    best, kind = "", ""
    for line in mounts.read_text(errors="replace").splitlines():
        point, fs = line.split()[1:3]
        if (where == point or where.startswith(point.rstrip("/") + "/")) and len(point) > len(best):
            best, kind = point, fs
    return kind
