"""Every way a request can end without an answer, as the error object OpenAI's clients understand.

raise Refusal("unknown field 'max_token'; did you mean 'max_tokens'?", param="max_token")
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from thinkcap.core.errors import (
    ConfigError,
    EngineError,
    EngineGarbled,
    EngineRefused,
    EngineTimeout,
    EngineUnreachable,
    ModelChanged,
    TemplateRefused,
)
from thinkcap.engines.masking import Mask

INVALID = "invalid_request_error"
UPSTREAM = "upstream_error"
_mask = Mask()


class Refusal(Exception):
    """An HTTP status with OpenAI's error object. The message never holds an upstream address or a key."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        kind: str = INVALID,
        code: str | None = None,
        param: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind
        self.code = code
        self.param = param
        self.retry_after_s = retry_after_s
        self.request_id = ""
        """Set by whoever sends it."""

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        found = [(b"content-type", b"application/json")]
        if self.retry_after_s is not None:
            found.append((b"retry-after", str(max(1, math.ceil(self.retry_after_s))).encode()))
        if self.status == 401:
            found.append((b"www-authenticate", b"Bearer"))
        return found

    def body(self) -> bytes:
        return msgspec.json.encode({"error": self._object()})

    def event(self) -> bytes:
        """The same after the headers are out: an SSE event every OpenAI client turns into an error."""
        return b"data: " + self.body() + b"\n\n"

    def _object(self) -> dict[str, Any]:
        # No lone surrogate may reach the encoder: an upstream's words are not always text.
        words = self.message.encode("utf-8", "replace").decode()
        found = {"message": words, "type": self.kind, "param": self.param, "code": self.code}
        return found | {"request_id": self.request_id} if self.request_id else found


def late(seconds: float) -> Refusal:
    return Refusal(f"no answer within {seconds:g} s", status=504, kind=UPSTREAM, code="request_timeout")


def refusal_of(error: BaseException) -> Refusal:
    """What a caller is told of one of our errors; anything else is a fault of the gateway itself."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, ConfigError):
        return Refusal(_anonymous(error), code="unsupported")
    if isinstance(error, EngineError):
        return _of_engine(error)
    if isinstance(error, RecursionError):
        return Refusal("the request is nested too deeply", code="too_deep")
    return Refusal(
        "the gateway failed on this request; see its log",
        status=500,
        kind="server_error",
        code="internal_error",
    )


def _of_engine(error: EngineError) -> Refusal:
    words = _anonymous(error)
    if isinstance(error, EngineTimeout):
        return Refusal(words, status=504, kind=UPSTREAM, code="upstream_timeout")
    if isinstance(error, EngineUnreachable):
        return Refusal(words, status=502, kind=UPSTREAM, code="upstream_unreachable")
    if isinstance(error, EngineGarbled):
        return Refusal(words, status=502, kind=UPSTREAM, code="upstream_garbled")
    if isinstance(error, ModelChanged):
        return Refusal(words, status=503, kind=UPSTREAM, code="upstream_model_changed")
    if isinstance(error, TemplateRefused):
        return Refusal(words, code="template_refused", param="messages")
    if isinstance(error, EngineRefused):
        return of_status(error.status, words, error.retry_after_s)
    return Refusal(words, status=502, kind=UPSTREAM, code="upstream_failed")


def of_status(status: int, words: str, retry_after_s: float | None = None) -> Refusal:
    """A server's own error status, as ours: what the caller did wrong stays 4xx, what we did is 502."""
    if status == 429:
        return Refusal(
            words, status=429, kind="rate_limit_error", code="upstream_busy", retry_after_s=retry_after_s or 1
        )
    if status in (401, 403):
        return Refusal(
            "the model server does not accept the gateway's key", status=502, kind=UPSTREAM, code="upstream_auth"
        )
    if status in (400, 413, 422):
        too_long = "context" in words and ("exceed" in words or "maximum" in words or "length" in words)
        return Refusal(words, status=400, code="context_length_exceeded" if too_long else "upstream_refused")
    if "not supported" in words:
        # llama-server's 500 for an image it cannot read: no fault of the server's, and no use in trying again.
        return Refusal(words, code="unsupported")
    return Refusal(words, status=502, kind=UPSTREAM, code="upstream_failed")


def _anonymous(error: BaseException) -> str:
    """Where the model server is, is the operator's business."""
    return _mask(str(error))
