"""What a plain `pip install` takes in a fresh environment: seconds, megabytes, and which packages are largest.

python bench/install.py [EXTRA,...]      # EXTRA as in README: figures, serve, ...

Before matplotlib became an extra and scipy a tool of the tests, it was 89 s and 761 MB.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
BEFORE_S, BEFORE_MB = 89, 761
PIP = ("-m", "pip", "--disable-pip-version-check", "-q")
SHOWN = 10


def megabytes(path: Path) -> float:
    if path.is_file():
        return path.stat().st_size / 1e6
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file() and not file.is_symlink()) / 1e6


def main(extras: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fresh, wheels = Path(folder) / "fresh", Path(folder) / "wheels"
        subprocess.run([sys.executable, *PIP, "wheel", "--no-deps", "-w", wheels, ROOT], check=True)
        (wheel,) = wheels.glob("*.whl")
        venv.create(fresh, with_pip=True)
        started = time.perf_counter()
        wanted = f"{wheel}[{extras}]" if extras else str(wheel)
        subprocess.run([fresh / "bin" / "python", *PIP, "install", wanted], check=True)
        took = time.perf_counter() - started
        words = [fresh / "bin" / "thinkcap", "study", "-q", "--limit", "2", "--budgets", "64"]
        subprocess.run(words, check=True, cwd=folder, stdout=subprocess.DEVNULL)
        (site,) = fresh.glob("lib/python*/site-packages")
        sizes = {path.name: megabytes(path) for path in site.iterdir()}
        for name in [name for name in sizes if name.endswith(".libs") and name[:-5] in sizes]:
            sizes[name[:-5]] += sizes.pop(name)
        whole = megabytes(fresh)
    print("| plain install | before | now |\n|---|---|---|")
    print(f"| time, s (wheels from the mirror at hand) | {BEFORE_S} | {took:.0f} |")
    print(f"| size, MB (1 MB = 10^6 bytes) | {BEFORE_MB} | {whole:.0f} |")
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:SHOWN]
    print("\nLargest, MB: " + ", ".join(f"{name} {size:.0f}" for name, size in largest))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
