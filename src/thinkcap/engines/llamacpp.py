"""The embedded default: llama.cpp inside this process, no compiler, no GPU, any GGUF by path.

The wheel gives token ids only over its own loopback server, so that is how we talk to it: a random port, a
random key, closed to browsers. Each flow has a stretch of the key-value cache of its own; measured, that makes
a batched greedy run equal to a lone one, which one shared cache does not.

    engine = await open_engine("model.gguf", concurrency=16)
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
import secrets
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from thinkcap.core.engine import Engine, EngineCard
from thinkcap.core.errors import ConfigError
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.dialects import QWEN
from thinkcap.engines.calling import llama_server_calls
from thinkcap.engines.client import Client
from thinkcap.engines.gguf import GgufFacts, read_gguf
from thinkcap.engines.llama_server import HOLDS, LlamaServer
from thinkcap.engines.retry import RetryPolicy
from thinkcap.engines.speech import NothinkBy, Speech, check_nothink_by, found_dialect

_QUIET, _TALKATIVE = -1, 3
_SMALL = 64 * 2**20
"""Bytes of a model file; above it, threads pay."""
_EACH = 8
"""Flows a replica: measured on a small model, 4 to 16 make the most of a core."""
_MOST = 16
_REMEMBERED_MIB = 256
"""For prompts whose slot went to another: an answer pass then finds its thought read already."""
_SPARE = 4
"""HTTP threads beyond one a slot, for templates and tokenizing."""


async def open_engine(
    model: str,
    *,
    concurrency: int = 0,
    context: int = 0,
    nothink_by: NothinkBy = "auto",
    prompts: Prompts = PROMPTS,
    dialect: str = "",
    replicas: int = 0,
    threads: int = 0,
    cache: bool = True,
    verbose: bool = False,
) -> Engine:
    """Loads a GGUF file, or the bundled model for `bundled`. `context` is for one flow; 0 chooses by memory.

    A small model is loaded once a core, each with one thread: its steps are so short that several threads mostly
    wait for each other. `bench/engine.py` prints what a setting gives.
    """
    check_nothink_by(nothink_by)
    path = _path(model)
    facts = await asyncio.to_thread(read_gguf, path)
    if min(concurrency, replicas, threads) < 0:
        raise ConfigError("concurrency, replicas and threads cannot be negative; 0 lets thinkcap choose")
    small = path.stat().st_size < _SMALL
    copies = replicas or (min(cores(), concurrency or _MOST, _MOST) if small and not threads else 1)
    context, slots = flows_that_fit(path, facts, context, concurrency or _EACH * copies * (1 if small else 2))
    copies = min(copies, slots)
    share = -(-slots // copies)
    key = secrets.token_urlsafe(32)
    workers = threads or (1 if copies > 1 or small else cores())
    starting = (
        asyncio.to_thread(start_server, path, context, share, workers, key, verbose) for _ in range(copies)
    )
    servers = list(await asyncio.gather(*starting))

    async def close() -> None:
        # Dropping the last reference stops a server; it waits for its threads, so not on the loop.
        await asyncio.to_thread(servers.clear)

    # The server drops idle connections after five seconds; leaving first avoids meeting a closed one.
    retry = RetryPolicy(total_s=86400.0, attempts=3, pause_s=0.1)
    clients = [
        Client(server.listening_address, key, retry, connections=share + _SPARE, keepalive_s=2.0)
        for server in servers
    ]
    try:
        return await _engine(
            clients, path, facts, context, share * copies, nothink_by, prompts, dialect, cache, close
        )
    except BaseException:
        for client in clients:
            await client.aclose()
        await close()
        raise


async def _engine(
    clients: Sequence[Client],
    path: Path,
    facts: GgufFacts,
    context: int,
    slots: int,
    nothink_by: NothinkBy,
    prompts: Prompts,
    dialect: str,
    cache: bool,
    close: Any,
) -> Engine:
    import xllamacpp

    fingerprint = await asyncio.to_thread(_fingerprint, path)
    blank = EngineCard("llamacpp", facts.name, fingerprint, "ids")
    first, *more = clients
    probe = LlamaServer(first, blank, Speech(QWEN, "none", prompts))
    found = await found_dialect(facts.template, dialect, model=facts.name, render=probe.render)
    speech = await Speech.found(probe.render, found, nothink_by, prompts)
    close_ids = await probe.tokenize(found.marks.close_tag, False)
    vocabulary = facts.vocabulary.showing(found.tokens, found.end_of_turn) if facts.vocabulary else None
    card = EngineCard(
        engine="llamacpp",
        model=facts.name,
        fingerprint=fingerprint,
        transport="ids",
        context=context,
        close_id=close_ids[0] if len(close_ids) == 1 else None,
        formats=True,
        tools=await llama_server_calls(first, found.marks),
        stops=True,
        scores="written",
        holds=HOLDS,
        concurrency=slots,
        dtype=facts.dtype,
        version=f"xllamacpp {xllamacpp.__version__}",
        **speech.card(),
        hardware=f"{platform.machine()}, {os.cpu_count()} cores",
    )
    return LlamaServer(first, card, speech, more=more, vocabulary=vocabulary, cache=cache, close=close)


def _path(model: str) -> Path:
    if model != "bundled":
        return Path(model).expanduser()
    from thinkcap import model as bundled

    return Path(bundled.pebble_gguf())


def start_server(
    path: Path,
    context: int,
    slots: int,
    threads: int,
    key: str,
    verbose: bool = False,
    *,
    port: int = 0,
    alias: str = "",
) -> Any:
    """llama.cpp's own server in this process; it ends when the last reference to what comes back is dropped.

    `port` 0 is any free one; by `alias` it names the model, else by the file's path.
    """
    # Spinning threads on a busy machine make each other wait ten times longer; read when the library loads.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_parallel = slots
    params.n_ctx = context * slots
    params.kv_unified = False
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.api_keys = [key]
    if alias:
        params.model_alias = {alias}
    params.cors_origins = "localhost"
    params.cors_origins_explicit = True
    params.n_threads_http = slots + 2 * _SPARE
    params.endpoint_slots = False
    params.ui = False
    params.warmup = False
    if path.stat().st_size < _SMALL:
        # Read, not mapped: a mapped file that someone replaces under us ends the process with a bus error.
        params.load_mode = xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_NONE
    params.fit_params = False
    params.cache_ram_mib = _REMEMBERED_MIB
    params.verbosity = _TALKATIVE if verbose else _QUIET
    if threads:
        params.cpuparams.n_threads = threads
    try:
        server = xllamacpp.Server(params)
        # It says it is ready before its loop runs, and a stop in between is lost: dropping the server would then
        # wait for ever. A first question comes back only from a running loop.
        server.handle_completions({"prompt": "1", "n_predict": 0})
        return server
    except (RuntimeError, ValueError, MemoryError) as err:
        raise ConfigError(
            f"llama.cpp cannot load '{path}' ({' '.join(str(err).split()) or type(err).__name__}); the file may "
            f"be damaged, too large for memory, or of an architecture this version does not know; verbose=True "
            f"shows llama.cpp's own words"
        ) from err


def cores() -> int:
    """What this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def flows_that_fit(path: Path, facts: GgufFacts, context: int, slots: int) -> tuple[int, int]:
    """Context of one flow and number of flows that fit into half of the free memory."""
    if context < 0 or context > facts.context:
        raise ConfigError(f"context is {context}; wanted 1 to {facts.context}, what '{facts.name}' was made for")
    free, weights = _free_bytes(), path.stat().st_size
    if weights > free:
        raise ConfigError(
            f"'{path}' needs {weights / 2**30:.1f} GiB and {free / 2**30:.1f} GiB are free; use a smaller model"
        )
    room = max(0, free - weights) // 2
    wanted = context or min(facts.context, 8192)
    fit = room // max(1, wanted * facts.cache_bytes)
    if fit < 1 and context:
        raise ConfigError(
            f"a context of {context} tokens needs {context * facts.cache_bytes / 2**30:.1f} GiB beside the model "
            f"and {room / 2**30:.1f} GiB are free for it; lower the context"
        )
    if fit < 1:
        wanted = max(256, room // max(1, facts.cache_bytes))
    return wanted, max(1, min(slots, fit))


def _free_bytes() -> int:
    """Memory that can be had without swapping; where the system does not say, all of it."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 8 * 2**30


def _fingerprint(path: Path) -> str:
    stat = path.stat()
    return _hash(path.resolve(), stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=64)
def _hash(path: Path, size: int, mtime_ns: int) -> str:
    """The whole file: weights, tokenizer and template."""
    with path.open("rb") as file:
        return "gguf-" + hashlib.file_digest(file, "sha256").hexdigest()[:32]
