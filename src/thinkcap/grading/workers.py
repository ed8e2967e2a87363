"""Worker programs from the caller's side: started when needed, ended when a case hangs, replaced on the next case.

They start isolated: no current folder and none of the caller's variables decide what they import.

>>> worker = Worker(limit_s=1.0)
>>> worker.ask("\\\\sum_{k=1}^{3} k", "6", "math")          # doctest: +SKIP
<Decision.SAME: 'same'>
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import select
import shlex
import subprocess
import sys
import threading
import time
from functools import lru_cache
from pathlib import Path

from thinkcap.core.errors import ConfigError
from thinkcap.grading.kinds import Decision

LIMIT_S = 1.0
_START_S = 300.0
"""For the program to start and for the algebra system to load; no case is charged for it."""


_PATIENCE = 30
"""How many more limits of clock time a case gets that had no processor to run on."""


_INHERITED = ("LD_LIBRARY_PATH", "SYSTEMROOT")
"""Without these some interpreters do not start; nothing else of the environment is a worker's business."""
_PACKAGES = ("mpmath", "sympy", "math_verify")


def _command() -> list[str]:
    """The program by its file, isolated (-I), with the folders of libraries it needs."""
    return [sys.executable, "-I", "-X", "utf8", str(Path(__file__).with_name("worker_program.py")), *_folders()]


def _folders() -> list[str]:
    """Where its libraries lie: a user's own folder and `pip install --target` are not on the default path."""
    folders: dict[Path, None] = {}
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin:
            folder = Path(spec.origin).resolve().parents[1]
            if folder != Path.cwd():  # what lies beside the data is not ours to run
                folders[folder] = None
    return [str(folder) for folder in folders]


class Worker:
    """One worker program. Not for two threads at once."""

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self.limit_s = limit_s
        self.restarts = -1
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""

    def ask(self, gold: str, answer: str, kind: str) -> Decision:
        """The decision on one case; UNREADABLE where it takes longer than the limit or ends the program."""
        process = self._running()
        case = json.dumps({"gold": gold, "answer": answer, "kind": kind}) + "\n"
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(case.encode("utf-8", "replace"))
            process.stdin.flush()
        except (BrokenPipeError, OSError):
            self.close()
            return Decision.UNREADABLE
        deadline = time.monotonic() + self.limit_s
        last_call = deadline + _PATIENCE * self.limit_s
        worked = self._worked_s()
        while True:
            line = self._line(deadline)
            while line is None and time.monotonic() < last_call and self._starved(worked):
                line = self._line(min(last_call, time.monotonic() + self.limit_s / 8))
            if line is None:
                self.close()
                return Decision.UNREADABLE
            message = json.loads(line)
            if "decision" in message:
                return Decision(message["decision"])
            deadline = time.monotonic() + (_START_S if message["wait"] else self.limit_s)
            last_call, worked = deadline + _PATIENCE * self.limit_s, self._worked_s()

    def close(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process = None
        self._buffer = b""

    def _running(self) -> subprocess.Popen[bytes] | None:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None:
            self.restarts += 1
            command = _command()
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=os.sep,
                env={name: os.environ[name] for name in _INHERITED if name in os.environ},
            )
            if self._line(time.monotonic() + _START_S) is None:
                self.close()
                raise ConfigError(
                    f"the program that grades formulas did not start within {_START_S:g} s; to see what it "
                    f"prints, run: {shlex.join(command)}"
                )
        return self._process

    def _starved(self, worked_s: float) -> bool:
        """Whether the case has not had its second yet, because the machine was busy with others."""
        alive = self._process is not None and self._process.poll() is None
        return alive and self._worked_s() - worked_s < 0.8 * self.limit_s

    def _worked_s(self) -> float:
        """Processor seconds of the worker so far, where the system tells; elsewhere only the clock counts."""
        if self._process is None:
            return 0.0
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return float("inf")  # inf - inf is no number, so that nothing is granted
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _line(self, deadline: float) -> bytes | None:
        """The next line, or None when the time is up or the program has ended."""
        assert self._process is not None
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                return None
            chunk = os.read(descriptor, 65536)
            if not chunk:
                return None
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line


_LOCK = threading.Lock()


@lru_cache(maxsize=1)
def _shared() -> Worker:
    worker = Worker()
    atexit.register(worker.close)
    return worker


def ask_once(gold: str, answer: str, kind: str) -> Decision:
    """For the plain function `equal`: one worker for the whole process, started on the first hard case."""
    with _LOCK:
        return _shared().ask(gold, answer, kind)
