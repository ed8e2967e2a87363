"""The program that compares answers where it may hang or grow: `python -I worker_program.py FOLDER...`.

Strangers wrote what it reads, so it runs alone: isolated from the current folder and the environment, and under
limits that the kernel keeps. It loads the package it lies in by its place; FOLDERs hold the libraries and come
last on the path, so that nothing in them stands in for the standard library or for what is installed.

One JSON line in ({"gold": ..., "answer": ..., "kind": ...}), one line out ({"decision": "same"}). Before it loads
the algebra system it says {"wait": true}, and {"wait": false} when that is done, so that the caller's clock can
start again. The caller ends it when a case takes too long.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import IO

_LIMITS = {
    "RLIMIT_AS": 3 * 2**30,
    "RLIMIT_FSIZE": 16 * 2**20,  # bytecode of the libraries is all it may have to write
    "RLIMIT_NOFILE": 64,
    "RLIMIT_NPROC": 0,
    "RLIMIT_CORE": 0,
}
_CPU_S = 120
"""For one case, loading included: ends a worker whose caller was killed and can end it no more."""


def main() -> None:
    _limit()
    sys.path.extend(folder for folder in sys.argv[1:] if folder not in sys.path)
    _load_own_package()
    # Libraries may print; the protocol keeps the real standard output to itself.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    sys.stdout = sys.stderr
    _say(out, {"wait": False})
    loaded = False
    for line in sys.stdin:
        _allow_seconds()
        case = json.loads(line)
        decision, loaded = _settle(case["gold"], case["answer"], case["kind"], out, loaded)
        _say(out, {"decision": decision})


def _settle(gold: str, answer: str, kind: str, out: IO[str], loaded: bool) -> tuple[str, bool]:
    from thinkcap.grading import text
    from thinkcap.grading.equality import decide, final
    from thinkcap.grading.kinds import Decision

    try:
        decision = decide(gold, answer, kind)  # type: ignore[arg-type]
        if decision is not Decision.UNSURE:
            return decision.value, loaded
        if kind == "text":
            return text.settle(gold, answer).value, loaded
        from thinkcap.grading import symbolic

        if not loaded:
            _say(out, {"wait": True})
            symbolic.load()
            loaded = True
            _say(out, {"wait": False})
        return symbolic.settle(final(gold) or gold, final(answer) or answer).value, loaded
    except (MemoryError, RecursionError):
        return Decision.UNREADABLE.value, loaded
    except (
        Exception
    ) as err:  # whatever an algebra system raises on strange input: this boundary turns it to a verdict
        print(f"{type(err).__name__}: {err}", file=sys.stderr)
        return Decision.UNREADABLE.value, loaded


def _load_own_package() -> None:
    """The caller's very copy of this package: another may be installed, and its rules may differ."""
    root = Path(__file__).resolve().parents[1]
    spec = importlib.util.spec_from_file_location(root.name, root / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[root.name] = package
    spec.loader.exec_module(package)


def _limit() -> None:
    """Every limit the system knows; one that it refuses is left out, since the caller's clock still counts."""
    try:
        import resource
    except ImportError:
        return
    for name, most in _LIMITS.items():
        try:
            resource.setrlimit(getattr(resource, name), (most, most))
        except (AttributeError, ValueError, OSError) as err:
            print(f"no {name}: {err}", file=sys.stderr)


def _allow_seconds() -> None:
    """Processor time up to now and that of one case; beyond it the kernel ends the program."""
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + _CPU_S, most))


def _say(out: IO[str], message: dict[str, object]) -> None:
    out.write(json.dumps(message) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
