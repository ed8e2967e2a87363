"""Twice the log, the questions or the request takes about twice the work: long texts in every field, many rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from seeds import LOGS
from test_hostile_growth import RATIO, growth

from thinkcap.core.errors import ThinkcapError
from thinkcap.gateway.media import check_media
from thinkcap.gateway.refusal import Refusal
from thinkcap.gateway.watch.seen import StreamSeen, asked_in
from thinkcap.gateway.wires import WIRES
from thinkcap.grading.extraction import extract
from thinkcap.logs.door import read
from thinkcap.logs.labels import read_labels
from thinkcap.logs.sampling import draw
from thinkcap.tasks.own.reading import read as read_questions
from thinkcap.view.searching import among

UNITS = (" ", "<think>", '\\"', "{", "1,", "a=")
TURNS: dict[str, Callable[[str, int], dict[str, Any]]] = {
    "/v1/chat/completions": lambda text, many: {"messages": [{"role": "user", "content": text}] * many},
    "/v1/messages": lambda text, many: {"messages": [{"role": "user", "content": text}] * many, "max_tokens": 9},
    "/v1/responses": lambda text, many: {"input": [{"role": "user", "content": text}] * many},
}


def request(path: str, text: str, many: int) -> None:
    body = json.dumps({"model": text[:9], "stop": [text[:9]], **TURNS[path](text, many)})
    try:
        WIRES[path].read(body.encode(), False)
    except Refusal as err:
        raise ThinkcapError("refused") from err


def watched(text: str) -> None:
    asked_in(json.dumps({"model": text, "messages": [{"content": text}]}).encode())
    stream = StreamSeen()
    for at in range(0, len(text), 64):
        piece = {"choices": [{"index": 0, "delta": {"content": text[at : at + 64]}}]}
        stream.take(f"data: {json.dumps(piece)}\n\n".encode())
    stream.answers()


def image(text: str) -> None:
    part = {"type": "image_url", "image_url": {"url": f"https://{text}"}}
    try:
        check_media([{"role": "user", "content": [part]}], ())
    except Refusal as err:
        raise ThinkcapError("refused") from err


PARSERS: dict[str, Callable[[str], Any]] = {
    **{f"{path}, a long turn": lambda text, path=path: request(path, text, 1) for path in TURNS},
    **{f"{path}, many turns": lambda text, path=path: request(path, text[:9], len(text) // 20) for path in TURNS},
    "watched traffic": watched,
    "an image's address": image,
    "search": lambda text: among([{"text": text, "gold": text, "chains": {}}], text[:200] + "z"),
    **{
        f"a {kind} in an answer": lambda text, kind=kind: extract(text, kind)
        for kind in ("number", "label", "text")
    },
}


@pytest.mark.parametrize("name", PARSERS)
def test_work_grows_with_the_request_and_the_answer(name: str) -> None:
    for unit in UNITS:
        grows(PARSERS[name], unit, name)


def grows(parser: Callable[[str], Any], unit: str, what: str) -> None:
    # A busy machine can spoil one measurement, not four in a row.
    assert any(growth(parser, unit) < RATIO for _ in range(4)), f"{what}: twice as many {unit!r} take far longer"


def filled(value: Any, text: str) -> Any:
    """A row of a real log with the text in every field that holds one."""
    if isinstance(value, dict):
        return {key: filled(inner, text) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, text) for inner in value]
    return value + text if isinstance(value, str) and len(value) > 1 else value


ROWS = {name: [json.loads(line) for line in raw.splitlines()] for name, raw in LOGS() if name.endswith(".jsonl")}
READERS: dict[str, Callable[[Path], Any]] = {
    **{name: lambda path: read([path]) for name in ROWS},
    "labels.jsonl": read_labels,
    "drawn.jsonl": lambda path: draw([path], 3),
    "own.jsonl": lambda path: read_questions(str(path), None),
    "own.csv": lambda path: read_questions(str(path), None),
}
ROWS |= {"drawn.jsonl": ROWS["watch.jsonl"], "own.jsonl": [{"question": "2+2?", "gold": "4", "note": "so"}]}


def long(name: str, text: str) -> str:
    if name == "own.csv":
        return f'question,gold\n"{text.replace(chr(34), "")}",4\n'
    return "\n".join(json.dumps(filled(row, text[: len(text) // 8])) for row in ROWS[name])


def many(name: str, text: str) -> str:
    if name == "own.csv":
        return "question,gold\n" + "".join(f"{n} {text[:6]!r},4\n" for n in range(len(text) // 12))
    rows = [ROWS[name][n % len(ROWS[name])] for n in range(len(text) // 200 + 1)]
    return "\n".join(json.dumps({**row, "id": f"q{n}", "custom_id": f"q{n}"}) for n, row in enumerate(rows))


SLOW = {"samples.jsonl"}
"""Its answers are graded by worker programs, which take a second to start."""


@pytest.mark.parametrize("shape", [long, many])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in READERS]
)
def test_work_grows_with_the_file(tmp_path: Path, name: str, shape: Callable[[str, str], str]) -> None:
    path = tmp_path / name

    def parser(text: str) -> None:
        path.write_text(shape(name, text))
        READERS[name](path)

    for unit in UNITS[1:4] if shape is long else ("a",):
        grows(parser, unit, f"{name}, {shape.__name__}")
