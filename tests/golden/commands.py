"""Run command lines of thinkcap quickly: one process forks for each command and imports what its child imported.

As a program it reads one JSON object per line, `{"words": [...], "folder": "..."}`, and answers each with one.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it printed."""

    exit: int
    stdout: str
    stderr: str


def environment(home: Path) -> dict[str, str]:
    """Settings of the shell that change what thinkcap prints are fixed; the rest is this process's own."""
    spec = importlib.util.find_spec("thinkcap")
    assert spec is not None
    assert spec.origin is not None
    own = {name: value for name, value in os.environ.items() if not name.startswith(("THINKCAP_", "OTEL_"))}
    own.pop("COMP_WORDS", None)
    fixed = {"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    paths = [str(Path(spec.origin).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**own, **fixed, "HOME": str(home), "HF_HUB_OFFLINE": "1", "PYTHONPATH": os.pathsep.join(paths)}


class CommandLine:
    """`CommandLine(home).run(folder, "study", "--help")` is `thinkcap study --help` in `folder`.

    `run(folder, "-c", CODE)` runs Python code instead.
    """

    def __init__(self, home: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=home,
            env=environment(home),
        )

    def run(self, folder: Path, *words: str) -> Outcome:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"words": words, "folder": str(folder)}) + "\n")
        self._process.stdin.flush()
        return Outcome(**json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def _run(words: Sequence[str], folder: str) -> Mapping[str, Any]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as modules:
        child = os.fork()
        if child == 0:
            _become(words, folder, out.fileno(), err.fileno(), modules.fileno())
        _, status = os.waitpid(child, 0)
        texts = []
        for file in (out, err, modules):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    _import(texts[2].split())
    return {"exit": os.waitstatus_to_exitcode(status), "stdout": texts[0], "stderr": texts[1]}


def _import(names: Sequence[str]) -> None:
    """The next child has them already; this also works if modules change their names."""
    for name in names:
        if name not in sys.modules:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


def _become(words: Sequence[str], folder: str, out: int, err: int, modules: int) -> None:
    """The child: run the command on these files, and never return."""
    code: Any = 0
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (out, 1), (err, 2)):
            os.dup2(source, target)
        os.chdir(folder)
        if words[:1] == ["-c"]:
            exec("\n".join(words[1:]), {"__name__": "__main__"})
        else:
            sys.argv = ["thinkcap", *words]
            runpy.run_module("thinkcap", run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 70
    os.write(modules, "\n".join(name for name in sys.modules if "__main__" not in name).encode())
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(_run(**json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
