"""Checks that the bundled model's files are the ones that were released.

python -m training.verify
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

LIMIT_BYTES = 30_000_000


def verify(home: Path) -> list[str]:
    """What is wrong, in words; empty when every recorded file is there and unchanged and no other is."""
    recorded = json.loads((home / "hashes.json").read_text())
    wrong = []
    for name, expected in recorded.items():
        path = home / name
        if not path.exists():
            wrong.append(f"{name}: recorded, but missing")
        elif (found := hashlib.sha256(path.read_bytes()).hexdigest()) != expected["sha256"]:
            wrong.append(f"{name}: sha256 is {found[:12]}..., recorded {expected['sha256'][:12]}...")
    present = {"pebble.gguf", *(f"pebble/{p.name}" for p in (home / "pebble").iterdir() if p.is_file())}
    wrong += [f"{name}: there, but not recorded" for name in sorted(present - set(recorded))]
    total = sum((home / name).stat().st_size for name in present if (home / name).exists())
    if total > LIMIT_BYTES:
        wrong.append(f"{total} bytes in all, more than {LIMIT_BYTES}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", type=Path, default=Path("src/thinkcap/model"), help="folder of the model")
    wrong = verify(parser.parse_args().home)
    print("\n".join(wrong) or "every file is as released")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
