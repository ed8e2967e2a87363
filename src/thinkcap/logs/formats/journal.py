"""The journal that `thinkcap serve --watch` keeps: one line per request, its answers without a judge.

{"watch": 1, "model": "m", "key": "alice", "cap": 512, "answers": [{"finish": "stop", "tokens": 12, ...}], ...}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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


def entries(log: Log) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    """Its lines; None for one that is not whole, as a full disk or a power cut leaves it."""
    decode = msgspec.json.Decoder().decode
    for line, text in log.lines():
        try:
            entry = decode(text)
        except (ValueError, RecursionError):
            entry = None
        whole = isinstance(entry, Mapping) and isinstance(entry.get("answers"), list)
        yield line, entry if whole else None


def read(log: Log, questions: Questions, said: Said) -> Found:
    """Answers that were sent; those of held requests are an arm `hold`, shadows beside what was sent `shadow`."""
    arms = {name: Ungraded(log.name, log.memory) for name in ("", "hold", "shadow")}
    torn = by_events = unread = 0
    for line, entry in entries(log):
        if entry is None:
            torn += 1
            continue
        answers = entry["answers"]
        name = f"{entry.get('id') or f'{log.name}:{line}'}"
        wanted = said.wants(name_of(entry.get("model")))
        if entry.get("arm") == "shadow":
            if wanted:
                arms["shadow"].add(name, _shadow(entry, answers), **_beside(entry))
            continue
        rows = arms["hold" if entry.get("arm") == "hold" else ""]
        unread += bool(entry.get("unread"))
        if not answers or not entry.get("complete"):
            rows.failed += not entry.get("unread")
            continue
        by_events += entry.get("tokens_by") == "events"
        for number, answer in enumerate(answers):
            if isinstance(answer, Mapping) and wanted:
                rows.add(f"{name}#{number}", _answered(entry, answer, len(answers) == 1), **_about(entry))
    if not any(rows.rows for rows in arms.values()):
        raise DataError(f"{log.name}: no answer in this journal yet; nothing to diagnose")
    failed = sum(rows.failed for rows in arms.values())
    notes = {
        f"{torn} lines are not whole and are left out": torn,
        f"{failed} requests failed or were abandoned by their client and are not counted as answers": failed,
        f"{unread} replies were passed on but could not be read": unread,
        f"{by_events} streams carried no usage; their pieces are counted as tokens": by_events,
    }
    found = [arm for name, rows in arms.items() for arm in rows.arms(questions, name or said.policy or "answer")]
    return Found(found, [f"{log.name}: {note}" for note, so in notes.items() if so])


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


def _shadow(entry: Mapping[str, Any], answers: list[Any]) -> SeenAnswer:
    """A policy that gave no answer counts as one that gave an empty one, as its caller would have had it."""
    if len(answers) == 1 and isinstance(answers[0], Mapping):
        return _answered(entry, answers[0], alone=True)
    return SeenAnswer(name_of(entry.get("model")))


def _beside(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What was sent to the client meanwhile."""
    sent = entry.get("sent")
    one = sent[0] if isinstance(sent, list) and len(sent) == 1 and isinstance(sent[0], Mapping) else {}
    tokens, same = count(one.get("tokens")), entry.get("same")
    return {
        "sent_tokens": -1 if tokens is None else tokens,
        "sent_empty": int(bool(one.get("empty"))),
        "same": -1 if same is None else int(bool(same)),
        "served_by": name_of(entry.get("policy")),
    }
