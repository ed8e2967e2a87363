"""Hugging Face transformers in this process, on the CPU or a GPU: a folder with `config.json`, ids in and out.

A thread of its own runs the model; flows that ask at the same time are written in one batch, joined and left
between steps. In float32 the tokens are those of a plain `generate`.

    engine = await open_engine("models/qwen3-8b", concurrency=64)
"""

from __future__ import annotations

import asyncio
import hashlib
import platform
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from thinkcap.core.engine import Emit, Engine, EngineCard, Output, Prompt
from thinkcap.core.errors import ConfigError, EngineError, EngineRefused, Unsupported
from thinkcap.core.names import nearest
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.scores import Scores, Unsure
from thinkcap.core.types import Request, Sampling
from thinkcap.dialects import default_template
from thinkcap.engines.binding import constraints, fitting, grammar
from thinkcap.engines.hf_batch import PREFILL, Batch, BatchJob, odds
from thinkcap.engines.hf_cache import fits
from thinkcap.engines.hf_lanes import Lanes
from thinkcap.engines.hf_waves import Wave
from thinkcap.engines.hf_words import HfWords, ShownText
from thinkcap.engines.speech import NothinkBy, Speech, check_nothink_by, found_dialect
from thinkcap.engines.splice import Splicer

_DTYPES = ("auto", "float32", "bfloat16", "float16")
_CPU_FLOWS, _GPU_FLOWS = 16, 128
_BATCHINGS = ("auto", "lanes", "batch", "waves")
_TURN_S = 1e-4
"""How long another thread may keep the interpreter from the model's, which gives it up at every call into torch.
`bench/switching.py` prints how many such calls it makes beside a busy thread, with this and with Python's 5 ms."""
_MOMENT_S = 0.002
"""While flows come within so short a time of each other, more are waited for: late ones wait dozens of steps."""
_OUTSIDE = ("linear", "mamba", "conv", "recurrent", "hybrid")
"""Kinds of layers without a cache of keys and values that could be moved and joined."""
_STEP_ERRORS = (RuntimeError, ValueError, IndexError, TypeError, AttributeError)
"""What models raise that run out of memory, or are asked for what they do not have."""


async def open_engine(
    model: str,
    *,
    concurrency: int = 0,
    context: int = 0,
    nothink_by: NothinkBy = "auto",
    prompts: Prompts = PROMPTS,
    dialect: str = "",
    device: str = "auto",
    dtype: str = "auto",
    batching: str = "auto",
) -> Engine:
    """`dtype` auto is float32 on the CPU and what the model was saved in on a GPU.

    `batching` auto is `lanes` (one static cache) on a GPU where the model's layers allow it, `waves` (all begin
    and end together) where layers keep a state that cannot be joined, and else `batch` (a cache that is joined
    and cut as sequences come and go).
    """
    check_nothink_by(nothink_by)
    if dtype not in _DTYPES:
        raise ConfigError(f"unknown dtype '{dtype}'{nearest(dtype, _DTYPES)}")
    if batching not in _BATCHINGS:
        raise ConfigError(f"unknown batching '{batching}'{nearest(batching, _BATCHINGS)}")
    if concurrency < 0:
        raise ConfigError("concurrency cannot be negative; 0 lets thinkcap choose")
    folder, network, tokenizer = await asyncio.to_thread(_load, model, device, dtype)
    config = network.config.get_text_config()
    whole = int(getattr(config, "max_position_embeddings", 0) or 0)
    if context < 0 or (whole and context > whole):
        raise ConfigError(f"context is {context}; wanted 1 to {whole}, what '{folder.name}' was made for")
    found = await found_dialect(default_template(tokenizer.chat_template), dialect, model=folder.name)
    words = HfWords(tokenizer, network.generation_config, found)
    speech = await Speech.found(words.render, found, nothink_by, prompts)
    close = await words.tokenize(found.marks.close_tag, False)
    kind = str(network.dtype).removeprefix("torch.")
    import torch
    import transformers

    gpu = network.device.type == "cuda"
    way = _way(network, batching, gpu, folder)
    card = EngineCard(
        engine="hf",
        model=folder.name,
        fingerprint=f"{await asyncio.to_thread(_fingerprint, folder)}-{kind}",
        transport="ids",
        context=context or whole,
        close_id=close[0] if len(close) == 1 else None,
        concurrency=concurrency or (_GPU_FLOWS if gpu else _CPU_FLOWS),
        dtype=kind,
        version=f"transformers {transformers.__version__}, torch {torch.__version__}",
        **speech.card(),
        hardware=torch.cuda.get_device_name(network.device) if gpu else platform.machine(),
        batching=way,
        stops=True,
        scores="any",
    )
    return HfEngine(network, words, card, speech)


class HfEngine:
    def __init__(self, network: Any, words: HfWords, card: EngineCard, speech: Speech) -> None:
        self.card = card
        self._words = words
        self._splicer = Splicer(speech, words.render, words.tokenize)
        self._line: deque[_Waiting] = deque()
        self._errands: deque[_Errand] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, args=(network,), name="thinkcap-hf", daemon=True)
        self._thread.start()

    async def prompt(self, request: Request) -> Prompt:
        if grammar(request) is not None:
            raise Unsupported(
                f"'{self.card.model}' runs in transformers, which cannot hold an answer to a response format; "
                f"serve it with vLLM or llama.cpp for that"
            )
        return await self._splicer.prompt(request, constraints(request, {"stop": "stop"}, self.card.model))

    async def generate(self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None = None) -> Output:
        ids = fitting(prompt, limit, self.card)
        stop = tuple(prompt.body.get("stop", ()))
        job = BatchJob(ids, limit, sampling, self._words.ends)
        if stop:
            job.stops = lambda ids: self._words.stopped(ids, stop) is not None
        job.scored = prompt.scored
        if prompt.stop_at or prompt.unsure:
            job.halts = partial(_halts, self._words, prompt.stop_at, prompt.unsure)
        waiting = _Waiting(job, asyncio.get_running_loop(), ShownText(self._words, stop, emit) if emit else None)
        with self._changed:
            if self._closed:
                raise EngineError(f"the engine of '{self.card.model}' is closed; open it again")
            self._line.append(waiting)
            self._changed.notify()
        try:
            await waiting.future
        except asyncio.CancelledError:
            job.cancelled = True
            raise
        text = self._words.stopped(job.ids, stop)
        if text is None:
            text = self._words.text(job.ids)
        if waiting.shown:
            waiting.shown.finish(text)
        return Output(
            text,
            job.ended,
            len(job.ids),
            ids=tuple(job.ids),
            generated=len(job.ids),
            prompt_tokens=len(ids),
            finish="stop" if job.ended else "length",
            scores=Scores(*zip(*job.odds, strict=True)) if job.odds else None,
        )

    async def score(self, prompt: Prompt, ids: Sequence[int]) -> Scores:
        """One pass over prompt and text, in the model's own thread."""
        errand = _Errand((*(prompt.ids or ()), *ids), len(ids), asyncio.get_running_loop().create_future())
        with self._changed:
            self._errands.append(errand)
            self._changed.notify()
        rows: list[list[float]] = await errand.future
        return Scores(*map(tuple, zip(*rows, strict=True)))

    async def read(self, ids: Sequence[int]) -> str:
        return self._words.text(ids)

    async def aclose(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        await asyncio.to_thread(self._thread.join)

    def _work(self, network: Any) -> None:
        """The model's thread: newcomers in, a token for all, those who are done out."""
        sys.setswitchinterval(min(sys.getswitchinterval(), _TURN_S))
        batch = _written_by(self.card, network, self._words.pad)
        by_job: dict[BatchJob, _Waiting] = {}
        done: list[BatchJob] = []
        while True:
            with self._changed:
                while not (self._line or self._errands or batch or self._closed):
                    self._changed.wait()
            if done or not batch:
                self._let_come(batch)
            with self._changed:
                if self._closed:
                    break
                errands, self._errands = self._errands, deque()
                new = self._newcomers(batch)
            for errand in errands:
                errand.run(network)
            by_job |= {waiting.job: waiting for waiting in new}
            try:
                # All who fit come in before anyone goes on: a step costs nearly the same for few as for many.
                done = [job for group in _read_together(new) for job in batch.join(group)]
                done += batch.step() if batch else []
            except _STEP_ERRORS as err:
                # Those in flight fail, the next may work; were this thread to end, all would wait for ever.
                batch.clear()
                for waiting in by_job.values():
                    waiting.fail(_failure(err, self.card))
                by_job.clear()
                done = []
                continue
            for job in done:
                by_job.pop(job).finish()
        gone = EngineError(f"the engine of '{self.card.model}' was closed while it wrote")
        for waiting in (*by_job.values(), *self._line):
            waiting.fail(gone)
        for errand in self._errands:
            errand.settle(gone)

    def _let_come(self, batch: Batch | Lanes | Wave) -> None:
        """Flows that begin together, or were just answered, ask one by one: the first does not go alone."""
        waiting = -1
        while waiting < len(self._line) < self.card.concurrency - len(batch) and not self._closed:
            waiting = len(self._line)
            time.sleep(_MOMENT_S)

    def _newcomers(self, batch: Batch | Lanes | Wave) -> list[_Waiting]:
        new: list[_Waiting] = []
        while self._line and len(batch) + len(new) < self.card.concurrency:
            if not batch.takes(self._line[0].job, [waiting.job for waiting in new]):
                break
            waiting = self._line.popleft()
            if not waiting.job.cancelled:
                new.append(waiting)
        return new


class _Waiting:
    """The flow's side of a job; the model's thread reaches it through the loop only."""

    def __init__(self, job: BatchJob, loop: asyncio.AbstractEventLoop, shown: ShownText | None) -> None:
        self.job = job
        self.shown = shown
        self.future: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        if shown:
            job.wrote = lambda token: self._call(shown.add, token)

    def finish(self) -> None:
        self._call(self._settle, None)

    def fail(self, error: EngineError) -> None:
        self._call(self._settle, error)

    def _settle(self, error: EngineError | None) -> None:
        if self.future.done():
            return
        if error:
            self.future.set_exception(error)
        else:
            self.future.set_result(None)

    def _call(self, what: Any, *args: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(what, *args)
        except RuntimeError:
            # The flow's loop is gone, and with it everyone who wanted to know.
            self.job.cancelled = True


@dataclass
class _Errand:
    """A text to be scored between two steps."""

    ids: tuple[int, ...]
    count: int
    future: asyncio.Future[Any]

    def run(self, network: Any) -> None:
        import torch

        try:
            with torch.inference_mode():
                ids = torch.tensor([self.ids], device=network.device)
                logits = network(input_ids=ids, use_cache=False, logits_to_keep=self.count + 1).logits[0, :-1]
                self.settle(odds(logits, ids[0, -self.count :]).tolist())
        except _STEP_ERRORS as err:
            self.settle(EngineRefused(f"transformers could not score a text: {' '.join(str(err).split())[:300]}"))

    def settle(self, result: Any) -> None:
        def tell() -> None:
            if self.future.done():
                return
            if isinstance(result, EngineError):
                self.future.set_exception(result)
            else:
                self.future.set_result(result)

        self.future.get_loop().call_soon_threadsafe(tell)


def _halts(words: HfWords, stop_at: Sequence[str], unsure: Unsure | None, job: BatchJob) -> bool:
    if unsure and unsure.first([sure[1] for sure in job.odds[-unsure.window :]]):
        return True
    if not stop_at:
        return False
    # A text can begin no further back than it is long, a token being at least a character or a part of one.
    tail = words.text(job.ids[-4 * max(map(len, stop_at)) :])
    return any(word in tail for word in stop_at)


def _load(model: str, device: str, dtype: str) -> tuple[Path, Any, Any]:
    folder = Path(model).expanduser().resolve()
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils.logging import disable_progress_bar
    except ImportError as err:
        raise ConfigError(f"transformers models need an extra: pip install 'thinkcap[hf]' ({err})") from err
    disable_progress_bar()
    where = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    kind = "float32" if dtype == "auto" and where == "cpu" else dtype
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        network = AutoModelForCausalLM.from_pretrained(
            folder, local_files_only=True, dtype=kind if kind == "auto" else getattr(torch, kind)
        )
        network = network.to(where).eval()
    except (OSError, ValueError, KeyError, RuntimeError) as err:
        raise ConfigError(
            f"transformers cannot load '{folder}' on '{where}' ({' '.join(str(err).split())[:300]}); wanted a "
            f"folder with config.json, safetensors and a tokenizer"
        ) from err
    if not tokenizer.chat_template:
        raise ConfigError(f"the tokenizer in '{folder}' has no chat template; wanted a model made for chat")
    return folder, network, tokenizer


def _read_together(new: Sequence[_Waiting]) -> Iterator[list[BatchJob]]:
    """Prompts of like length in one go, so that little of what is read is padding."""
    group: list[BatchJob] = []
    for job in sorted((waiting.job for waiting in new), key=lambda job: len(job.prompt)):
        if group and len(job.prompt) * (len(group) + 1) > PREFILL:
            yield group
            group = []
        group.append(job)
    if group:
        yield group


def _written_by(card: EngineCard, network: Any, pad: int) -> Batch | Lanes | Wave:
    if card.batching == "lanes":
        return Lanes(network, pad, card.concurrency)
    return Wave(network, pad) if card.batching == "waves" else Batch(network, pad)


def _way(network: Any, wanted: str, gpu: bool, folder: Path) -> str:
    """How sequences are written together: the quickest way that the model's layers allow."""
    config = network.config.get_text_config()
    layers = getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None) or ()
    named = any(word in str(name) for name in layers for word in _OUTSIDE)
    # What transformers itself calls stateful, and layers of a state that it does not.
    stateful = named or bool(getattr(network, "_is_stateful", False))
    if wanted == "auto":
        return "waves" if stateful else "lanes" if gpu and fits(config) else "batch"
    if stateful and wanted != "waves":
        raise Unsupported(f"'{folder}' has layers whose state cannot be joined; use batching waves, not {wanted}")
    if wanted == "lanes" and not fits(config):
        raise Unsupported(f"'{folder}' has layers that a static cache does not fit; use batching batch")
    return wanted


def _failure(err: Exception, card: EngineCard) -> EngineError:
    words = " ".join(str(err).split())[:300]
    hint = "; lower --concurrency" if "memory" in words.lower() else ""
    return EngineRefused(f"transformers failed on '{card.model}': {words}{hint}")


def _fingerprint(folder: Path) -> str:
    files = sorted(p for p in folder.iterdir() if p.suffix in (".json", ".safetensors", ".jinja", ".model"))
    stats = tuple((path.resolve(), path.stat().st_size, path.stat().st_mtime_ns) for path in files)
    return _hash(stats)


@lru_cache(maxsize=16)
def _hash(files: tuple[tuple[Path, int, int], ...]) -> str:
    """Weights, tokenizer, template and settings."""
    whole = hashlib.sha256()
    for path, _, _ in files:
        with path.open("rb") as file:
            whole.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return f"hf-{whole.hexdigest()[:32]}"
