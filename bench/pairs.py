"""The bundled model under six other markups behind real servers: which pairs ran, and what became of them.

    python bench/pairs.py llama-channel vllm-effort [--results build/markups] [--page docs/dialects.md]

Runs the tests of each named pair (tests/servers/test_served_markups.py, in the environment of real servers) and
keeps their reports in the folder. The table holds every pair that has a report there; the others were not run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from page import written

ROOT = Path(__file__).parents[1]
TESTS = "tests/servers/test_served_markups.py"
SERVERS = {"vllm": "vLLM", "llama": "llama.cpp's server", "transformers": "`transformers serve`"}
MARKUPS = ("channel", "brackets", "colon", "opened", "word", "effort")
PAIRS = tuple(f"{server}-{markup}" for server in SERVERS for markup in MARKUPS)


def run(pair: str, results: Path) -> None:
    """Its five tests, one report; a pair that fails is a line of the table, not the end of the run."""
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--timeout",
        "3600",
        "-m",
        "servers or campaign",
        "-k",
        pair,
        TESTS,
    ]
    report = results.resolve() / f"{pair}.xml"
    subprocess.run([*words, "--junit-xml", str(report)], cwd=ROOT, stdout=sys.stderr, check=False)


def said(pair: str, results: Path) -> str:
    report = results / f"{pair}.xml"
    if not report.exists():
        return "not run"
    cases = list(ElementTree.parse(report).iter("testcase"))
    bad = [c for c in cases if c.find("failure") is not None or c.find("error") is not None]
    skipped = sum(c.find("skipped") is not None for c in cases)
    if bad or not cases:
        return f"{len(bad)} of {len(cases)} checks FAILED"
    passed = len(cases) - skipped
    return f"{passed} of {passed} checks" + (f", {skipped} do not apply" if skipped else "")


def table(results: Path) -> str:
    lines = ["| markup | " + " | ".join(SERVERS.values()) + " |", "|---" * (len(SERVERS) + 1) + "|"]
    for markup in MARKUPS:
        lines.append(f"| {markup} | " + " | ".join(said(f"{s}-{markup}", results) for s in SERVERS) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="*", metavar="PAIR", help=", ".join(PAIRS))
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "markups")
    parser.add_argument("--page", type=Path, help="write the table into this page")
    args = parser.parse_args()
    if unknown := [pair for pair in args.pairs if pair not in PAIRS]:
        parser.error(f"no pair is called {', '.join(unknown)}; there are {', '.join(PAIRS)}")
    args.results.mkdir(parents=True, exist_ok=True)
    for pair in args.pairs:
        run(pair, args.results)
    print(table(args.results))
    if args.page:
        written(args.page, "markups", table(args.results))


if __name__ == "__main__":
    main()
