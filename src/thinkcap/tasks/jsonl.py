"""Anyone's questions from a JSONL or CSV file, with errors that say where the file is wrong and what to do.

One record a line: `question` (text) or `messages` (a chat), `answer`, `kind` (number, math or label), and if
wanted `id`, `group` and `form`.

    {"question": "2 + 3?", "answer": "5", "kind": "number"}
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.core.names import nearest
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.types import Kind, Question
from thinkcap.tasks.task import Item, Source, asked, content_hash

_KINDS: dict[str, Kind] = {"number": "number", "math": "math", "label": "label"}
_KEYS = ("question", "messages", "answer", "kind", "id", "group", "form")


def read(variant: str, data: Path | None, seed: int | None, needed: int | None) -> Source:
    if not variant:
        raise ConfigError("name the file itself as the task: --task questions.jsonl")
    path = Path(variant)
    if not path.is_file() and data is not None and (data / variant).is_file():
        path = data / variant
    if not path.is_file():
        raise DataError(f"no file '{path}'; wanted a .jsonl or .csv of questions")
    text = _text(path)
    records = _csv(path, text) if path.suffix.lower() == ".csv" else _jsonl(path, text)
    items: list[Item] = []
    seen: dict[str, str] = {}
    for where, record in records:
        item = _item(where, record, len(items))
        if item.question.id in seen:
            raise DataError(
                f"{where}: the id '{item.question.id}' was used at {seen[item.question.id]}; ids must differ"
            )
        seen[item.question.id] = where
        items.append(item)
    if not items:
        raise DataError(f"{path} holds no questions")
    pairs = [(json.dumps(list(map(dict, i.question.messages)), sort_keys=True), i.gold) for i in items]
    return Source(path.stem, tuple(items), content_hash(pairs))


def _text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as err:
        line = path.read_bytes()[: err.start].count(b"\n") + 1
        raise DataError(f"{path} line {line}: byte {err.start} is not UTF-8; save the file as UTF-8") from err
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise DataError(f"{path} line {line}: a NUL byte, so this is no text; wanted a .jsonl or .csv in UTF-8")
    return text


def _jsonl(path: Path, text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as err:
            raise DataError(
                f"{path} line {number} column {err.colno}: not JSON ({err.msg}); wanted one object a line"
            ) from err
        except (RecursionError, ValueError) as err:
            raise DataError(f"{path} line {number}: nested too deep, or a number of too many digits") from err
        if not isinstance(record, dict):
            raise DataError(
                f"{path} line {number}: a {type(record).__name__}; wanted an object with question and answer"
            )
        if "\\ud" in line.lower() and _has_lone_surrogate(record):
            raise DataError(f"{path} line {number}: half a surrogate pair (\\ud800 to \\udfff) is no character")
        yield f"{path} line {number}", record


def _has_lone_surrogate(record: object) -> bool:
    """What no UTF-8 can hold, and so no request and no row."""
    return any("\ud800" <= c <= "\udfff" for c in json.dumps(record, ensure_ascii=False))


def _csv(path: Path, text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text), strict=True)
    if not reader.fieldnames:
        raise DataError(f"{path} line 1: empty; wanted a header row with question and answer")
    for name in reader.fieldnames:
        if name not in _KEYS:
            raise DataError(f"{path} line 1: unknown column '{name}'{nearest(name, _KEYS)}")
    try:
        for row in reader:
            where = f"{path} line {reader.line_num}"
            if None in row:
                raise DataError(f"{where}: more cells than the header has; quote cells that hold commas")
            if any(value is None for value in row.values()):
                raise DataError(f"{where}: fewer cells than the header has")
            record: dict[str, Any] = {key: value for key, value in row.items() if value != ""}
            if "messages" in record:
                try:
                    record["messages"] = json.loads(record["messages"])
                except json.JSONDecodeError as err:
                    raise DataError(f"{where} column 'messages': not JSON ({err.msg})") from err
            yield where, record
    except csv.Error as err:
        raise DataError(
            f"{path} line {reader.line_num}: not CSV ({err}); quote cells that hold quotes or line ends"
        ) from err


def _item(where: str, record: Mapping[str, Any], index: int) -> Item:
    for key in record:
        if key not in _KEYS:
            raise DataError(f"{where}: unknown key '{key}'{nearest(str(key), _KEYS)}")
    if "answer" not in record:
        raise DataError(f"{where}: 'answer' is missing; every question needs its gold answer")
    gold = record["answer"]
    if isinstance(gold, bool) or not isinstance(gold, (str, int, float)) or str(gold).strip() == "":
        raise DataError(f"{where}: 'answer' is {json.dumps(gold)}; wanted a text or a number")
    kind = _KINDS.get(str(record.get("kind", "")))
    if kind is None:
        if "kind" not in record:
            raise DataError(f"{where}: 'kind' is missing; wanted number, math or label")
        raise DataError(f"{where}: unknown kind '{record['kind']}'{nearest(str(record['kind']), _KINDS)}")
    form = str(record.get("form", ""))
    if form and form not in PROMPTS.forms:
        raise DataError(f"{where}: unknown form '{form}'{nearest(form, PROMPTS.forms)}")
    id_ = str(record.get("id", index))
    group = str(record.get("group", ""))
    if ("question" in record) == ("messages" in record):
        raise DataError(f"{where}: wanted either 'question' or 'messages'")
    if "question" in record:
        text = record["question"]
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"{where}: 'question' is {json.dumps(text)}; wanted a text")
        return Item(asked(id_, text, kind, form=form, group=group), str(gold))
    messages = _messages(where, record["messages"])
    return Item(Question(id_, messages, kind=kind, form=form, group=group), str(gold))


def _messages(where: str, messages: Any) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(messages, list) or not messages:
        raise DataError(f"{where}: 'messages' must be a list of chat messages, at least one")
    for number, message in enumerate(messages, 1):
        if not isinstance(message, dict) or not {"role", "content"} <= message.keys():
            raise DataError(f"{where}: message {number} needs 'role' and 'content'")
    return tuple(messages)
