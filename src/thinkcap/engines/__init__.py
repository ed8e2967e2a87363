"""Backends. A model is named by a path, a URL or `bundled`; `open_engine` finds the engine for it."""

from __future__ import annotations

ENGINES = {
    "llamacpp": "thinkcap.engines.llamacpp:open_engine",
    "openai": "thinkcap.engines.openai:open_engine",
}
"""Lazy `module:attribute` of each engine's `async open_engine(model, **options) -> Engine`."""
