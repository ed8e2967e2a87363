"""Runs a program and ends it, with everything it started, once whoever holds our standard input is gone.

A process that is killed outright cannot clean up, but the kernel closes its files: this program waits for that.
It is run by its path in a bare Python, so it imports nothing of ours.

    python -I guard.py 10 vllm serve ...     # ten seconds to end by itself, then it is killed
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
from contextlib import suppress
from types import FrameType

_DEATH_SIGNAL, _ADOPT_ORPHANS = 1, 36
"""Numbers of Linux's prctl; elsewhere there is none, and the process group has to be enough."""
_LOOK_S = 0.1


class _Told(Exception):
    """A signal told the guard to end."""


def main(grace_s: float, words: list[str]) -> int:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _told)
    # Orphans of the program become our children, also those that left its group.
    _prctl(_ADOPT_ORPHANS, 1)
    program = _start(words)
    status: int | None = None
    with suppress(_Told):
        status = _watch(program, os.getppid())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _end(program, grace_s)
    code = 0 if status is None else os.waitstatus_to_exitcode(status)
    # As shells say it: 137 for a program that was killed by signal 9.
    return code if code >= 0 else 128 - code


def _told(number: int, frame: FrameType | None) -> None:
    raise _Told


def _start(words: list[str]) -> int:
    program = os.fork()
    if program:
        return program
    try:
        os.setsid()
        _prctl(_DEATH_SIGNAL, signal.SIGKILL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(words[0], words)
    except OSError as err:
        print(f"{words[0]}: {err.strerror}", file=sys.stderr, flush=True)
    finally:
        os._exit(127)


def _watch(program: int, parent: int) -> int | None:
    """The program's status where it ends by itself; None once it has to be ended."""
    while True:
        for pid, status in _reaped():
            if pid == program:
                return status
        if select.select([0], [], [], _LOOK_S)[0] and not os.read(0, 4096):
            return None
        if os.getppid() != parent:
            return None


def _end(program: int, grace_s: float) -> None:
    """First politely, then the group, then whoever had left it."""
    deadline = time.monotonic() + grace_s
    _signal_group(program, signal.SIGTERM)
    while _signal_group(program, 0) and time.monotonic() < deadline:
        _reaped()
        time.sleep(_LOOK_S / 2)
    _signal_group(program, signal.SIGKILL)
    while time.monotonic() < deadline + grace_s:
        _reaped()
        children = _children()
        if not children and not _signal_group(program, 0):
            return
        for child in children:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        time.sleep(_LOOK_S / 2)


def _reaped() -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    with suppress(ChildProcessError):
        while (one := os.waitpid(-1, os.WNOHANG)) != (0, 0):
            found.append(one)
    return found


def _signal_group(leader: int, number: int) -> bool:
    """Whether anybody is left in the group."""
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _children() -> list[int]:
    found = []
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if entry.isdigit():
            with suppress(OSError, ValueError, IndexError), open(f"/proc/{entry}/stat", "rb") as file:
                # The name in parentheses may hold anything; the parent is the second word after it.
                if int(file.read().rpartition(b")")[2].split()[1]) == os.getpid():
                    found.append(int(entry))
    return found


def _prctl(option: int, value: int) -> None:
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
