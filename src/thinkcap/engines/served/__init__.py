"""A server of our own for as long as it is needed: started, waited for, asked like any other, and stopped.

This module has what a study or a gateway must know to wish for one; `running` runs it, `commands` says what starts
each server, `guard` ends it whatever becomes of us, and `llama` is a server to fall back on.

    async with opened("Qwen/Qwen3-8B", {}, ServeWith("vllm")) as engine:
        ...
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from thinkcap.core.errors import ConfigError

BackendName = Literal["vllm", "llama-server", "sglang"]
Tell = Callable[[str, bool], None]
"""Gets a line for a person, and whether it is to stay: the next one takes the place of one that is not."""

_PATIENCE_S = 3600.0
"""For weights that are downloaded first."""
_OURS = ("--host", "--api-key", "--model", "--model-path", "-m", "-hf", "--served-model-name", "--alias", "-a")


def silent(text: str, lasting: bool) -> None:
    """Tells nobody."""


@dataclass(frozen=True)
class ServeWith:
    """What `--serve-with` and `--serve-args` say."""

    backend: BackendName
    args: str = ""
    log: Path | None = None
    """Where what the server writes is added; where None, in the user's folder for such things."""
    patience_s: float = _PATIENCE_S

    @classmethod
    def wished(cls, backend: BackendName | None, args: str | None, log: Path | None = None) -> ServeWith | None:
        """None where no server is to be started."""
        if backend is None and args:
            raise ConfigError("--serve-args are for a server that is started here; name it, as --serve-with vllm")
        return cls(backend, args or "", log) if backend else None

    def words(self) -> tuple[tuple[str, ...], int]:
        """The caller's own words but for a port among them, and that port; 0 where none is named."""
        try:
            given = shlex.split(self.args)
        except ValueError as err:
            raise ConfigError(f"--serve-args '{self.args}' cannot be read as a command line ({err})") from err
        kept: list[str] = []
        port = 0
        words = iter(given)
        for word in words:
            name, equals, value = word.partition("=")
            if name in _OURS:
                raise ConfigError(f"--serve-args has {name}, which thinkcap sets itself; leave it out")
            if name != "--port":
                kept.append(word)
                continue
            said = value if equals else next(words, "")
            if not said.isdecimal() or not 0 < int(said) < 65536:
                raise ConfigError(f"--serve-args has --port '{said}'; wanted a number from 1 to 65535")
            port = int(said)
        return tuple(kept), port


def state_log(backend: BackendName, model: str) -> Path:
    """Where the log lies of a server that belongs to no run."""
    base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(model).name) or "model"
    return base / "thinkcap" / f"{backend}-{name}.log"
