"""llama.cpp's server as a program of its own, where no `llama-server` is installed: the one inside xllamacpp.

It takes those words of `llama-server` that thinkcap itself uses, and its key from LLAMA_API_KEY.

    python -m thinkcap.engines.served.llama --model model.gguf --port 8090 --parallel 8 --ctx-size 32768
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from thinkcap.core.errors import ConfigError
from thinkcap.engines.llamacpp import cores, start_server


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="llama-server", description="llama.cpp's server, as xllamacpp has it")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--alias", default="")
    parser.add_argument("--host", choices=["127.0.0.1"], default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--parallel", type=int, default=8)
    parser.add_argument("--ctx-size", type=int, required=True, help="of all slots together")
    parser.add_argument("--threads", type=int, default=cores())
    parser.add_argument("--no-webui", action="store_true", help="as always here")
    said = parser.parse_args(words)
    context = said.ctx_size // said.parallel
    try:
        server = start_server(
            said.model,
            context,
            said.parallel,
            said.threads,
            os.environ.get("LLAMA_API_KEY", ""),
            port=said.port,
            alias=said.alias,
        )
    except ConfigError as err:
        print(err, file=sys.stderr)
        return 1
    print(f"listens at {server.listening_address}", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    return 0


if __name__ == "__main__":
    # Blocked before the first thread, so that the signal comes to `sigwait` whoever it was sent to.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    sys.exit(main())
