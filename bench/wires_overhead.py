"""Requests a second on each wire, of the gateway and of LiteLLM's proxy in front of the same stub server.

    THINKCAP_LITELLM=VENV/bin/litellm python bench/wires_overhead.py [--seconds 5]

A line a wire, whole answers and streams: what each reaches at its best of 1, 32 and 256 connections. All that
`bench/gateway_overhead.py` measures besides goes to stderr. Ends with status 1 where a line is below 20 times.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from gateway_overhead import PATHS

HERE = Path(__file__).parent
WANTED = 20
ROUNDS = 5


def measured(wire: str, litellm: str, seconds: float) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found.json"
        command = [sys.executable, str(HERE / "gateway_overhead.py"), "--litellm", litellm, "--wire", wire]
        command += ["--kinds", "whole", "burst", "--seconds", str(seconds / ROUNDS), "--rounds", str(ROUNDS)]
        subprocess.run([*command, "--json", str(found)], check=True, stdout=sys.stderr)
        rows: list[dict[str, Any]] = json.loads(found.read_text(encoding="utf-8"))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    args = parser.parse_args()
    litellm = os.environ.get("THINKCAP_LITELLM")
    if not litellm:
        print("not measured: THINKCAP_LITELLM names no litellm program", file=sys.stderr)
        return 0
    lines, least = [], float("inf")
    for wire in PATHS:
        rows = measured(wire, litellm, args.seconds)
        for kind in ("whole", "burst"):
            best, failed = {}, {}
            for name in ("thinkcap", "litellm"):
                own = [row for row in rows if row["server"] == name and row["kind"] == kind]
                best[name] = max(row["requests_per_s"] for row in own)
                failed[name] = sum(int(row["failed"]) for row in own)
            times = best["thinkcap"] / best["litellm"]
            least = min(least, times)
            named = "whole" if kind == "whole" else "streams"
            lines.append(
                f"{wire:10}{named:9}{best['thinkcap']:12,.0f}{best['litellm']:12,.1f}{times:8.0f}"
                f"{failed['thinkcap']:12}{failed['litellm']:12}"
            )
    print(f"{'wire':10}{'':9}{'thinkcap/s':>12}{'LiteLLM/s':>12}{'times':>8}{'failed':>12}{'failed':>12}")
    print("\n".join(lines))
    return int(least < WANTED)


if __name__ == "__main__":
    sys.exit(main())
