"""The program that compares answers where it may hang or grow: `python -m thinkcap.grading.worker`.

One JSON line in ({"gold": ..., "answer": ..., "kind": ...}), one line out ({"decision": "same"}). Before it loads
the algebra system it says {"wait": true}, and {"wait": false} when that is done, so that the caller's clock can
start again. The caller ends it when a case takes too long.
"""

from __future__ import annotations

import json
import os
import sys
from typing import IO

_MEMORY_BYTES = 3 * 2**30


def main() -> None:
    _limit_memory()
    # Libraries may print; the protocol keeps the real standard output to itself.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    sys.stdout = sys.stderr
    _say(out, {"wait": False})
    loaded = False
    for line in sys.stdin:
        case = json.loads(line)
        decision, loaded = _settle(case["gold"], case["answer"], case["kind"], out, loaded)
        _say(out, {"decision": decision})


def _settle(gold: str, answer: str, kind: str, out: IO[str], loaded: bool) -> tuple[str, bool]:
    from thinkcap.grading.equal import Decision, decide, final

    try:
        decision = decide(gold, answer, kind)  # type: ignore[arg-type]
        if decision is not Decision.UNSURE:
            return decision.value, loaded
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


def _limit_memory() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    except (
        ImportError,
        ValueError,
        OSError,
    ) as err:  # not every system limits address space; the clock still does
        print(f"no memory limit: {err}", file=sys.stderr)


def _say(out: IO[str], message: dict[str, object]) -> None:
    out.write(json.dumps(message) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
