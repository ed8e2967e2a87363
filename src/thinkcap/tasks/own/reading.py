"""Anyone's questions from a table (JSONL, JSON, CSV, TSV, Parquet), as they are: columns found, kinds guessed.

    read("questions.csv", None)                                      # question, answer, id, ... by their names
    read("dump.parquet", None, columns={"question": "q", "gold": "a"}, kind="text")

A record may have `question` (text) or `messages` (a chat), the gold answer, options of a multiple choice, and if
wanted `id`, `group`, `kind` and `form`. Every other column is kept with its question.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.core.names import nearest
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.types import EMPTY, Kind, Question
from thinkcap.grading import extract
from thinkcap.tasks.own.choices import Options, lettered, listed, written
from thinkcap.tasks.own.columns import Columns, find
from thinkcap.tasks.own.guess import KINDS, guessed
from thinkcap.tasks.own.tables import MOST_COLUMNS, SUFFIXES, Record, records
from thinkcap.tasks.task import Item, Source, asked, content_hash

_MOST_FACTS = 64
_LONGEST_FACT = 1000
_LONGEST_PATTERN = 1000
Placed = tuple[str, Record]


class GoldForm(NamedTuple):
    """How one gold is compared, the answer form where it has one of its own, and the gold."""

    kind: Kind
    form: str
    gold: str


def read(name: str, data: Path | None, *, columns: Mapping[str, str] = EMPTY, kind: str | None = None) -> Source:
    """The whole file; `columns` maps roles (question, gold, ...) to its columns, `kind` is that of all golds."""
    path = _found(name, data)
    if kind is not None and kind not in KINDS:
        raise ConfigError(f"unknown kind '{kind}'{nearest(kind, KINDS)}")
    placed = list(records(path))
    if not placed:
        raise DataError(f"{path} holds no questions")
    names = list(dict.fromkeys(key for _, record in placed for key in record))
    if len(names) > MOST_COLUMNS:
        raise DataError(
            f"{path}: {len(names):,} columns; wanted {MOST_COLUMNS:,} at most, the same in each record"
        )
    roles = _settled(find(names, columns, str(path)), columns, placed)
    options = [_options(record, roles) for _, record in placed]
    golds = [_gold(where, record, roles) for where, record in placed]
    told = _told(placed, golds, options, roles, kind)
    extra = [column for column in names if column not in roles.used and column != "group"][:_MOST_FACTS]
    items: list[Item] = []
    seen: dict[str, str] = {}
    for index, (where, record) in enumerate(placed):
        id_ = str(record.get(roles.id or "", index))
        if id_ in seen:
            raise DataError(f"{where}: the id '{id_}' was used at {seen[id_]}; ids must differ")
        seen[id_] = where
        question = _question(where, record, roles, id_, told[index], options[index])
        facts = {column: _fact(record[column]) for column in extra if column in record}
        items.append(Item(question, told[index].gold, MappingProxyType(facts)))
    pairs = [(json.dumps(list(map(dict, i.question.messages)), sort_keys=True), i.gold) for i in items]
    note = _note(path, roles, told, guess=kind is None and any((roles.kind or "") not in r for _, r in placed))
    return Source(path.stem, tuple(items), content_hash(pairs), note, MappingProxyType(roles.named))


def _found(name: str, data: Path | None) -> Path:
    path = Path(name)
    if not path.is_file() and data is not None and (data / name).is_file():
        path = data / name
    if not path.is_file():
        raise DataError(f"no file '{path}'; wanted a table of questions ({', '.join(SUFFIXES)})")
    return path


def _settled(roles: Columns, mapped: Mapping[str, str], placed: Sequence[Placed]) -> Columns:
    """Columns that only look like an id, a kind, a form or a group are left as facts, unless they were mapped."""

    def cells(column: str) -> list[str]:
        return [str(record[column]) for _, record in placed if column in record]

    changed: dict[str, Any] = {}
    if roles.id and roles.id != "id" and "id" not in mapped and len(set(cells(roles.id))) < len(placed):
        changed["id"] = None
    if roles.kind and "kind" not in mapped and not set(cells(roles.kind)) & KINDS.keys():
        changed["kind"] = None
    if (
        roles.form
        and "form" not in mapped
        and not set(cells(roles.form)) & PROMPTS.forms.keys()
        and not roles.kind
    ):
        changed["form"] = None
    named = roles.group in (None, "group") or "group" in mapped
    if not named and len(set(cells(str(roles.group)))) == len(placed) > 1:
        changed["group"] = None
    return replace(roles, **changed)


def _options(record: Record, roles: Columns) -> Options:
    if roles.options:
        given = {letter: str(record[c]).strip() for letter, c in roles.options if str(record.get(c, "")).strip()}
    else:
        cell = record.get(roles.choices or "")
        if isinstance(cell, str) and cell.lstrip().startswith(("[", "{")):
            try:
                cell = json.loads(cell)
            except ValueError:
                cell = None
        given = dict(listed(cell) or {})
    return given if len(given) > 1 else {}


def _gold(where: str, record: Record, roles: Columns) -> str:
    column = str(roles.gold)
    if column not in record:
        raise DataError(f"{where}: '{column}' is missing; every question needs its gold answer")
    gold = record[column]
    known = isinstance(gold, str | int) or (isinstance(gold, float) and math.isfinite(gold))
    if not known or str(gold).strip() == "":
        raise DataError(f"{where}: '{column}' is {_json(gold)}; wanted a text or a number")
    return str(gold)


def _told(
    placed: Sequence[Placed], golds: Sequence[str], options: Sequence[Options], roles: Columns, kind: str | None
) -> list[GoldForm]:
    """Kind, form and gold of every record: as given, else label for a multiple choice, else guessed."""
    declared = dict.fromkeys(range(len(golds)), KINDS[kind]) if kind else _declared(placed, roles)
    chosen = [i for i, given in enumerate(options) if given and declared.get(i, KINDS["label"]) == KINDS["label"]]
    letters = dict(zip(chosen, lettered([(golds[i], options[i]) for i in chosen]), strict=True))
    open_ = [i for i in range(len(golds)) if i not in declared and i not in letters]
    short = {i: _final(golds[i]) for i in open_}
    guess = guessed(list(short.values())) if open_ else None
    told = []
    for i, (where, record) in enumerate(placed):
        if i in letters:
            letter = letters[i]
            if letter is None:
                shown = ", ".join(f"({key}) {text[:40]}" for key, text in list(options[i].items())[:6])
                raise DataError(
                    f"{where}: the gold '{golds[i][:80]}' is not among the options {shown}; "
                    f"wanted a letter or the text of one option"
                )
            told.append(GoldForm("label", "", letter))
            continue
        how, form = declared[i] if i in declared else guess or KINDS["text"]
        told.append(GoldForm(how, _form(where, record, roles) or form, short.get(i, golds[i])))
        if how == "text":
            _check_pattern(where, golds[i])
    return told


def _declared(placed: Sequence[Placed], roles: Columns) -> dict[int, tuple[Kind, str]]:
    found = {}
    for i, (where, record) in enumerate(placed):
        if roles.kind and roles.kind in record:
            name = str(record[roles.kind])
            if name not in KINDS:
                raise DataError(f"{where}: unknown kind '{name}'{nearest(name, KINDS)}")
            found[i] = KINDS[name]
    return found


def _form(where: str, record: Record, roles: Columns) -> str:
    form = str(record.get(roles.form or "", ""))
    if form and form not in PROMPTS.forms:
        raise DataError(f"{where}: unknown form '{form}'{nearest(form, PROMPTS.forms)}")
    return form


def _final(gold: str) -> str:
    """The answer alone where the gold is a whole solution, as in GSM8K and MATH."""
    stated = extract(gold, "math").answer if "####" in gold or "\\boxed" in gold else None
    return stated or gold


def _check_pattern(where: str, gold: str) -> None:
    found = re.fullmatch(r"/(.+)/i?", gold.strip(), re.DOTALL)
    if found is None:
        return
    if len(found.group(1)) > _LONGEST_PATTERN:
        raise DataError(
            f"{where}: a pattern of {len(found.group(1))} characters; wanted {_LONGEST_PATTERN} at most"
        )
    try:
        re.compile(found.group(1))
    except (re.error, OverflowError, RecursionError) as err:
        raise DataError(f"{where}: the gold {gold[:80]} is not a regular expression ({err})") from err


def _question(where: str, record: Record, roles: Columns, id_: str, told: GoldForm, options: Options) -> Question:
    group = str(record.get(roles.group or "", ""))
    text, chat = record.get(roles.question or ""), record.get(roles.messages or "")
    if (text is None) == (chat is None):
        raise DataError(
            f"{where}: wanted either '{roles.question or 'question'}' or '{roles.messages or 'messages'}'"
        )
    if isinstance(text, list):
        text, chat = None, text
    if isinstance(chat, str):
        try:
            chat = json.loads(chat)
        except (ValueError, RecursionError) as err:
            raise DataError(f"{where} column '{roles.messages}': not JSON ({err})") from err
    if text is None:
        return Question(id_, _messages(where, chat), kind=told.kind, form=told.form, group=group)
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"{where}: '{roles.question}' is {_json(text)}; wanted a text")
    return asked(id_, written(text, options) if options else text, told.kind, form=told.form, group=group)


def _messages(where: str, messages: Any) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(messages, list) or not messages:
        raise DataError(f"{where}: 'messages' must be a list of chat messages, at least one")
    for number, message in enumerate(messages, 1):
        if not isinstance(message, dict) or not {"role", "content"} <= message.keys():
            raise DataError(f"{where}: message {number} needs 'role' and 'content'")
    return tuple(messages)


def _fact(cell: Any) -> str:
    return (cell if isinstance(cell, str) else _json(cell))[:_LONGEST_FACT]


def _json(cell: Any) -> str:
    return json.dumps(cell, ensure_ascii=False, default=str)[:_LONGEST_FACT]


def _note(path: Path, roles: Columns, told: Sequence[GoldForm], guess: bool) -> str:
    """One line that says how the file was read."""
    kinds = sorted({one.form or one.kind for one in told})
    said = [f"question in '{roles.question or roles.messages}'", f"gold in '{roles.gold}'"]
    if roles.options or roles.choices:
        said.append(f"options in '{roles.choices or ', '.join(column for _, column in roles.options)}'")
    if roles.group:
        said.append(f"groups by '{roles.group}'")
    how = " (guessed; use --kind to change it)" if guess else ""
    return f"{path.name}: {', '.join(said)}; kind {', '.join(kinds)}{how}"
