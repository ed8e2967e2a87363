"""One run at a time writes to a store; the lock vanishes with its process, however that dies."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from thinkcap.core.errors import StoreError
from thinkcap.core.files import private_file, private_folder

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
                f"'{path}' is on a network file system ({kind}), where locks are unreliable; choose a local --out"
            )
        lock = _beside(path)
        private_folder(lock.parent)
        descriptor = private_file(lock, os.O_RDWR)
        for last in (False, False, True):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as err:
                # Somebody may only be asking whether it is held, which takes an instant.
                if not last:
                    time.sleep(0.02)
                    continue
                holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
                os.close(descriptor)
                raise StoreError(
                    f"'{path}' is in use by another run (process {holder}); wait for it, or choose another --out"
                ) from err
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        return cls(descriptor)

    @classmethod
    def refuse_held(cls, path: Path) -> None:
        """What `take` would say now, where nothing is to be made yet."""
        if cls.held(path):
            cls.take(path).release()

    @classmethod
    def held(cls, path: Path) -> bool:
        """Whether some process writes there now; makes nothing."""
        try:
            descriptor = os.open(_beside(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    def release(self) -> None:
        os.close(self._descriptor)


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


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
