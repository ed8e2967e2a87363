"""An hour of strange input to everything that reads a stranger's bytes: no crash, hang, growth or traceback.

    python bench/fuzz.py [--minutes 60] [--seed 0] [--keep] [target ...]

Each target (tests/attack/targets.py) runs in a process of its own and gets an equal share of the time. Inputs that
led to a new kind of outcome are changed further; with `--keep` small ones go into tests/attack/corpus, which
`make test` replays. Prints a line per target and what went wrong with the file that does it; ends with 1 then.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

_ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(_ROOT / "tests" / room) for room in (".", "attack", "gateway", "engines", "report")]

HANG_S = 120
GROWTH_MB = 256
"""Above what the target held after its first thousand inputs; allocators keep a few of the largest."""
MOST_KEPT = 40
KEPT_BYTES = 4096
CORPUS = _ROOT / "tests" / "attack" / "corpus"


def child(name: str, seconds: float, seed: int, keep: bool, wrong: Path) -> None:
    """Feeds one target; the last line it prints is what happened."""
    from mutations import mutate
    from targets import TARGETS
    from wire import resident_mb

    chance = random.Random(f"{name} {seed}")
    current = wrong / f"{name}.last"
    began = time.monotonic()
    tried, failures, rest_mb = 0, 0, 0.0
    kept = sorted((CORPUS / name).glob("*")) if (CORPUS / name).is_dir() else []
    with TARGETS[name]() as target:
        pool = [*target.seeds, *(path.read_bytes() for path in kept)]
        first, kinds = list(pool), set()
        while time.monotonic() - began < seconds:
            data = first.pop() if first else mutate(chance, chance.choice(pool), pool)
            current.write_bytes(data)
            faulthandler.dump_traceback_later(HANG_S, exit=True)
            tried += 1
            try:
                kind = target.try_one(data)
            except Exception:
                failures += 1
                kind = traceback.format_exc()[-300:]
                if kind not in kinds:
                    stem = wrong / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
                    stem.with_suffix(".input").write_bytes(data)
                    stem.with_suffix(".txt").write_text(traceback.format_exc(), "utf-8", "replace")
            faulthandler.cancel_dump_traceback_later()
            if kind not in kinds:
                kinds.add(kind)
                pool.append(data)
                if keep and len(data) <= KEPT_BYTES and len(kept) < MOST_KEPT and data not in target.seeds:
                    (CORPUS / name).mkdir(parents=True, exist_ok=True)
                    kept.append(CORPUS / name / hashlib.sha256(data).hexdigest()[:16])
                    kept[-1].write_bytes(data)
            if tried == 1000 or (not rest_mb and time.monotonic() - began > seconds / 3):
                rest_mb = resident_mb()
        grown_mb = resident_mb() - (rest_mb or resident_mb())
    current.unlink(missing_ok=True)
    print(json.dumps({"tried": tried, "kinds": len(kinds), "wrong": failures, "grown_mb": round(grown_mb, 1)}))


def main() -> bool:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="Keep what led to new kinds of outcome.")
    parser.add_argument("--child", metavar="FOLDER", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        child(asked.targets[0], asked.minutes * 60, asked.seed, asked.keep, asked.child)
        return True
    from targets import TARGETS

    unknown = [name for name in asked.targets if name not in TARGETS]
    if unknown:
        parser.error(f"unknown target {unknown[0]!r}; known: {', '.join(TARGETS)}")
    names = asked.targets or list(TARGETS)
    # A part of a campaign writes nothing.
    keep = asked.keep and float(os.environ.get("CAMPAIGN_SHARE") or 1) == 1
    wrong = Path(tempfile.mkdtemp(prefix="thinkcap-fuzz-"))
    share = asked.minutes / len(names)
    print(f"{'target':10}{'inputs':>9}{'a second':>10}{'kinds':>7}{'grown MB':>10}{'wrong':>7}")
    well = True
    for name in names:
        command = [sys.executable, __file__, name, "--minutes", str(share), "--seed", str(asked.seed)]
        command += ["--child", str(wrong), *(["--keep"] if keep else [])]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        try:
            found = json.loads(done.stdout.strip().splitlines()[-1])
        except (ValueError, IndexError):
            well = False
            print(
                f"{name:10} ended with {done.returncode} at {wrong / name}.last:\n{done.stderr[-2000:]}",
                flush=True,
            )
            continue
        well &= found["wrong"] == 0 and found["grown_mb"] <= GROWTH_MB
        rate = found["tried"] / (60 * share)
        print(
            f"{name:10}{found['tried']:>9,}{rate:>10.0f}{found['kinds']:>7}{found['grown_mb']:>10.0f}{found['wrong']:>7}",
            flush=True,
        )
    if not well:
        print(f"what went wrong: {wrong}")
    return well


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
