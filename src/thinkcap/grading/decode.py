"""Byte-level BPE that was stored without being decoded, so that an answer in it can still be read.

Some tools store tokens instead of text: a space is then U+0120 and a newline U+010A.

    >>> decoded("The\\u0120answer\\u0120is\\u010a42")
    'The answer is\\n42'
"""

from __future__ import annotations

from functools import lru_cache

_SPACE, _NEWLINE = "\u0120", "\u010a"


@lru_cache(maxsize=1)
def _bytes_by_glyph() -> dict[str, int]:
    """Printable Latin-1 bytes stand for themselves, the other 68 are shifted to U+0100 and on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {chr(b): b for b in plain}
    others = [b for b in range(256) if b not in set(plain)]
    table.update({chr(0x100 + i): b for i, b in enumerate(others)})
    return table


def is_undecoded(text: str) -> bool:
    """Undecoded text has the two glyphs in the place of all its white space."""
    glyphs = text.count(_SPACE) + text.count(_NEWLINE)
    return glyphs > 0 and glyphs > text.count(" ") + text.count("\n")


def decoded(text: str) -> str:
    """The text itself, or what it says where it is undecoded byte-level BPE."""
    if not is_undecoded(text):
        return text
    table = _bytes_by_glyph()
    quick = text.translate({ord(glyph): byte for glyph, byte in table.items()})
    if max(quick) <= "\u00ff":
        return quick.encode("latin-1").decode("utf-8", "replace")
    out = bytearray()
    for char in text:
        byte = table.get(char)
        # Special tokens such as <|end|> may hold characters outside the table; they are text already.
        out += char.encode("utf-8", "replace") if byte is None else bytes((byte,))
    return out.decode("utf-8", "replace")
