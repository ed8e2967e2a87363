"""Spans of OpenTelemetry's GenAI conventions: OTLP as JSON lines, or what Python's console exporter prints.

    {"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "chat m", "attributes": [
        {"key": "gen_ai.usage.output_tokens", "value": {"intValue": "24"}}, ...]}]}]}]}

Spans of other kinds pass. Texts are in a span only where somebody asked for them (`gen_ai.output.messages`);
without them nobody can say which answers were empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from thinkcap.logs.answered import SeenAnswer, count, finish_of, name_of
from thinkcap.logs.arms import Questions
from thinkcap.logs.reading import Log, parsed
from thinkcap.logs.said import Found, Said
from thinkcap.logs.ungraded import Ungraded

_ASKED = ("chat", "text_completion", "generate_content")
"""Operations that answer; others embed, call tools or run agents around these."""
_ERROR = (2, "ERROR", "STATUS_CODE_ERROR")


def recognise(log: Log) -> bool:
    first = log.first
    return "resourceSpans" in first or (
        isinstance(first.get("attributes"), Mapping) and {"context", "resource", "kind"} <= first.keys()
    )


def read(log: Log, questions: Questions, said: Said) -> Found:
    rows, silent, other, counted = Ungraded(log.name, log.memory), 0, 0, 0
    for line, row in log.objects():
        for number, (span, service) in enumerate(_spans(row)):
            about = _attributes(span.get("attributes"))
            if about.get("gen_ai.operation.name") not in _ASKED:
                other += 1
                continue
            one = _answer(about, log, line)
            if one is None or _failed(span):
                rows.failed += 1
            elif said.wants(one.model):
                silent += not one.text_seen
                cap = count(about.get("gen_ai.request.max_tokens")) or 0
                if not one.finish and cap and one.tokens is not None:
                    # OpenAI's instrumentation keeps no finish reason of a stream.
                    counted += 1
                    one = replace(one, finish="length" if one.tokens >= cap else "stop")
                rows.add(f"{log.name}:{line}:{number}", one, caller=service, cap=cap)
    notes = {
        "it is read as spans of OpenTelemetry, callers by service.name": True,
        f"{silent} spans hold no text, so it is unknown whether those answers were empty": silent,
        f"{counted} spans do not say how their answer ended; those that took max_tokens count as cut": counted,
        f"{rows.failed} calls failed and are not counted as answers": rows.failed,
        f"{other} spans are not about model answers and are left out": other,
    }
    nothing = "no span in it is a model's answer; wanted gen_ai.operation.name = chat"
    return rows.found(questions, said.policy or "answer", notes, nothing)


def _spans(row: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Each span of a line, and the service that made it."""
    if "resourceSpans" not in row:
        resource = row.get("resource")
        about = resource.get("attributes") if isinstance(resource, Mapping) else None
        yield row, name_of(_attributes(about).get("service.name"))
        return
    for group in row["resourceSpans"]:
        service = name_of(_attributes(group.get("resource", {}).get("attributes")).get("service.name"))
        for scope in group.get("scopeSpans", ()):
            for span in scope.get("spans", ()):
                yield span, service


def _attributes(found: Any) -> Mapping[str, Any]:
    """By name: OTLP lists them with their types, Python's spans have them as they are."""
    if isinstance(found, list):
        return {one["key"]: _value(one["value"]) for one in found}
    return found if isinstance(found, Mapping) else {}


def _value(typed: Mapping[str, Any]) -> Any:
    for kind, value in typed.items():
        if kind == "intValue":
            return int(value)
        if kind == "arrayValue":
            return [_value(one) for one in value.get("values", ())]
        return value
    return None


def _failed(span: Mapping[str, Any]) -> bool:
    status = span.get("status")
    code = status.get("code", status.get("status_code")) if isinstance(status, Mapping) else None
    return code in _ERROR


def _answer(about: Mapping[str, Any], log: Log, line: int) -> SeenAnswer | None:
    reasons = about.get("gen_ai.response.finish_reasons")
    finish = reasons[0] if isinstance(reasons, list) and reasons else ""
    tokens = count(about.get("gen_ai.usage.output_tokens"))
    if not finish and tokens is None:
        return None
    text = _text(about.get("gen_ai.output.messages"), log, line)
    alone = not isinstance(reasons, list) or len(reasons) <= 1
    return SeenAnswer(
        name_of(about.get("gen_ai.request.model")) or name_of(about.get("gen_ai.response.model")),
        finish_of(finish),
        tokens if alone else None,
        count(about.get("gen_ai.usage.reasoning.output_tokens")),
        count(about.get("gen_ai.usage.input_tokens")),
        text[0],
        called=text[1],
        text_seen=text[2],
    )


def _text(messages: Any, log: Log, line: int) -> tuple[str, bool, bool]:
    """The words of the first message, whether it calls a tool, and whether any of this was kept."""
    found = parsed(messages, log.path, line) if isinstance(messages, str) else messages
    if not isinstance(found, list) or not found:
        return "", False, False
    parts = [part for part in found[0].get("parts", ()) if isinstance(part, Mapping)]
    words = "".join(str(part.get("content") or "") for part in parts if part.get("type") == "text")
    return words, any(part.get("type") == "tool_call" for part in parts), True
