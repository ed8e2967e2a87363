"""How tools say that an answer ended, was cut, or never came."""

from __future__ import annotations

from typing import Any

from thinkcap.logs.reading import refused, shown

STOPPED = frozenset(
    (
        *("stop", "eos", "eos_token", "end_turn", "stop_sequence", "end", "stop_token", "stop_str", "finished"),
        *("completed", "complete", "done", "natural", "eot", "tool_calls", "function_call", "tool_use"),
    )
)
CUT = frozenset(
    (
        *("length", "max_tokens", "model_length", "max_new_tokens", "max_length", "max_output_tokens"),
        *("truncated", "token_limit", "incomplete", "cutoff", "cut", "limit", "budget"),
    )
)
CALLED = frozenset(("tool_calls", "function_call", "tool_use"))
"""Ended in a call of a tool, which is an answer without a word."""
BROKEN = frozenset(["error", "abort", "aborted", "content_filter", "cancelled", "canceled", "timeout", "safety"])


def broken(reason: Any) -> bool:
    """A reason that makes the row a failure, no answer at all."""
    return isinstance(reason, str) and reason.strip().lower() in BROKEN


def finished(reason: Any, file: str, line: object, column: str) -> bool | None:
    """True when the model ended by itself, False when a cap cut it, None when nothing was stored."""
    if reason is None or reason == "":
        return None
    word = reason.strip().lower() if isinstance(reason, str) else ""
    if word in STOPPED | CUT:
        return word in STOPPED
    known = ", ".join(sorted(STOPPED | CUT))
    raise refused(file, line, column, f"finish reason {shown(reason)} is unknown; known: {known}")
