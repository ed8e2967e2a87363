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
from functools import lru_cache
from pathlib import Path
from typing import Any

from thinkcap.core.engine import Engine, EngineCard
from thinkcap.core.errors import ConfigError
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.engines.client import Client, Patience
from thinkcap.engines.gguf import GgufFacts, read_gguf
from thinkcap.engines.llama_server import LlamaServer
from thinkcap.engines.manner import CLOSE, Manner, NothinkBy, check_nothink_by

_QUIET, _TALKATIVE = -1, 3
_SMALL = 64 * 2**20
_LINUX = hasattr(os, "sched_getaffinity")
_SPARE = 4
"""HTTP threads beyond one a slot, for templates and tokenizing."""


async def open_engine(
    model: str,
    *,
    concurrency: int = 32,
    context: int = 0,
    nothink_by: NothinkBy = "auto",
    prompts: Prompts = PROMPTS,
    threads: int = 0,
    cache: bool = True,
    verbose: bool = False,
) -> Engine:
    """Loads a GGUF file, or the bundled model for `bundled`. `context` is for one flow; 0 chooses by memory."""
    check_nothink_by(nothink_by)
    path = _path(model)
    facts = await asyncio.to_thread(read_gguf, path)
    context, slots = _room(path, facts, context, concurrency)
    key = secrets.token_urlsafe(32)
    server = await asyncio.to_thread(start_server, path, context, slots, threads, key, verbose)
    holder = [server]

    async def close() -> None:
        # Dropping the last reference stops the server; it waits for its threads, so not on the loop.
        await asyncio.to_thread(holder.clear)

    del server
    # The server drops idle connections after five seconds; leaving first avoids meeting a closed one.
    patience = Patience(total_s=86400.0, attempts=3, pause_s=0.1)
    client = Client(holder[0].listening_address, key, patience, connections=slots + _SPARE, keepalive_s=2.0)
    try:
        return await _engine(client, path, facts, context, slots, nothink_by, prompts, cache, close)
    except BaseException:
        await client.aclose()
        await close()
        raise


async def _engine(
    client: Client,
    path: Path,
    facts: GgufFacts,
    context: int,
    slots: int,
    nothink_by: NothinkBy,
    prompts: Prompts,
    cache: bool,
    close: Any,
) -> Engine:
    import xllamacpp

    fingerprint = await asyncio.to_thread(_fingerprint, path)
    blank = EngineCard("llamacpp", facts.name, fingerprint, "ids")
    probe = LlamaServer(client, blank, Manner("none", prompts))
    manner = await Manner.found(probe.render, facts.template, nothink_by, prompts)
    close_ids = await probe.tokenize(CLOSE, False)
    card = EngineCard(
        engine="llamacpp",
        model=facts.name,
        fingerprint=fingerprint,
        transport="ids",
        switch=manner.switch,
        context=context,
        close_id=close_ids[0] if len(close_ids) == 1 else None,
        formats=True,
        concurrency=slots,
        dtype=facts.dtype,
        version=f"xllamacpp {xllamacpp.__version__}",
        hardware=f"{platform.machine()}, {os.cpu_count()} cores",
    )
    return LlamaServer(client, card, manner, vocabulary=facts.vocabulary, cache=cache, close=close)


def _path(model: str) -> Path:
    if model != "bundled":
        return Path(model).expanduser()
    from thinkcap import model as bundled

    return Path(bundled.pebble_gguf())


def start_server(path: Path, context: int, slots: int, threads: int, key: str, verbose: bool = False) -> Any:
    """llama.cpp's own server in this process; it ends when the last reference to what comes back is dropped."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_parallel = slots
    params.n_ctx = context * slots
    params.kv_unified = False
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.cors_origins = "localhost"
    params.cors_origins_explicit = True
    params.n_threads_http = slots + 2 * _SPARE
    params.endpoint_slots = False
    params.ui = False
    params.warmup = False
    params.fit_params = False
    params.cache_ram_mib = 0
    params.verbosity = _TALKATIVE if verbose else _QUIET
    params.cpuparams.n_threads = threads or _threads(path)
    try:
        return xllamacpp.Server(params)
    except (RuntimeError, ValueError, MemoryError) as err:
        raise ConfigError(
            f"llama.cpp cannot load '{path}' ({' '.join(str(err).split()) or type(err).__name__}); the file may "
            f"be damaged, too large for memory, or of an architecture this version does not know; verbose=True "
            f"shows llama.cpp's own words"
        ) from err


def _threads(path: Path) -> int:
    """One for a small model: its steps are so short that threads mostly wait for each other, spinning. Measured on
    two busy cores, a 5M-parameter model made 93 tokens/s with two threads and 1,000 with one."""
    return 1 if path.stat().st_size < _SMALL else len(os.sched_getaffinity(0)) if _LINUX else os.cpu_count() or 1


def _room(path: Path, facts: GgufFacts, context: int, slots: int) -> tuple[int, int]:
    """Context of one flow and number of flows that fit into half of the free memory."""
    if slots < 1:
        raise ConfigError(f"concurrency is {slots}; wanted 1 or more")
    if context < 0 or context > facts.context:
        raise ConfigError(f"context is {context}; wanted 1 to {facts.context}, what '{facts.name}' was made for")
    free, weights = _free_bytes(), path.stat().st_size
    if weights > free:
        raise ConfigError(
            f"'{path}' needs {weights / 2**30:.1f} GiB and {free / 2**30:.1f} GiB are free; take a smaller model"
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
