"""Every client in every way, on the bundled model, in front of llama.cpp's server and of vLLM: what came of it.

    make setup-clients setup-inspect setup-servers
    .venv/bin/python bench/clients.py                            # a table
    .venv/bin/python bench/clients.py --page docs/clients.md     # the code of each way into the page as well

vLLM runs in an environment of its own, `.venv-servers` or the one named by THINKCAP_SERVERS.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / room) for room in (".", "clients", "engines", "gateway", "servers")]

import started  # noqa: E402
from running import gateway_running  # noqa: E402
from ways import WAYS, HeldBack, Way, carried_out, snippets  # noqa: E402

from page import written  # noqa: E402

SERVERS = Path(os.environ.get("THINKCAP_SERVERS", ROOT / ".venv-servers")) / "bin" / "python"
PLACES = {"bundled": "bundled", "llama": "llama.cpp", "vllm": "vLLM"}


@contextmanager
def gateway(kind: str) -> Iterator[str]:
    """The address of a gateway with the model named pebble behind it."""
    if kind == "bundled":
        with gateway_running("bundled") as (address, _):
            yield address
        return
    os.environ["THINKCAP_API_KEY"] = started.KEY
    python = str(SERVERS) if kind == "vllm" else sys.executable
    with tempfile.TemporaryDirectory() as folder:
        process, server = started.launch(kind, Path(folder) / kind, python=python)
        try:
            with gateway_running([{"model": server.url, "name": "pebble"}]) as (address, _):
                yield address
        finally:
            started.stop(process)


def tried(way: Way, kind: str, address: str) -> str:
    if not way.version:
        return "not installed"
    if way.raw and kind == "bundled":
        return "not offered"
    try:
        # Some clients talk; the table alone is for stdout.
        with redirect_stdout(sys.stderr):
            carried_out(way, address, "pebble")
    except HeldBack as error:
        print(error, file=sys.stderr)
        return "held back"
    except Exception as error:  # whatever a client raises is its result here
        print(f"{way.client}, {way.tried}, {PLACES[kind]}: {type(error).__name__}: {error}", file=sys.stderr)
        return "FAILED"
    return "works"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, help="a page with the marks `clients` and `snippets`")
    # A part of the campaign leaves out vLLM, which takes minutes to start.
    part = float(os.environ.get("CAMPAIGN_SHARE") or 1) < 1
    parser.add_argument("--on", nargs="*", choices=list(PLACES), default=["llama"] if part else list(PLACES))
    args = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = "unused"  # lm-eval takes its key from nowhere else.
    found: dict[str, list[str]] = {}
    for kind in args.on:
        if kind == "vllm" and not SERVERS.exists():
            print("vLLM: not tried, its environment is missing (make setup-servers)", file=sys.stderr)
            continue
        with gateway(kind) as address:
            found[kind] = [tried(way, kind, address) for way in WAYS]
    rows = [("client", "version", "what", *(PLACES[kind] for kind in found))]
    for at, way in enumerate(WAYS):
        rows.append((way.client, way.version or "-", way.tried, *(results[at] for results in found.values())))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    print("\n".join(lines))
    if args.page:
        written(args.page, "clients", "```\n" + "\n".join(lines) + "\n```")
        written(args.page, "snippets", snippets())
    return int(any("FAILED" in results for results in found.values()))


if __name__ == "__main__":
    sys.exit(main())
