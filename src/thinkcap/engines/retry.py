"""How long to wait for a model server and when to ask again; and the key it is asked with.

RetryPolicy(total_s=60, attempts=3).again(error)
key_for("http://localhost:8000/v1#qwen3-8b")
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from thinkcap.core.errors import EngineError, EngineRefused, EngineTimeout

_KEYS = ("THINKCAP_API_KEY", "OPENAI_API_KEY")


_OWN: dict[str, str] = {}
"""Keys of the servers that this process runs, by their host and port."""


def key_for(address: str) -> str | None:
    """Ours, of a server that we run; else from the environment alone: a command line is seen by every process."""
    own = _OWN.get(urlsplit(address).netloc)
    return own or next((os.environ[name] for name in _KEYS if os.environ.get(name)), None)


@contextmanager
def own_key(address: str, key: str) -> Iterator[None]:
    """The key of a server that we run, for as long as we do."""
    _OWN[urlsplit(address).netloc] = key
    try:
        yield
    finally:
        del _OWN[urlsplit(address).netloc]


@dataclass(frozen=True)
class RetryPolicy:
    connect_s: float = 10.0
    first_byte_s: float = 120.0
    """For a stream's first piece; a whole answer has `total_s`."""
    between_bytes_s: float = 60.0
    total_s: float = 900.0
    """One call with all its tries and pauses."""
    attempts: int = 5
    pause_s: float = 0.5
    """Before the second try; doubles with each, up to `pause_max_s`, half of it by chance."""
    pause_max_s: float = 20.0
    asks_after_s: float | None = None
    """A server that has said nothing to anybody for so long, while a whole answer is waited for, is asked whether
    it is there, and given up after as long again. None: it has `total_s`."""
    waits_out: bool = True
    """Whether busy and slow servers are asked again; a gateway tells its caller instead, who may know better."""

    @classmethod
    def within(cls, total_s: float, attempts: int = 5) -> RetryPolicy:
        """For someone who will wait this long for one call and no longer."""
        default = cls()
        return cls(
            connect_s=min(default.connect_s, total_s),
            first_byte_s=min(default.first_byte_s, total_s),
            between_bytes_s=min(default.between_bytes_s, total_s),
            total_s=total_s,
            attempts=attempts,
        )

    def again(self, error: EngineError) -> bool:
        """Whether the same call may do better, and is worth the wait."""
        waits = isinstance(error, EngineTimeout) or (isinstance(error, EngineRefused) and error.status == 429)
        return error.retriable and (self.waits_out or not waits)

    def pause(self, attempt: int, error: EngineError) -> float:
        """Never the same for all callers; a server that says when to come back is believed."""
        grown = min(self.pause_max_s, self.pause_s * 2.0**attempt)
        drawn = grown * (0.5 + random.random() / 2)
        asked_s = error.retry_after_s if isinstance(error, EngineRefused) else None
        return drawn if asked_s is None else asked_s + drawn / 10
