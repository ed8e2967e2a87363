"""The real embedded engine behind the evaluation: llama.cpp over its loopback server, ids in and ids out.

with Llama(pebble_gguf(), slots=16) as llama:
    llama.complete([[1020, 831, 198]], limit=8)
"""

from __future__ import annotations

import http.client
import json
import secrets
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any


class Llama:
    """One server a core, `slots` sequences each; `limit` tokens at most after every prompt."""

    def __init__(self, path: Path, slots: int = 16, replicas: int = 2, context: int = 4096) -> None:
        import xllamacpp

        self._key = secrets.token_hex(16)
        self._servers = []
        self.slots, self.replicas = slots, replicas
        for _ in range(replicas):
            params = xllamacpp.CommonParams()
            params.model.path = str(path)
            params.n_parallel = slots
            params.n_ctx = context * slots
            params.port = 0
            params.api_keys = [self._key]
            params.verbosity = -1
            params.cpuparams.n_threads = 1
            params.cpuparams_batch.n_threads = 1
            # A stretch of cache for each sequence: batched greedy then equals a lone run.
            params.kv_unified = False
            self._servers.append(xllamacpp.Server(params))
        self.tokens = 0
        self.seconds = 0.0

    def __enter__(self) -> Llama:
        return self

    def __exit__(self, *_: object) -> None:
        self._servers.clear()

    def post(self, path: str, body: dict[str, Any], which: int = 0) -> Any:
        address = urllib.parse.urlparse(self._servers[which].listening_address)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=3600)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        connection.request("POST", path, json.dumps(body), headers)
        reply = connection.getresponse()
        text = reply.read()
        connection.close()
        if reply.status != 200:
            raise SystemExit(f"the engine answered {reply.status} to {path}: {text[:300]!r}")
        return json.loads(text)

    def complete(
        self, prompts: list[list[int]], limit: int, temperature: float = 0.0, seeds: list[int] | None = None
    ) -> list[list[int]]:
        """The ids after each prompt; the end-of-turn token is the last one where it came."""
        begun = time.time()

        def one(at: int) -> list[int]:
            body: dict[str, Any] = {
                "prompt": prompts[at],
                "n_predict": limit,
                "temperature": temperature,
                "return_tokens": True,
                "cache_prompt": False,
            }
            if temperature:
                body |= {"seed": (seeds or range(10**9))[at], "top_k": 0, "top_p": 1.0, "min_p": 0.0}
            return list(self.post("/completion", body, at % self.replicas)["tokens"])

        with ThreadPoolExecutor(self.slots * self.replicas) as pool:
            written = list(pool.map(one, range(len(prompts))))
        self.seconds += time.time() - begun
        self.tokens += sum(map(len, written))
        return written

    def tokenize(self, text: str) -> list[int]:
        body = {"content": text, "add_special": False, "parse_special": True}
        return list(self.post("/tokenize", body)["tokens"])
