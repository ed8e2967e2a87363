"""A `llama-server` that does what a test wants: dies at once, never answers, or leaves others running.

Which one, FAKE_SERVER says; those it starts carry the path of the model, by which a test finds them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    wanted, model = os.environ["FAKE_SERVER"], sys.argv[sys.argv.index("--model") + 1]
    print("loading weights", flush=True)
    if wanted == "dies":
        print("\x1b[31merror: out of memory\x1b[0m", file=sys.stderr, flush=True)
        sys.exit(3)
    # One child in its group, one that left it, and one that outlives its parent.
    rest = [sys.executable, "-c", "import time; time.sleep(600)", model]
    subprocess.Popen(rest)
    subprocess.Popen(rest, start_new_session=True)
    subprocess.run(["setsid", "sh", "-c", '"$0" "$@" & exit 0', *rest], check=True)
    if wanted == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("all started", flush=True)
    time.sleep(600)


def install(folder: Path) -> str:
    """A folder for the PATH, with this program under the server's name."""
    folder.mkdir()
    script = folder / "llama-server"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" "$@"\n')
    script.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def in_process_table(token: str) -> list[str]:
    """Command lines of processes that name it, but for those that are dead and only wait to be read."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if token in words:
                found.append(f"{entry.name} {words}")
    return found


def wait_for(count: int, token: str) -> list[str]:
    """Until exactly so many processes name it; the last look, whether or not there are."""
    from patience import PATIENCE_S  # here, since this file is a program too

    deadline = time.monotonic() + PATIENCE_S
    while len(found := in_process_table(token)) != count and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


if __name__ == "__main__":
    main()
