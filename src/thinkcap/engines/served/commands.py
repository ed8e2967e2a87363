"""What starts each server, with settings that are good for a study; nothing is run here.

BACKENDS["vllm"].launch(ServerWish("Qwen/Qwen3-8B", port=8090, key="secret")).words

Words of the caller's own (`--serve-args`) come last and win, but for those that say where the server listens and
what it serves: the rest of thinkcap has to know these.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from thinkcap.core.errors import ConfigError
from thinkcap.core.types import EMPTY
from thinkcap.engines.gguf import read_gguf
from thinkcap.engines.llamacpp import cores, flows_that_fit
from thinkcap.engines.served import BackendName
from thinkcap.model import pebble_gguf, pebble_hf

_GPU_FLOWS, _CPU_FLOWS = 256, 64
_SLOTS, _SLOT_CONTEXT = 16, 8192
_GPUS = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
"""NVIDIA's, the one of Windows' subsystem for Linux, AMD's."""


@dataclass(frozen=True)
class ServerWish:
    """Which model is to be served, and how it will be reached."""

    model: str
    port: int
    key: str
    flows: int = 0
    """Sequences at a time; 0 lets the server's settings choose."""
    more: tuple[str, ...] = ()
    """Words of the caller's own."""


@dataclass(frozen=True)
class Launch:
    """A command line with its surroundings, and what it will serve."""

    words: tuple[str, ...]
    name: str
    """What the server will call the model."""
    flows: int
    environment: Mapping[str, str] = EMPTY
    note: str = ""
    """What a person should know beforehand."""


@dataclass(frozen=True)
class Backend:
    name: BackendName
    ready: str
    """The path that answers 200 once the model can be asked, and not before."""
    launch: Callable[[ServerWish], Launch]


def _vllm(wish: ServerWish) -> Launch:
    program = _program("vllm", "vllm.entrypoints.openai.api_server", "vLLM", "pip install vllm")
    model, name = _transformers_model(wish.model, "vLLM")
    on_cpu = _vllm_build().endswith("+cpu")
    if not on_cpu and _vllm_build() and not _has_gpu():
        raise ConfigError(
            f"vLLM {_vllm_build()} needs a GPU and none was found here ({', '.join(_GPUS)} are missing); use "
            f"--serve-with llama-server, or vLLM's CPU build"
        )
    flows = wish.flows or (_CPU_FLOWS if on_cpu else _GPU_FLOWS)
    words = [*program, *(["--model", model] if "-m" in program else ["serve", model])]
    words += ["--served-model-name", name, "--host", "127.0.0.1", "--port", str(wish.port)]
    words += ["--enable-prefix-caching", "--max-num-seqs", str(flows)]
    # A model's own defaults of sampling would stand in for what a request leaves out.
    words += ["--generation-config", "vllm", "--enable-tokenizer-info-endpoint", "--disable-uvicorn-access-log"]
    # In a variable: the command line is seen by every process.
    environment = {"VLLM_API_KEY": wish.key, "VLLM_NO_USAGE_STATS": "1"}
    if on_cpu:
        # Compiling takes minutes there; in 16 bits sequences written together differ from each alone.
        words += ["--enforce-eager", "--dtype", "float32", "--distributed-executor-backend", "uni"]
        environment |= _chosen(
            {
                "VLLM_CPU_KVCACHE_SPACE": "1" if wish.model == "bundled" else "4",
                "VLLM_CPU_OMP_THREADS_BIND": "nobind",
                # The steps of a very small model are so short that several threads mostly wait for each other.
                "OMP_NUM_THREADS": "1" if wish.model == "bundled" else str(cores()),
                # The worker process is waited for in a busy loop.
                "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            }
        )
    return Launch((*words, *wish.more), name, flows, environment)


def _llama_server(wish: ServerWish) -> Launch:
    program = shutil.which("llama-server")
    path = pebble_gguf() if wish.model == "bundled" else Path(wish.model).expanduser()
    if path.suffix.lower() == ".gguf":
        facts = read_gguf(path)
        context, flows = flows_that_fit(path, facts, 0, wish.flows or _SLOTS)
        name, model = path.stem, ["--model", str(path)]
    elif program and not path.exists() and wish.model.count("/") == 1 and wish.model[0].isalnum():
        context, flows, name, model = _SLOT_CONTEXT, wish.flows or _SLOTS, wish.model, ["-hf", wish.model]
    else:
        hub = "" if program else " (a name on the hub needs a `llama-server` program on the PATH)"
        raise ConfigError(
            f"llama-server cannot serve '{wish.model}'; wanted a file that ends in .gguf, `bundled`, or a "
            f"repository of GGUF files on the hub such as Qwen/Qwen3-8B-GGUF:Q4_K_M{hub}"
        )
    ours = [sys.executable, "-m", "thinkcap.engines.served.llama"]
    words = [*([program] if program else ours), *model, "--alias", name, "--host", "127.0.0.1"]
    words += ["--port", str(wish.port), "--parallel", str(flows), "--ctx-size", str(context * flows), "--no-webui"]
    note = "" if program else "no `llama-server` on the PATH: the one inside xllamacpp is used"
    return Launch((*words, *wish.more), name, flows, {"LLAMA_API_KEY": wish.key}, note)


def _sglang(wish: ServerWish) -> Launch:
    program = _program("", "sglang.launch_server", "SGLang", "pip install 'sglang[all]'")
    model, name = _transformers_model(wish.model, "SGLang")
    flows = wish.flows or _GPU_FLOWS
    words = [*program, "--model-path", model, "--served-model-name", name, "--host", "127.0.0.1"]
    # It takes its key from nowhere but here. Prefixes are cached unless one forbids it.
    words += ["--port", str(wish.port), "--api-key", wish.key, "--max-running-requests", str(flows)]
    note = "--serve-with sglang was written from SGLang's documentation and is untested"
    return Launch((*words, *wish.more), name, flows, note=note)


BACKENDS: Mapping[BackendName, Backend] = {
    backend.name: backend
    for backend in (
        Backend("vllm", "/health", _vllm),
        Backend("llama-server", "/health", _llama_server),
        Backend("sglang", "/health_generate", _sglang),
    )
}


def _program(command: str, module: str, called: str, advice: str) -> list[str]:
    """The package of this Python, else the command of another one."""
    package = module.partition(".")[0]
    if importlib.util.find_spec(package) is not None:
        return [sys.executable, "-m", module]
    if command and (found := shutil.which(command)):
        return [found]
    where = f"'{package}' is not a package of this Python" + (
        f" and '{command}' is not a program on the PATH" if command else ""
    )
    raise ConfigError(f"{called} is not installed ({where}); run: {advice}")


def _transformers_model(model: str, called: str) -> tuple[str, str]:
    """Where its files are, or its name on the hub; and what it is called."""
    if model == "bundled":
        return str(pebble_hf()), pebble_hf().name
    path = Path(model).expanduser()
    if (path / "config.json").is_file():
        return os.path.abspath(path), os.path.basename(os.path.abspath(path))
    if path.exists() or model.count("/") != 1 or not model[0].isalnum():
        raise ConfigError(
            f"{called} cannot serve '{model}'; wanted a folder with a transformers model (config.json), "
            f"`bundled`, or a name on the hub such as Qwen/Qwen3-8B; a .gguf file takes --serve-with llama-server"
        )
    return model, model


def _vllm_build() -> str:
    """Its version, which ends in +cpu for the CPU build; empty where it is no package of this Python."""
    try:
        return metadata.version("vllm")
    except metadata.PackageNotFoundError:
        return ""


def _has_gpu() -> bool:
    return shutil.which("nvidia-smi") is not None or any(map(os.path.exists, _GPUS))


def _chosen(defaults: Mapping[str, str]) -> dict[str, str]:
    """What the caller's own environment does not say already."""
    return {name: value for name, value in defaults.items() if name not in os.environ}
