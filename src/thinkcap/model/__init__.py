"""Where Pebble, the bundled model, lies: a few million parameters, two modes, no download.

>>> pebble_gguf().name
'pebble.gguf'
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path

__all__ = ["KNOWN", "bundled_fingerprint", "pebble_gguf", "pebble_hf", "pebble_profile"]

KNOWN = "sums of several steps, boolean expressions, swapped objects, dates, ordering puzzles"
"""All it was trained on, in a newcomer's words: it answers anything, and is wrong on whatever is unlike these."""


@cache
def bundled_fingerprint() -> str:
    """What the embedded engine calls the GGUF file's weights."""
    hashes = json.loads((Path(str(files("thinkcap.model"))) / "hashes.json").read_text())
    return f"gguf-{hashes['pebble.gguf']['sha256'][:32]}"


def pebble_gguf() -> Path:
    """The F16 GGUF file, for the embedded engine and any llama.cpp."""
    return Path(str(files("thinkcap.model"))) / "pebble.gguf"


def pebble_hf() -> Path:
    """The folder with bf16 safetensors and tokenizer files, for transformers and vLLM."""
    return Path(str(files("thinkcap.model"))) / "pebble"


def pebble_profile() -> Path:
    """What `make profile` learnt about it: which policy from which cap on."""
    return Path(str(files("thinkcap.model"))) / "profile.toml"
