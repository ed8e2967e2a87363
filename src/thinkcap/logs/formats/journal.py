"""The journal that `thinkcap serve --watch` keeps: a line a request, its answers without a judge.

{"watch": 1, "model": "m", "key": "alice", "cap": 512, "answers": [{"finish": "stop", "tokens": 12, ...}], ...}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from thinkcap.core.errors import DataError
from thinkcap.logs.answered import SeenAnswer, count, finish_of, name_of
from thinkcap.logs.arms import Questions
from thinkcap.logs.reading import Log
from thinkcap.logs.said import Found, Said
from thinkcap.logs.ungraded import Ungraded

_ANYTHING = "."
"""A word that stands for an answer whose text was not kept."""


def recognise(log: Log) -> bool:
    return log.first.get("watch") == 1 and isinstance(log.first.get("answers"), list)


def read(log: Log, questions: Questions, said: Said) -> Found:
    rows = Ungraded(log.name, log.memory)
    torn = by_events = unread = 0
    decode = msgspec.json.Decoder().decode
    for line, text in log.lines():
        try:
            entry = decode(text)
        except (ValueError, RecursionError):
            entry = None
        answers = entry.get("answers") if isinstance(entry, Mapping) else None
        if not isinstance(entry, Mapping) or not isinstance(answers, list):
            # A full disk or a power cut leaves half a line.
            torn += 1
            continue
        unread += bool(entry.get("unread"))
        if not answers or not entry.get("complete"):
            rows.failed += not entry.get("unread")
            continue
        by_events += entry.get("tokens_by") == "events"
        for number, answer in enumerate(answers):
            if isinstance(answer, Mapping) and said.wants(name_of(entry.get("model"))):
                rows.add(f"{line}#{number}", _answered(entry, answer, len(answers) == 1), **_about(entry))
    if not rows.rows:
        raise DataError(f"{log.name}: no answer in this journal yet; nothing to diagnose")
    policy = said.policy or "answer"
    notes = [
        *([f"{torn} lines are not whole and are left out"] if torn else []),
        *(
            [f"{rows.failed} requests failed or were left by their client, and are no answers"]
            if rows.failed
            else []
        ),
        *([f"{unread} replies were passed on and could not be read"] if unread else []),
        *([f"{by_events} streams carried no usage; their pieces are taken for tokens"] if by_events else []),
    ]
    return Found(rows.arms(questions, policy), [f"{log.name}: {note}" for note in notes])


def _answered(entry: Mapping[str, Any], answer: Mapping[str, Any], alone: bool) -> SeenAnswer:
    return SeenAnswer(
        name_of(entry.get("model")),
        finish_of(answer.get("finish")),
        count(answer.get("tokens")) if alone else None,
        count(answer.get("thought_tokens")),
        count(answer.get("prompt_tokens")),
        "" if answer.get("empty") else _ANYTHING,
        _ANYTHING if answer.get("thought") else "",
    )


def _about(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"caller": name_of(entry.get("key")), "cap": count(entry.get("cap")) or 0}
