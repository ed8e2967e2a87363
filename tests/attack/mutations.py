"""Inputs made out of other inputs: bytes, words and trees changed the ways that parsers fail at.

mutate(random.Random(0), b'{"a": 1}', pool)         # b'{"a": 1e400}'
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

LARGEST = 2**17
_NUMBERS = [
    b"-1",
    b"0",
    b"1e400",
    b"-0.0",
    b"NaN",
    b"9" * 5000,
    b"18446744073709551616",
    b"1e-400",
    b"0x10",
    b"1.5",
]
_WORDS = [
    *(
        b"\0",
        b"\r\n",
        b"\n\n",
        b"\r",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b"\\ud800",
        b"\x1b[2J",
        b"\xe2\x80\xae",
        b"%n%s",
    ),
    *(
        b"[" * 2000,
        b"{" * 2000,
        b'{"a":' * 500,
        b"((",
        b"))",
        b'"',
        b"'",
        b"\\",
        b"\\\\",
        b"..",
        b"../../etc/passwd",
    ),
    *(
        b"os:system",
        b"__class__",
        b"null",
        b"true",
        b"<think>",
        b"</think>",
        b"data: ",
        b"data: [DONE]\n\n",
        b": x\n\n",
    ),
    *(b"Content-Length: 9\r\n", b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: gzip\r\n", b"0\r\n\r\n"),
    *(
        b"\\boxed{",
        b"\\frac{",
        b"$$",
        b"####",
        b"=cmd()",
        b",,",
        b"=",
        b"[[a]]\n",
        b"a.b.c = 1\n",
        b"{%",
        b"{{",
        b"%}",
    ),
]
_VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        -1,
        2**31,
        2**63,
        2**70,
        1.5,
        1e308,
        "",
        "a",
        "x" * 3000,
        "\x00",
        "\x1b[31m",
        "\u202e",
    ),
    *([], {}, [[]], [None], {"": ""}, {"type": None}, [{}] * 50, "1e400", "../x", "os:system", "\ud800"),
]
_TOKEN = re.compile(rb"[A-Za-z_]+|-?\d[\d.eE+-]*|\s+|.", re.DOTALL)


def mutate(chance: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    """One to four changes, whole and small enough to be tried."""
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
        data = chance.choice(_WAYS)(chance, data, pool)[:LARGEST]
    return data


def _flip(chance: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    if not data:
        return b"\0"
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 4, 16))):
        at = chance.randrange(len(changed))
        changed[at] = changed[at] ^ (1 << chance.randrange(8)) if chance.random() < 0.7 else chance.randrange(256)
    return bytes(changed)


def _cut(chance: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    start, end = _span(chance, data)
    return data[:start] if chance.random() < 0.2 else data[:start] + data[end:]


def _again(chance: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    start, end = _span(chance, data)
    return data[:end] + data[start:end] * chance.choice((1, 1, 3, 50, 2000)) + data[end:]


def _word(chance: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(_WORDS) + data[at:]


def _splice(chance: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    other = chance.choice(pool)
    start, end = _span(chance, other)
    at = chance.randrange(len(data) + 1)
    return data[:at] + other[start:end] + data[at:]


def _token(chance: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    """One word or number becomes another, or changes places."""
    found = list(_TOKEN.finditer(data[:20_000]))
    if not found:
        return data
    one = chance.choice(found)
    number = one[0][:1].isdigit() or one[0][:1] == b"-"
    other = chance.choice(_NUMBERS) if number and chance.random() < 0.8 else chance.choice(found)[0]
    return data[: one.start()] + other + data[one.end() :]


def _trees(data: bytes) -> Iterator[tuple[int, int]]:
    """Of each line what lies between its first opening and its last closing bracket."""
    at = 0
    for line in data.split(b"\n"):
        starts = [found for found in (line.find(b"{"), line.find(b"[")) if found >= 0]
        end = max(line.rfind(b"}"), line.rfind(b"]")) + 1
        if starts and end > min(starts):
            yield at + min(starts), at + end
        at += len(line) + 1


def _tree(chance: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    """Where JSON stands in it (a body, an event, a line), one of its values changes."""
    places = list(_trees(data[:60_000]))
    if not places:
        return _token(chance, data, pool)
    start, end = chance.choice(places)
    try:
        tree = json.loads(data[start:end])
    except (ValueError, RecursionError):
        return _token(chance, data, pool)
    made = json.dumps(_changed(chance, tree)).encode()
    fitted = data[:start] + made + data[end:]
    # A head that counts the bytes is corrected as a rule: else nothing behind it would be reached.
    if chance.random() < 0.9:
        grown = len(made) - (end - start)
        fitted = re.sub(
            rb"(?i)(content-length: )(\d{1,9})\b", lambda m: m[1] + b"%d" % max(0, int(m[2]) + grown), fitted
        )
    return fitted


def _changed(chance: random.Random, tree: Any) -> Any:
    if isinstance(tree, dict) and tree and chance.random() < 0.85:
        key = chance.choice(list(tree))
        deed = chance.random()
        if deed < 0.1:
            return {name: value for name, value in tree.items() if name != key}
        if deed < 0.15:
            return {**tree, chance.choice(["", "x", "type", "\x00", "id", "$ref"]): chance.choice(_VALUES)}
        return {**tree, key: _changed(chance, tree[key])}
    if isinstance(tree, list) and tree and chance.random() < 0.85:
        at = chance.randrange(len(tree))
        if chance.random() < 0.1:
            return [*tree, tree[at]] * chance.choice((1, 20))
        return [*tree[:at], _changed(chance, tree[at]), *tree[at + 1 :]]
    return [tree] if chance.random() < 0.1 else chance.choice(_VALUES)


def _span(chance: random.Random, data: bytes) -> tuple[int, int]:
    start = chance.randrange(len(data) + 1)
    return start, min(len(data), start + chance.choice((1, 2, 8, 40, 400)))


_WAYS: list[Callable[[random.Random, bytes, Sequence[bytes]], bytes]] = [
    *(_flip, _cut, _again, _word, _splice, _token, _token, _tree, _tree, _tree),
]
