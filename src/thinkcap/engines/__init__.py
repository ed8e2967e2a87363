"""Backends. A model is named by a path, a URL or `bundled`; `open_engine` finds the engine for it.

One file a backend; `client`, `sse`, `answers` and `retry` are the one way to servers, which the gateway uses too.

engine = await open_engine("bundled")
engine = await open_engine("http://localhost:8000/v1#Qwen/Qwen3-8B", concurrency=64)
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest, resolve

if TYPE_CHECKING:
    from thinkcap.core.engine import Engine

ENGINES = {
    "llamacpp": "thinkcap.engines.llamacpp:open_engine",
    "hf": "thinkcap.engines.hf:open_engine",
    "cluster": "thinkcap.engines.ray:open_engine",
    "openai": "thinkcap.engines.openai:open_engine",
}
"""Lazy `module:attribute` of each engine's `async open_engine(model, **options) -> Engine`."""


def engine_for(model: str) -> str:
    """The engine's name by the look of the model's; a `module:factory` stands for itself."""
    if model.startswith(("http://", "https://")):
        return "openai"
    if model == "bundled" or model.lower().endswith(".gguf"):
        return "llamacpp"
    if (Path(model).expanduser() / "config.json").is_file():
        return "hf"
    module, colon, factory = model.partition(":")
    if colon and factory.isidentifier() and all(part.isidentifier() for part in module.split(".")):
        return model
    raise ConfigError(
        f"cannot tell what model '{model}' is; wanted `bundled`, a path that ends in .gguf, a folder with a "
        f"transformers model (config.json), http://host/v1#name, or your own my.module:factory"
    )


async def open_engine(model: str, **options: Any) -> Engine:
    """Opens whatever `model` names. Options an engine does not have are refused with the nearest it has.

    With `cluster` it runs on the nodes of a Ray cluster, which check the options that are theirs.
    """
    name = "cluster" if options.get("cluster") else engine_for(model)
    factory = resolve(name, ENGINES, "engine")
    known = inspect.signature(factory).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in known.values()):
        names = [n for n, p in known.items() if p.kind is p.KEYWORD_ONLY]
        for option in options:
            if option not in names:
                raise ConfigError(f"model '{model}' has no option '{option}'{nearest(option, names)}")
    engine: Engine = await factory(model, **options)
    return engine
