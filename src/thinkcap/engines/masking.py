"""Whatever a model server says may repeat what it was sent: the key, the headers, where it lives.

    mask = Mask("secret-key", "http://10.0.0.5:8000/v1")
    mask("bad header Authorization: Bearer secret-key")         # 'bad header Authorization: ***'

Every word of a server's that reaches an error, a client, a log or a metric goes through here first.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

_HIDDEN = "***"
_SERVER = "the model server"
_CREDENTIALS = re.compile(
    r"(?i)\b((?:proxy-)?authorization|x-api-key|api[-_]?key)(['\"]{0,2}\s{0,4}[:=]\s{0,4}['\"]{0,2})"
    r"(?:(?:bearer|basic|token)\s{1,4})?[^\s'\",;}\]]{1,4096}"
)
_BEARER = re.compile(r"(?i)\bbearer\s{1,4}[^\s'\",;}\]]{1,4096}")
_ADDRESS = re.compile(r"(?i)\b[a-z][a-z0-9+.-]{1,15}://[^\s'\"<>]{1,4096}")
_LONGEST = 500
_SECRET = 5


class Mask:
    """Knows the key and the address that must not be seen. `Mask()` hides what looks like either."""

    def __init__(self, key: str | None = None, address: str = "") -> None:
        # A placeholder such as `x` is no secret, and stands in every other word.
        self._key = key if key and len(key) >= _SECRET else None
        place = urlsplit(address).netloc.rpartition("@")[2] if address else ""
        host = place.rpartition(":")[0] if re.search(r":\d+$", place) else place
        # The longer first: a host's name is the beginning of its host and port.
        self._places = [name for name in (place, host) if name and host not in ("localhost", "127.0.0.1", "[::1]")]
        if place and not self._places and place != host:
            self._places = [place]

    def __call__(self, words: str) -> str:
        """One line without keys, addresses and control characters, not too long. Masked before it is cut."""
        if self._key:
            words = words.replace(self._key, _HIDDEN)
        words = _ADDRESS.sub(_SERVER, words)
        words = _CREDENTIALS.sub(rf"\1\2{_HIDDEN}", words)
        words = _BEARER.sub(_HIDDEN, words)
        for place in self._places:
            words = words.replace(place, _SERVER)
        words = " ".join("".join(c if c.isprintable() else " " for c in words).split())
        return words[:_LONGEST] or "(nothing)"


def sentence(raw: str) -> str:
    """The server's own sentence out of its error body, where there is one."""
    try:
        body: Any = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    error = body.get("error", body) if isinstance(body, dict) else body
    return str(error.get("message", error) if isinstance(error, dict) else error)
