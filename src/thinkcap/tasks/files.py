"""Benchmark files: found in a folder or fetched from the Hub, and checked to be what they claim to be.

A wrong or half-downloaded file gives figures nobody can compare, so every benchmark is checked by its count and
by the hash of its questions and golds, which is the same for every file format.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.tasks.task import content_hash


@dataclass(frozen=True)
class Pinned:
    """A benchmark's file and what it must hold."""

    name: str
    paths: tuple[str, ...]
    """Where it may lie in the data folder, most specific first."""
    count: int
    content: str
    hub: str
    hub_file: str
    revision: str


def rows(pinned: Pinned, data: Path | None) -> list[dict[str, Any]]:
    """The file's records, from `data`, THINKCAP_DATA or the Hub, not yet checked."""
    named = data or (Path(os.environ["THINKCAP_DATA"]) if os.environ.get("THINKCAP_DATA") else None)
    return read(_found(pinned, named) if named is not None else _fetched(pinned))


def checked(pinned: Pinned, pairs: Sequence[tuple[str, str]]) -> str:
    """The hash of the set, or an error that names both hashes."""
    seen = content_hash(pairs)
    if len(pairs) != pinned.count or seen != pinned.content:
        raise DataError(
            f"this is not {pinned.name} as published: {len(pairs)} questions with hash {seen}, "
            f"wanted {pinned.count} with hash {pinned.content}; "
            f"to use other questions, name the file itself as a task (--task my.jsonl)"
        )
    return seen


def read(path: Path) -> list[dict[str, Any]]:
    """Records of a .jsonl, .json (BIG-Bench: under `examples`) or .parquet file."""
    if path.suffix == ".parquet":
        import pyarrow.parquet

        try:
            with pyarrow.parquet.ParquetFile(path) as file:
                return list(file.read().to_pylist())
        except (pyarrow.ArrowException, OSError, ValueError) as err:
            raise DataError(f"{path}: not readable as Parquet ({err})") from err
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as err:
        raise DataError(f"{path} is not UTF-8 text (byte {err.start}); save it as UTF-8") from err
    if path.suffix == ".json":
        whole = json.loads(text)
        return list(whole["examples"] if isinstance(whole, dict) else whole)
    out = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                out.append(json.loads(line))
            except json.JSONDecodeError as err:
                raise DataError(f"{path} line {number} column {err.colno} is not JSON: {err.msg}") from err
    return out


def _found(pinned: Pinned, folder: Path) -> Path:
    if folder.is_file():
        return folder
    for name in pinned.paths:
        if (folder / name).is_file():
            return folder / name
    looked = ", ".join(str(folder / name) for name in pinned.paths)
    raise DataError(f"no {pinned.name} in '{folder}'; looked for {looked}")


def _fetched(pinned: Pinned) -> Path:
    try:
        from huggingface_hub import hf_hub_download  # type: ignore[import-not-found,unused-ignore]
        from huggingface_hub.errors import (  # type: ignore[import-not-found,unused-ignore]
            HfHubHTTPError,
            LocalEntryNotFoundError,
        )
    except ImportError as err:
        raise ConfigError(
            f"{pinned.name} is not bundled; name its folder with --data or THINKCAP_DATA, "
            f"or `pip install 'thinkcap[hub]'` to fetch it from the Hugging Face Hub"
        ) from err
    try:
        return Path(hf_hub_download(pinned.hub, pinned.hub_file, repo_type="dataset", revision=pinned.revision))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as err:
        raise DataError(
            f"cannot fetch {pinned.name} from the Hub ({pinned.hub} at {pinned.revision[:8]}): {err}; "
            f"name a folder with --data instead"
        ) from err
