"""For whom calls to a model server are made: what they carry of the request, and who is told how they went.

    CALL_CONTEXT.set(CallContext({"x-request-id": "17"}, told=print))

Engines are shared by all requests and know of none; the task that makes a call knows its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar

from msgspec import Struct


class CallContext(Struct, frozen=True):
    headers: Mapping[str, str]
    """Sent with every call: a request's id, the trace it belongs to."""
    told: Callable[[str, float, BaseException | None], None]
    """Gets the server's address, the seconds a call took, and what ended it where that was not its own end."""


CALL_CONTEXT: ContextVar[CallContext | None] = ContextVar("call", default=None)


def passed_on(content_type: str | None = None) -> Mapping[str, str] | None:
    """The headers of one call, beside those of its session."""
    context = CALL_CONTEXT.get()
    if content_type:
        return {**(context.headers if context else {}), "Content-Type": content_type}
    return context.headers if context else None
