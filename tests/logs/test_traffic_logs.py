"""Logs of traffic as their tools wrote them on the bundled model: LiteLLM, OpenTelemetry, `vllm run-batch`.

Made with litellm 1.106.2 (a callback that writes `standard_logging_object`), with opentelemetry's instrumentation
openai-v2 2.4b0 and its OTLP JSON file exporter 0.66b1 (`otel_texts`: messages captured in spans), both in front of
llama.cpp's server, and with `vllm run-batch` 0.32.0. Caps were 24, 64 and 300 in turn; every fourth call was a
stream, and one call failed.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from thinkcap.core.errors import DataError
from thinkcap.diagnose.diagnosis import diagnose
from thinkcap.diagnose.traffic import Traffic
from thinkcap.logs import read
from thinkcap.verdict.page import as_text

LOGS = Path(__file__).parent / "logs" / "traffic"


def traffic(name: str) -> Traffic:
    (found,) = diagnose(read([LOGS / name])).traffic
    assert found.model == "pebble"
    return found


@pytest.mark.parametrize(
    ("name", "rows", "cut", "empty", "texts", "tokens"),
    [
        ("litellm.jsonl", 5, 3, 3, 5, 24 + 64 + 24 + 85 + 48),
        ("otel.jsonl", 12, 10, 0, 0, 4 * 24 + 4 * 64 + 2 * 300 + 85 + 48),
        ("otel_texts.jsonl", 4, 2, 2, 4, 24 + 64 + 85 + 48),
        ("vllm_batch.jsonl", 11, 10, 9, 11, 4 * 24 + 4 * 64 + 2 * 300 + 85),
    ],
)
def test_what_each_tool_wrote(name: str, rows: int, cut: int, empty: int, texts: int, tokens: int) -> None:
    found = traffic(name)
    assert (found.rows, found.failed, found.cut.k, found.cut.n) == (rows, 1, cut, rows)
    assert (found.empty.k, found.empty.n, found.all.tokens) == (empty, texts, tokens)
    assert found.curve is not None
    assert [c.name for c in found.callers] == (["shop"] if name.startswith("otel") else [])


def test_what_a_log_does_not_tell_is_said() -> None:
    text = as_text(diagnose(read([LOGS / "otel.jsonl"])), width=300)
    assert "12 spans hold no text, so it is unknown whether those answers were empty" in text
    assert "3 spans do not say how their answer ended; those that took max_tokens count as cut" in text
    assert "Not compared" not in text


def test_texts_that_litellm_left_out_are_not_called_empty_or_full(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (LOGS / "litellm.jsonl").read_text().splitlines()]
    for row in rows[:-1]:
        row["response"]["choices"][0]["message"] = {"content": "redacted-by-litellm", "role": "assistant"}
        row["metadata"]["user_api_key_alias"] = "alice"
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (found,) = diagnose(read([path])).traffic
    assert (found.cut.k, found.empty.n, found.callers[0].name) == (3, 0, "alice")


def test_spans_as_the_console_exporter_prints_them(tmp_path: Path) -> None:
    trace = pytest.importorskip("opentelemetry.sdk.trace", reason="pip install 'thinkcap[otel]'")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    about = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.request.max_tokens": 9,
        "gen_ai.response.finish_reasons": ["length"],
        "gen_ai.usage.output_tokens": 9,
    }

    def printed(path: Path, spans: list[dict[str, Any]], **how: Any) -> Path:
        with path.open("w") as file:
            provider = trace.TracerProvider(resource=trace.Resource.create({"service.name": "shop"}))
            exporter = export.ConsoleSpanExporter(out=file, **how)
            provider.add_span_processor(export.SimpleSpanProcessor(exporter))
            for attributes in spans:
                provider.get_tracer("shop").start_span("chat m", attributes=attributes).end()
        return path

    def a_line(span: Any) -> str:
        return f"{span.to_json(indent=None)}\n"

    for how in ({}, {"formatter": a_line}):
        (found,) = diagnose(
            read([printed(tmp_path / "spans.jsonl", [about, {"http.route": "/"}] * 2, **how)])
        ).traffic
        assert (found.rows, found.cut.k, found.callers[0].name) == (2, 2, "shop")
    with pytest.raises(DataError, match="no span in it is a model's answer"):
        read([printed(tmp_path / "other.jsonl", [{"http.route": "/"}])])
    whole = printed(tmp_path / "cut.jsonl", [about]).read_text()
    (tmp_path / "cut.jsonl").write_text(whole + whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"cut.jsonl, line [0-9]+, column [0-9]+: not JSON"):
        read([tmp_path / "cut.jsonl"])


@pytest.mark.parametrize(
    "line",
    [
        '{"resourceSpans": 3}',
        '{"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": [{"key": 1}]}]}]}]}',
        '{"litellm_call_id": "x", "response": {"choices": [3]}}',
        '{"litellm_call_id": "x", "response": {"choices": [{"message": 4}]}, "model_parameters": 5}',
    ],
)
def test_strange_lines_are_refused_or_read_and_never_a_traceback(tmp_path: Path, line: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(line + "\n")
    with suppress(DataError):
        read([path])
