"""What a GGUF file says about itself, read without loading the model: sizes, template and vocabulary.

Decoding ids here instead of asking the server makes cutting a trace at many budgets cheap, and the same ids
always give the same text, whether they were cut or generated.

    facts = read_gguf(Path("model.gguf"))
    facts.context, facts.vocabulary.decode([1, 2, 3])
"""

from __future__ import annotations

import codecs
import mmap
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from thinkcap.core.errors import ConfigError
from thinkcap.core.marks import PLAIN
from thinkcap.dialects import default_template

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9
_NORMAL, _UNKNOWN, _CONTROL, _USER, _BYTE = 1, 2, 3, 4, 6
_END_IDS = ("eos_token_id", "eot_token_id", "eom_token_id")
_END_TEXTS = frozenset(
    {"<|im_end|>", "<|eot_id|>", "<|end|>", "<|endoftext|>", "<end_of_turn>", "</s>", "<｜end▁of▁sentence｜>"}
)
_SKIPPED = ("tokenizer.ggml.merges", "tokenizer.ggml.scores")
_FILE_TYPES = {0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 15: "Q4_K_M", 32: "BF16"}


@dataclass(frozen=True)
class Vocabulary:
    """Byte-level BPE tokens by id; `kinds` are GGUF's token types."""

    tokens: Sequence[str]
    kinds: Sequence[int]
    ends: frozenset[int]
    shown: frozenset[str] = frozenset(PLAIN.tokens)
    """Control tokens that belong to the text all the same."""

    @cached_property
    def _bytes(self) -> list[bytes | None]:
        return [None] * len(self.tokens)

    @cached_property
    def _alphabet(self) -> Mapping[str, int]:
        return byte_alphabet()

    def piece(self, token: int) -> bytes:
        """The bytes a token stands for; nothing for control tokens."""
        known = self._bytes[token]
        if known is None:
            known = self._bytes[token] = self._spell(token)
        return known

    def decode(self, ids: Sequence[int]) -> str:
        """Bytes that are no UTF-8 (a cut inside a character) become U+FFFD."""
        return b"".join(map(self.piece, ids)).decode("utf-8", "replace")

    def stream(self) -> codecs.IncrementalDecoder:
        """Decodes pieces as they come, holding back the beginning of an unfinished character."""
        return codecs.getincrementaldecoder("utf-8")("replace")

    def showing(self, marks: Sequence[str], end: str | None) -> Vocabulary:
        """The same for a dialect of these marks: one of them ends no turn, unless it is the end of the turn."""
        shown = frozenset(marks) - {end}
        return Vocabulary(
            self.tokens, self.kinds, frozenset(i for i in self.ends if self.tokens[i] not in shown), shown
        )

    def find(self, text: str) -> int | None:
        """The id of a token that is exactly this text."""
        return next((i for i, token in enumerate(self.tokens) if token == text), None)

    def _spell(self, token: int) -> bytes:
        text, kind = self.tokens[token], self.kinds[token]
        if text in self.shown:
            return text.encode()
        if token in self.ends or kind in (_CONTROL, _UNKNOWN):
            return b""
        if kind != _NORMAL:
            return text.encode()
        # A character outside the alphabet cannot come from training; keep it as it stands.
        return b"".join(bytes([self._alphabet[c]]) if c in self._alphabet else c.encode() for c in text)


@dataclass(frozen=True)
class GgufFacts:
    name: str
    architecture: str
    context: int
    cache_bytes: int
    """Key-value cache for one token of context, in bytes, at 16 bits a number."""
    dtype: str
    template: str
    vocabulary: Vocabulary | None
    """None where the tokens are no byte-level BPE; then the server decodes."""


def read_gguf(path: Path) -> GgufFacts:
    """Refuses what is no GGUF by name; reads only the header."""
    if not path.is_file():
        raise ConfigError(f"no model file at '{path}'; wanted a GGUF file, `bundled`, or http://host/v1#name")
    with path.open("rb") as file:
        magic = file.read(4)
        if magic != b"GGUF":
            raise ConfigError(f"'{path}' is not a GGUF file (it begins with {magic!r}); convert the model to GGUF")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            try:
                values = _metadata(view)
            except (struct.error, IndexError, KeyError, UnicodeDecodeError) as err:
                raise ConfigError(f"'{path}' is a damaged GGUF file ({err}); fetch it again") from err
    return _facts(path, values)


def _metadata(view: mmap.mmap) -> dict[str, Any]:
    version, _tensors, count = struct.unpack_from("<IQQ", view, 4)
    if version < 2:
        raise KeyError(f"version {version}, wanted 2 or newer")
    at = 24
    values: dict[str, Any] = {}
    for _ in range(count):
        key, at = _text(view, at)
        (kind,) = struct.unpack_from("<I", view, at)
        value, at = _value(view, at + 4, kind, keep=key not in _SKIPPED)
        values[key] = value
    return values


def _text(view: mmap.mmap, at: int) -> tuple[str, int]:
    (size,) = struct.unpack_from("<Q", view, at)
    end = at + 8 + size
    if end > len(view):
        raise IndexError("a text reaches beyond the end of the file")
    return view[at + 8 : end].decode("utf-8", "surrogateescape"), end


def _value(view: mmap.mmap, at: int, kind: int, keep: bool = True) -> tuple[Any, int]:
    if kind == _TEXT:
        return _text(view, at)
    if kind != _ARRAY:
        code = "<" + _SCALARS[kind]
        return struct.unpack_from(code, view, at)[0], at + struct.calcsize(code)
    inner, count = struct.unpack_from("<IQ", view, at)
    at += 12
    if inner in _SCALARS:
        code = f"<{count}{_SCALARS[inner]}"
        return (list(struct.unpack_from(code, view, at)) if keep else None), at + struct.calcsize(code)
    items = []
    for _ in range(count):
        if inner == _TEXT and not keep:
            at += 8 + struct.unpack_from("<Q", view, at)[0]
        else:
            item, at = _value(view, at, inner)
            items.append(item)
    return items, at


def _facts(path: Path, values: Mapping[str, Any]) -> GgufFacts:
    arch = str(values.get("general.architecture", "unknown"))

    def number(key: str, default: int = 0) -> int:
        value = values.get(f"{arch}.{key}", default)
        # Some architectures give one number a layer: the largest is the safe one.
        return int(max(value)) if isinstance(value, list) else int(value)

    heads = number("attention.head_count", 1)
    kv_heads = number("attention.head_count_kv", heads)
    width = number("embedding_length") // max(1, heads)
    key, value = number("attention.key_length", width), number("attention.value_length", width)
    return GgufFacts(
        name=str(values.get("general.name") or path.stem),
        architecture=arch,
        context=number("context_length", 2048),
        cache_bytes=2 * number("block_count", 1) * kv_heads * (key + value),
        dtype=_FILE_TYPES.get(int(values.get("general.file_type", -1)), "mixed"),
        template=default_template(values.get("tokenizer.chat_template")),
        vocabulary=_vocabulary(values),
    )


def _vocabulary(values: Mapping[str, Any]) -> Vocabulary | None:
    tokens = values.get("tokenizer.ggml.tokens")
    if values.get("tokenizer.ggml.model") != "gpt2" or not tokens:
        return None
    kinds = values.get("tokenizer.ggml.token_type") or [_NORMAL] * len(tokens)
    named = {values.get(f"tokenizer.ggml.{key}") for key in _END_IDS}
    ends = {i for i in named if isinstance(i, int)}
    ends |= {i for i, t in enumerate(tokens) if t in _END_TEXTS and kinds[i] != _NORMAL}
    return Vocabulary(tokens, kinds, frozenset(ends))


def byte_alphabet() -> dict[str, int]:
    """GPT-2's printable stand-ins for the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    alphabet = {chr(b): b for b in plain}
    others = (b for b in range(256) if b not in plain)
    alphabet.update({chr(256 + n): b for n, b in enumerate(others)})
    return alphabet
