"""What thinkcap stands on: every installed dependency with version and licence, and known advisories.

    python bench/audit.py

Advisories need pip-audit and its database on the network; without either, one line says so.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from importlib.metadata import Distribution, distributions


def licence(found: Distribution) -> str:
    said = found.metadata.get_all("Classifier") or []
    classes = [c.rpartition(" :: ")[2] for c in said if c.startswith("License ::")]
    free = (found.metadata.get("License") or "").strip().splitlines()
    return found.metadata.get("License-Expression") or ", ".join(classes) or (free[0][:60] if free else "not said")


def main() -> int:
    rows = {
        re.sub(r"[-_.]+", "-", found.name).lower(): (found.version, licence(found))
        for found in distributions()
        if found.name
    }
    for name, (version, terms) in sorted(rows.items()):
        print(f"{name:<36} {version:<16} {terms}")
    print(f"{len(rows)} distributions")
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
