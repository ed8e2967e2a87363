"""Output of OpenAI's batch API and of `vllm run-batch`: one reply per line, no golds and no caps.

    {"custom_id": "q1", "response": {"status_code": 200, "body": {"choices": [...], "usage": {...}}}}

Lines with further keys (a gold somebody joined) are read as rows of any tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from thinkcap.logs.answered import answered
from thinkcap.logs.arms import Questions
from thinkcap.logs.reading import Log, an_object, parsed, refused
from thinkcap.logs.said import Found, Said
from thinkcap.logs.ungraded import Ungraded

_KEYS = frozenset({"id", "custom_id", "response", "error"})


def recognise(log: Log) -> bool:
    first = log.first
    return {"custom_id", "response"} <= first.keys() <= _KEYS and _is_reply(first)


def _is_reply(row: Mapping[str, Any]) -> bool:
    """A failed line has no reply, and comes from a batch all the same."""
    reply = row["response"]
    return reply is None or (isinstance(reply, Mapping) and isinstance(reply.get("body"), Mapping))


def read(log: Log, questions: Questions, said: Said) -> Found:
    rows = Ungraded(log.name, log.memory)
    several = seen = 0
    decode = msgspec.json.Decoder().decode
    for line, text in log.lines():
        try:
            row = decode(text)
        except (ValueError, RecursionError):
            # Ours says where it is none, and knows numbers that JSON does not.
            row = parsed(text, log.path, line)
        row = an_object(row, log.path, line)
        name = row.get("custom_id")
        if not isinstance(name, str):
            raise refused(log.name, line, "custom_id", "no id; every line of a batch has one")
        seen += 1
        body = _body(row)
        answers = answered(body) if body is not None else []
        if not answers:
            rows.failed += 1
            continue
        several += len(answers) > 1
        for number, one in enumerate(answers):
            if said.wants(one.model):
                rows.add(f"{name}#{number}" if len(answers) > 1 else name, one, cap=said.budget or 0)
    guessed = bool(rows.thoughts) and not said.policy
    notes = {
        "it is read as the output of a batch": True,
        f"{rows.rows} rows have neither a gold nor a verdict, so they are kept but not judged": True,
        "answers hold thoughts, so the arm is read as think; pass --as to say otherwise": guessed,
        f"{rows.failed} rows failed and are left out; a failure is not a wrong answer": rows.failed,
        f"{several} replies hold several answers but one token count, so their lengths are unknown": several,
    }
    nothing = f"none of its {seen} lines has an answer to diagnose"
    return rows.found(questions, "think" if guessed else said.policy or "answer", notes, nothing)


def _body(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The reply, unless the request failed."""
    reply = row.get("response")
    if row.get("error") or not isinstance(reply, Mapping) or reply.get("status_code", 200) != 200:
        return None
    body = reply.get("body")
    return body if isinstance(body, Mapping) else None
