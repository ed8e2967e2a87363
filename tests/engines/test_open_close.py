"""A server that was started and never asked ends when it is dropped."""

from __future__ import annotations

import subprocess
import sys

from patience import PATIENCE_S

# llama.cpp says it is ready before its loop runs; a stop that comes in between must not be lost. Where it was, the
# drop held the interpreter for ever, so this happens in a process of its own.
START_AND_DROP = """
import threading
from pathlib import Path
from thinkcap.engines.llamacpp import start_server
from thinkcap.model import pebble_gguf

def some():
    for _ in range(5):
        start_server(Path(pebble_gguf()), 256, 1, 1, "key")

threads = [threading.Thread(target=some) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_dropped_at_once_it_ends() -> None:
    subprocess.run([sys.executable, "-c", START_AND_DROP], check=True, timeout=PATIENCE_S)
