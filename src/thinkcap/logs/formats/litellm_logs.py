"""LiteLLM's standard logging payload, one line per call, as its callbacks and its bucket loggers write it.

    {"litellm_call_id": "...", "status": "success", "model": "m", "model_parameters": {"max_tokens": 64},
     "response": {"choices": [...], "usage": {...}}, "metadata": {"user_api_key_alias": "alice"}, ...}

Where LiteLLM was told to leave texts out, nobody can say which answers were empty; everything else is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from thinkcap.logs.answered import answered, count, name_of
from thinkcap.logs.arms import Questions
from thinkcap.logs.reading import Log
from thinkcap.logs.said import Found, Said
from thinkcap.logs.ungraded import Ungraded

_LEFT_OUT = "redacted-by-litellm"
_CAPS = ("max_completion_tokens", "max_tokens", "max_output_tokens")


def recognise(log: Log) -> bool:
    return "litellm_call_id" in log.first or {"model_parameters", "call_type", "response"} <= log.first.keys()


def read(log: Log, questions: Questions, said: Said) -> Found:
    rows = Ungraded(log.name, log.memory)
    for line, row in log.objects():
        reply = row.get("response")
        answers = answered(reply) if isinstance(reply, Mapping) and row.get("status") != "failure" else []
        if not answers:
            rows.failed += 1
            continue
        # The name that was asked for: a server may answer with a path.
        model = name_of(row.get("model_group")) or name_of(row.get("model"))
        for number, one in enumerate(answers):
            if said.wants(model):
                seen = replace(one, model=model, text_seen=one.text != _LEFT_OUT)
                rows.add(f"{row.get('litellm_call_id', line)}#{number}", seen, **_about(row))
    notes = {
        "it is read as LiteLLM's log": True,
        f"{rows.rows} answers have no verdict, so they are kept but not judged": True,
        f"{rows.failed} calls failed and are not counted as answers": rows.failed,
    }
    return rows.found(questions, said.policy or "answer", notes, "no call in it has an answer to diagnose")


def _about(row: Mapping[str, Any]) -> dict[str, Any]:
    asked, who = row.get("model_parameters"), row.get("metadata")
    known, about = (value if isinstance(value, Mapping) else {} for value in (asked, who))
    caps = [cap for name in _CAPS if (cap := count(known.get(name))) is not None]
    caller = name_of(about.get("user_api_key_alias")) or name_of(row.get("end_user"))
    return {"caller": caller, "cap": min(caps, default=0)}
