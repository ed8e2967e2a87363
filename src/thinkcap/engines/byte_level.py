"""The letters in which byte-level BPE writes bytes: every byte has one that can be seen.

>>> token_bytes("\\u0120caf\\u00c3\\u00a9").decode()
' café'
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType


@lru_cache(maxsize=1)
def _bytes_by_glyph() -> Mapping[str, int]:
    """Printable Latin-1 bytes stand for themselves, the other 68 are shifted to U+0100 and on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {chr(b): b for b in plain}
    others = [b for b in range(256) if b not in set(plain)]
    table.update({chr(0x100 + i): b for i, b in enumerate(others)})
    return MappingProxyType(table)


def token_bytes(token: str) -> bytes:
    """What a token stands for. One with any other letter was added to the vocabulary as it is."""
    table = _bytes_by_glyph()
    try:
        return bytes([table[glyph] for glyph in token])
    except KeyError:
        return token.encode()
