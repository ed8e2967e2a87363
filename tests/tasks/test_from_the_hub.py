"""Sets that are not at hand come from the Hub: its own library asks, a server answers as the Hub does.

The files are served as `math-ai/aime24`, `aime25` and `amc23` have them: Parquet or JSONL, the answer in a
column or boxed in a solution.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from thinkcap.tasks.competitions import SETS

pytest.importorskip("huggingface_hub")


class Hub(BaseHTTPRequestHandler):
    """What `resolve` of the Hub answers: the commit, the file's tag, the bytes."""

    files: dict[str, bytes]

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        content = self.files.get(self.path)
        if content is None:
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("X-Repo-Commit", self.path.split("/resolve/")[1].split("/")[0])
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Served", (Hub,), {"files": {}}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def put(hub: ThreadingHTTPServer, name: str, rows: list[dict[str, object]]) -> None:
    pinned = SETS[name]
    if pinned.hub_file.endswith(".parquet"):
        buffer = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), buffer)
        content = buffer.getvalue()
    else:
        content = "\n".join(map(json.dumps, rows)).encode()
    where = f"/datasets/{pinned.hub}/resolve/{pinned.revision}/{pinned.hub_file}"
    hub.RequestHandlerClass.files[where] = content  # type: ignore[attr-defined]


def study(hub: ThreadingHTTPServer, name: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    here = {"HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "HF_HOME": str(cwd / "cache")}
    here |= {"HF_HUB_DISABLE_XET": "1", "no_proxy": "*"}
    kept = {name: value for name, value in os.environ.items() if name not in ("THINKCAP_DATA", "HF_HUB_OFFLINE")}
    words = [sys.executable, "-m", "thinkcap", "study", "--task", name, "--dry-run"]
    return subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=kept | here, check=False)


def test_each_set_as_the_hub_has_it(shared: Path, hub: ThreadingHTTPServer, tmp_path: Path) -> None:
    for name in SETS:
        stored = map(json.loads, (shared / "data" / "aime" / f"{name}.jsonl").read_text().splitlines())
        rows = [{"id": at, "problem": row["problem"], "answer": row["answer"]} for at, row in enumerate(stored)]
        if name == "aime24":
            rows = [{"problem": r["problem"], "solution": rf"\boxed{{{r['answer']}}}", "url": "?"} for r in rows]
        if name == "amc23":
            rows = [{"question": r["problem"], "answer": r["answer"].removesuffix(".0")} for r in rows]
        put(hub, name, rows)
        done = study(hub, name, tmp_path)
        assert done.returncode == 0, done.stderr
        assert f"{SETS[name].count} questions" in done.stdout + done.stderr


def test_what_the_hub_has_else_is_refused_in_one_line(hub: ThreadingHTTPServer, tmp_path: Path) -> None:
    put(hub, "aime25", [{"problem": "What is 1 + 1?", "answer": "2"}])
    for name, said in (("aime25", "is not AIME 2025 as published"), ("amc23", "cannot fetch AMC 2023")):
        done = study(hub, name, tmp_path)
        (line,) = done.stderr.splitlines()
        assert (done.returncode, done.stdout) == (2, "")
        assert said in line
