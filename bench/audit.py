"""What thinkcap stands on: every installed dependency with version and licence, and known advisories.

    python bench/audit.py

It also writes a bill of materials (CycloneDX, JSON) to build/bom.json. Advisories need pip-audit and its database
on the network; without either, one line says so.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
BOM = ROOT / "build" / "bom.json"


def licence(found: Distribution) -> str:
    said = found.metadata.get_all("Classifier") or []
    classes = [c.rpartition(" :: ")[2] for c in said if c.startswith("License ::")]
    free = (found.metadata.get("License") or "").strip().splitlines()
    return found.metadata.get("License-Expression") or ", ".join(classes) or (free[0][:60] if free else "not said")


def write_bom(path: Path) -> None:
    """By the standard's own tool. Short names of packages: where they were fetched from is nobody's business."""
    path.parent.mkdir(parents=True, exist_ok=True)
    words = ["environment", "--pyproject", str(ROOT / "pyproject.toml"), "--short-PURLs", "--output-reproducible"]
    words += ["--sv", "1.6", "--of", "JSON", "-o", str(path), sys.executable]
    subprocess.run([sys.executable, "-m", "cyclonedx_py", *words], check=True, timeout=300)


def main() -> int:
    rows = {
        re.sub(r"[-_.]+", "-", found.name).lower(): (found.version, licence(found))
        for found in distributions()
        if found.name
    }
    for name, (version, terms) in sorted(rows.items()):
        print(f"{name:<36} {version:<16} {terms}")
    print(f"{len(rows)} distributions")
    write_bom(BOM)
    print(f"bill of materials: {BOM.relative_to(ROOT)}")
    if importlib.util.find_spec("pip_audit") is None:
        print("advisories: not looked up; pip install pip-audit, then run this again")
        return 0
    done = subprocess.run([sys.executable, "-m", "pip_audit"], capture_output=True, text=True, timeout=300)
    if done.returncode not in (0, 1) or "Error" in done.stderr:
        print("advisories: not looked up; the database cannot be reached from here")
        return 0
    print(done.stdout or done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
