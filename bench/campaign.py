"""Long measurements, one table: each suite replaces its own block in the docs.

    make campaign                            # everything, hours; writes docs
    make campaign SUITES="contract kills"    # two of them
    CAMPAIGN_SHARE=0.05 make campaign        # a twentieth of each; docs stay as they are
    CAMPAIGN_SECONDS=600 make campaign       # as many as ten minutes allow; what failed by then fails

A suite is a command after `python`. A number in braces is how many of its things it does in full; the share scales
it. What a script prints on stdout becomes its block (progress belongs on stderr); a test marked `campaign` scales
with the fixture `campaign.of(30)` and adds a line to its suite's block with `campaign.says("30 kills: ...")`.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import thinkcap
from page import written

ROOT = Path(__file__).parents[1]
PAGE = "docs/campaign.md"
START_S = 120
"""What a suite may take besides its share of the work: imports, servers, models."""


@dataclass(frozen=True)
class Suite:
    name: str
    shows: str
    command: str
    minutes: float
    page: str = PAGE
    servers: bool = False
    """Runs in the environment of real model servers (`make setup-servers`)."""
    markdown: bool = False
    """What it prints is a page's own markup, and no text to be shown as it stands."""


SUITES = (
    Suite(
        "contract",
        "`max_tokens` is a contract, and no request that no-think can answer goes unanswered",
        "bench/gateway_contract.py --requests {2000}",
        30,
        "docs/serve.md",
    ),
    Suite(
        "wires",
        "chat, responses and messages keep one contract under random caps, budgets, efforts and streams",
        "bench/gateway_wires.py --requests {2000}",
        30,
        "docs/serve.md",
    ),
    Suite(
        "overhead",
        "on every wire the gateway answers at least 20 times the requests a second of LiteLLM's proxy",
        "bench/wires_overhead.py --seconds {5}",
        30,
        "docs/serve.md",
    ),
    Suite(
        "passing",
        "how near the gateway comes to a bare pass-through that reads nothing",
        "bench/gateway_overhead.py --passing --rounds {7}",
        10,
        "docs/serve.md",
    ),
    Suite(
        "json",
        "answers under a JSON schema are complete, and about as accurate as answers in words",
        "bench/json_answers.py --requests {500}",
        30,
        "docs/serve.md",
    ),
    Suite(
        "soak",
        "1,000 streams held for a minute, then a server that dies, stalls and stutters: everybody gets an end",
        "bench/gateway_soak.py --streams {1000} --seconds {60} --faults {200}",
        15,
    ),
    Suite(
        "fleet",
        "five servers killed, stalled and brought back: every request gets an end, none twice, the load is even",
        "bench/fleet.py --seconds {600}",
        15,
        "docs/fleet.md",
    ),
    Suite(
        "prefix",
        "what a conversation gains by staying with its server, on two llama.cpp servers",
        "bench/fleet_prefix.py --conversations {8}",
        10,
        "docs/fleet.md",
    ),
    Suite(
        "attack",
        "a flood of 500 MB from each side of the gateway: what it holds in memory",
        "bench/gateway_attack.py --megabytes {500}",
        30,
    ),
    Suite(
        "fuzz",
        "an hour of strange input to whatever reads a stranger's bytes: no crash, hang, growth or traceback",
        "bench/fuzz.py --minutes {60} --keep",
        80,
    ),
    Suite(
        "coverage",
        "95 % intervals hold the truth in about 95 % of simulated studies",
        "bench/coverage.py --repetitions {1000}",
        60,
    ),
    Suite(
        "traffic",
        "100,000 lines of a batch without golds diagnosed; within 5 s on a quiet core",
        "bench/traffic.py --lines {100000}",
        10,
        "docs/watch.md",
    ),
    Suite(
        "watching",
        "what `thinkcap serve --watch` costs, compared with a bare pass-through that reads nothing",
        "bench/gateway_overhead.py --watching --rounds {5}",
        10,
        "docs/watch.md",
    ),
    Suite(
        "house",
        "the source in numbers: rooms, circles, names, functions between the command line and the model",
        "bench/house.py",
        5,
        "docs/tour.md",
    ),
    Suite(
        "grading", "10,000 answers graded, and 1 MB of hostile text read", "bench/grading.py --count {10000}", 20
    ),
    Suite(
        "rivals",
        "the paper's methods and those of others at the same caps, every token charged: none above its cap",
        "bench/rivals.py --study {100}",
        60,
        "docs/rivals.md",
        markdown=True,
    ),
    Suite(
        "replay",
        "what sixteen budgets of a method with trials generate, against its largest alone and the least possible",
        "bench/rivals_replay.py --questions {200}",
        60,
        "docs/rivals.md",
        markdown=True,
    ),
    Suite(
        "rows",
        "continuing, reporting and calibrating a study of millions of rows: time and memory grow with the rows",
        "bench/rows.py --rows {3200000}",
        60,
        "docs/study.md",
    ),
    Suite(
        "runner",
        "rows a second on one core with a model that takes no time",
        "bench/runner.py --questions {2000}",
        10,
        "docs/study.md",
        markdown=True,
    ),
    Suite(
        "pace",
        "the time left that real studies of the bundled model tell, against what they then took",
        "bench/pace.py --questions {400}",
        30,
        "docs/study.md",
        markdown=True,
    ),
    Suite(
        "clients",
        "clients of all kinds get their answers, on the bundled model, llama.cpp's server and vLLM",
        "bench/clients.py",
        20,
        "docs/clients.md",
    ),
    Suite(
        "tools",
        "a real model behind llama.cpp's server thinks within its budget, calls tools and uses their results",
        "-m pytest -q -m campaign --timeout 3600 tests/servers/test_tools_by_ids.py",
        60,
        "docs/clients.md",
    ),
    Suite(
        "tests",
        "tests marked `campaign`: kills, chaos, large samples",
        "-m pytest -q -m 'campaign and not servers' --timeout 3600 tests",
        120,
    ),
    Suite(
        "servers",
        "tests marked `campaign` on real model servers",
        "-m pytest -q -m 'campaign and servers' --timeout 3600 tests/servers",
        120,
        servers=True,
    ),
)


def scaled(command: str, share: float) -> list[str]:
    """The words of a command, each number in braces scaled and at least 1.

    >>> scaled("bench/x.py --requests {2000} --n 3", 0.05)
    ['bench/x.py', '--requests', '100', '--n', '3']
    """
    return shlex.split(re.sub(r"\{(\d+)\}", lambda found: str(math.ceil(int(found[1]) * share)), command))


def python(suite: Suite) -> Path | None:
    if not suite.servers:
        return Path(sys.executable)
    found = Path(os.environ.get("THINKCAP_SERVERS", ROOT / ".venv-servers")) / "bin" / "python"
    return found if found.exists() else None


def run(suite: Suite, program: Path, share: float, left_s: float) -> tuple[int, str, float]:
    """The exit status, what goes into the docs, and the seconds it took. Its children end with it."""
    tests = suite.command.startswith("-m pytest")
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told"
        child = subprocess.Popen(
            [program, *scaled(suite.command, share)],
            cwd=ROOT,
            env={**os.environ, "CAMPAIGN_SHARE": str(share), "CAMPAIGN_RESULTS": str(told)},
            stdout=None if tests else subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            printed, _ = child.communicate(timeout=min(left_s, START_S + 60 * suite.minutes * share))
            status = child.returncode
        except subprocess.TimeoutExpired:
            printed, status = "", 124
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        if tests:
            # Status 5: no test of this environment is marked.
            status = 0 if status == 5 else status
            printed = told.read_text(encoding="utf-8") if told.exists() else ""
    return status, printed.strip(), time.monotonic() - started


def block(suite: Suite, said: str, seconds: float) -> str:
    words = shlex.join(scaled(suite.command, 1.0))
    about = f"`python {words}`, version {thinkcap.__version__}, {max(1, round(seconds / 60))} min:"
    return f"{about}\n\n{said}" if suite.markdown else f"{about}\n\n```\n{said}\n```"


def record(suite: Suite, text: str) -> None:
    """Into the suite's block; the campaign's own page gets a new one where there is none yet."""
    page = ROOT / suite.page
    if suite.page == PAGE and f"<!-- {suite.name} -->" not in page.read_text(encoding="utf-8"):
        with page.open("a", encoding="utf-8") as file:
            title = suite.name.capitalize()
            file.write(f"\n## {title}\n\n{suite.shows[0].upper()}{suite.shows[1:]}.\n\n")
            file.write(f"<!-- {suite.name} -->\n<!-- end of {suite.name} -->\n")
    written(page, suite.name, text)
    written(ROOT / PAGE, "suites", listed())


def listed() -> str:
    """Every suite, what it shows, and where its results stand: a page says plainly what was never run in full."""
    rows = ["| suite | shows | at most | results |", "|---|---|---|---|"]
    for suite in SUITES:
        text = (ROOT / suite.page).read_text(encoding="utf-8")
        found = text.partition(f"<!-- {suite.name} -->")[2].partition(f"<!-- end of {suite.name} -->")[0].strip()
        name = Path(suite.page).name
        where = f"[{name.removesuffix('.md')}]({name})" if suite.page != PAGE else "below"
        results = where if found else "not yet run in full"
        rows.append(f"| `{suite.name}` | {suite.shows} | {suite.minutes:g} min | {results} |")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(suite.name for suite in SUITES))
    parser.add_argument("--list", action="store_true", help="write the table of suites, and run none")
    parser.add_argument("--share", type=float, default=float(os.environ.get("CAMPAIGN_SHARE") or 1))
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("CAMPAIGN_SECONDS") or math.inf))
    args = parser.parse_args()
    if not 0 < args.share <= 1:
        parser.error(f"the share is {args.share}; it must be above 0 and at most 1")
    if args.list:
        written(ROOT / PAGE, "suites", listed())
        return 0
    known = {suite.name: suite for suite in SUITES}
    if unknown := [name for name in args.suites if name not in known]:
        parser.error(f"no suite is called {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    # Whoever stops this stops the suite that runs, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    failed = []
    deadline = time.monotonic() + args.seconds
    for suite in [known[name] for name in args.suites] or SUITES:
        program = python(suite)
        if program is None:
            print(f"== {suite.name}: not run, .venv-servers is missing (make setup-servers)", flush=True)
            continue
        if time.monotonic() >= deadline:
            print(f"== {suite.name}: not run, the {args.seconds:.0f} s are over", flush=True)
            continue
        print(f"== {suite.name}: {suite.shows}", flush=True)
        status, said, seconds = run(suite, program, args.share, deadline - time.monotonic())
        if status not in (0, 124) and args.share < 1:
            # A part is small, and a busy machine can spoil it once; what is broken fails again.
            print(f"{said}\n== {suite.name}: failed with status {status}; once more", flush=True)
            again = run(suite, program, args.share, max(1.0, deadline - time.monotonic()))
            # One that has no time to fail again has failed.
            status, said, seconds = again if again[0] != 124 else (status, said, seconds)
        end = {0: "passed", 124: "timed out"}.get(status, f"FAILED with status {status}")
        print(f"{said}\n== {suite.name}: {end} after {seconds:.0f} s", flush=True)
        if status == 124 and args.share < 1:
            # A part is for finding what is broken; how fast this machine is today is another matter.
            print(f"{suite.name} was not finished, which is no failure of a part", flush=True)
        elif status:
            failed.append(suite.name)
        elif args.share == 1 and said:
            record(suite, block(suite, said, seconds))
    print(f"failed: {', '.join(failed)}" if failed else "every suite that ran passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
