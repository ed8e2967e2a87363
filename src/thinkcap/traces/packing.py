"""Token ids and scores as bytes: what a generation takes in a store.

>>> unpack(pack((5, 70_000)))
(5, 70000)
"""

from __future__ import annotations

import sys
import zlib
from array import array

from thinkcap.core.scores import Scores

LARGEST = 256 * 2**20
"""Bytes of one generation, unpacked."""


def pack(ids: tuple[int, ...]) -> bytes:
    """As many bytes an id as the largest needs, two to four, deflated; the first byte says how many."""
    most = max(ids, default=0)
    size = 2 if most < 1 << 16 else 3 if most < 1 << 24 else 4
    if size == 3:
        import numpy as np

        plain = np.array(ids, dtype="<u4").view(np.uint8).reshape(-1, 4)[:, :3].tobytes()
    else:
        words = array("I" if size == 4 else "H", ids)
        if sys.byteorder == "big":
            words.byteswap()
        plain = words.tobytes()
    # Harder compression saves four bytes in a hundred and takes three times as long.
    return str(size).encode() + zlib.compress(plain, 1)


def inflated(packed: bytes) -> bytes:
    unpacking = zlib.decompressobj()
    plain = unpacking.decompress(packed, LARGEST)
    if not unpacking.eof:
        raise ValueError(f"a generation that is cut short or larger than {LARGEST:,} bytes")
    return plain


def unpack(blob: bytes) -> tuple[int, ...]:
    plain = inflated(blob[1:])
    if blob[:1] == b"3":
        import numpy as np

        wide = np.zeros((len(plain) // 3, 4), dtype=np.uint8)
        wide[:, :3] = np.frombuffer(plain, dtype=np.uint8).reshape(-1, 3)
        return tuple(wide.view("<u4").ravel().tolist())
    words = array("I" if blob[:1] == b"4" else "H")
    words.frombytes(plain)
    if sys.byteorder == "big":
        words.byteswap()
    return tuple(words)


def pack_scores(scores: Scores) -> bytes:
    """Three runs of floats, deflated."""
    floats = array("f", [*scores.chosen, *scores.mean, *scores.entropy])
    if sys.byteorder == "big":
        floats.byteswap()
    return zlib.compress(floats.tobytes(), 1)


def unpack_scores(blob: bytes | None) -> Scores | None:
    if blob is None:
        return None
    floats = array("f")
    floats.frombytes(inflated(blob))
    if sys.byteorder == "big":
        floats.byteswap()
    third, rest = divmod(len(floats), 3)
    if rest:
        raise ValueError("scores that are not three per token")
    return Scores(tuple(floats[:third]), tuple(floats[third : 2 * third]), tuple(floats[2 * third :]))
