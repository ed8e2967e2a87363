"""One HTTP way to one model server: one try at a time, bounded, and every failure gets a name.

Whatever comes in is bounded: heads by aiohttp, whole answers, events and streams here. Compressed answers are
refused, since none was asked for. Trying again, here or elsewhere, is the client's business.

    link = Link("http://localhost:8000", None, RetryPolicy())
    raw = await link.whole("GET", "/v1/models", None, 10.0, bytes)
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import TypeVar

import aiohttp

from thinkcap.core.errors import (
    EngineError,
    EngineGarbled,
    EngineRefused,
    EngineTimeout,
    EngineUnreachable,
    TemplateRefused,
)
from thinkcap.engines.call_context import CALL_CONTEXT, passed_on
from thinkcap.engines.connections import Connections
from thinkcap.engines.deadlines import Deadlines
from thinkcap.engines.masking import Mask, sentence
from thinkcap.engines.retry import RetryPolicy
from thinkcap.engines.sse import EventReader, EventTooLarge
from thinkcap.engines.template_errors import find_template_error
from thinkcap.engines.vigil import Vigil

T = TypeVar("T")

ANSWER_BYTES = 2**24
STREAM_BYTES = 2**28
_IDLE_BYTES = 2**22
"""Comments and the like between two events: a server that is busy says so now and then."""
_AT_ONCE_BYTES = 2**14
"""Of a stream, before others have their turn: it may be thousands of events."""
_ERROR_BYTES = 8192
_TAIL_S = 1.0
_GENERATES = ("/completions", "/completion")
"""Where answers are written, which may take long; elsewhere they are looked up."""
UNFIT = (ValueError, KeyError, IndexError, TypeError, AttributeError)


class Link:
    """The connections to one server. Opened inside a running loop."""

    def __init__(
        self, base: str, key: str | None, retry: RetryPolicy, connections: int = 64, keepalive_s: float = 15.0
    ) -> None:
        self.base = base.rstrip("/")
        self.mask = Mask(key, base)
        self._retry = retry
        headers = {
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            **({"Authorization": f"Bearer {key}"} if key else {}),
        }
        self._connections = Connections(headers, connections, keepalive_s, retry.connect_s)
        self._deadlines = Deadlines()
        self._vigil: Vigil | None = None

    async def aclose(self) -> None:
        if self._vigil is not None:
            self._vigil.close()
        self._deadlines.close()
        await self._connections.aclose()

    async def whole(
        self, method: str, path: str, body: bytes | None, left_s: float, read: Callable[[bytes], T]
    ) -> T:
        with _OneCall(self, path), self._deadlines.within(left_s):
            with self._patience(path):
                response = await self._begun(method, path, body)
            try:
                raw = await self._read(path, response)
            finally:
                response.close()
        try:
            return read(raw)
        except UNFIT as err:
            raise self.garbled(path, f"an answer that does not fit ({err!r}): {start(raw)}") from err

    async def forward(self, path: str, body: bytes, content_type: str, left_s: float) -> tuple[int, str, bytes]:
        """As it is; status, content type and body come back."""
        with _OneCall(self, path), self._deadlines.within(left_s):
            response = await self._begun("POST", path, body, content_type)
            try:
                kind = response.headers.get("Content-Type", "application/octet-stream")
                return response.status, kind, await self._read(path, response)
            finally:
                response.close()

    async def events(
        self, path: str, body: bytes, left_s: float, complete: Callable[[], bool] = lambda: False
    ) -> AsyncGenerator[list[bytes], None]:
        """The data of the events, as they come. A break behind a `complete` answer is its end."""
        response: aiohttp.ClientResponse | None = None
        until = time.monotonic() + left_s
        try:
            with _OneCall(self, path):
                with self._deadlines.within(min(self._retry.first_byte_s, left_s)):
                    response = await self._begun("POST", path, body, streams=True)
                reader, size, idle, begun = EventReader(), 0, 0, False
                silence_s = self._retry.first_byte_s
                while not reader.done and (held := await self._next(response, silence_s, until, complete)):
                    if self._vigil is not None:
                        self._vigil.heard()
                    for chunk in _a_little_at_a_time(held):
                        batch = reader.feed(chunk)
                        size += len(chunk)
                        idle = 0 if batch else idle + len(chunk)
                        if size > STREAM_BYTES or idle > _IDLE_BYTES:
                            raise self._too_much(
                                path, f"a stream of more than {STREAM_BYTES} bytes, or of no events"
                            )
                        if batch:
                            begun, silence_s = True, self._retry.between_bytes_s
                            yield batch
                        if reader.done:
                            break
                        if not batch or chunk is not held:
                            # Bytes that are there already never make us wait; let others have their turn.
                            await asyncio.sleep(0)
            if not begun:
                raise self.broken_off(path)
            await _to_the_end(response)
        finally:
            # A connection that was read to its end has been given back already; any other is cut.
            if response is not None:
                response.close()

    async def _next(
        self, response: aiohttp.ClientResponse, silence_s: float, until: float, complete: Callable[[], bool]
    ) -> bytes:
        """The next piece of a stream; nothing at its end."""
        try:
            return await self._piece(response, silence_s, until)
        except (aiohttp.ClientError, OSError):
            if complete():
                return b""
            raise

    async def _piece(self, response: aiohttp.ClientResponse, silence_s: float, until: float = math.inf) -> bytes:
        """What comes next; the server alone is waited for, never who takes the pieces."""
        left_s = until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        if response.content.is_eof():
            return await response.content.readany()
        with self._deadlines.within(min(silence_s, left_s)):
            return await response.content.readany()

    async def _begun(
        self, method: str, path: str, body: bytes | None, content_type: str | None = None, streams: bool = False
    ) -> aiohttp.ClientResponse:
        """The answer's head; anything but success is a refusal in the server's words."""
        response = await self._connections.request(
            method, self.base + path, body, passed_on(content_type), streams
        )
        if not 200 <= response.status < 300:
            try:
                words = (await response.content.read(_ERROR_BYTES)).decode("utf-8", "replace")
            finally:
                response.close()
            raise self.refusal(path, response.status, words, response.headers.get("Retry-After"))
        encoding = response.headers.get("Content-Encoding", "identity")
        if encoding.lower() != "identity":
            response.close()
            raise self.garbled(path, f"an answer compressed as {encoding!r}, which nobody asked for")
        return response

    def _patience(self, path: str) -> AbstractContextManager[None]:
        """How long the head of a whole answer is waited for, where not to the end of its time."""
        after_s = self._retry.asks_after_s
        if after_s is None or not path.endswith(_GENERATES):
            return nullcontext()
        if self._vigil is None:
            models = path.rpartition("/completion")[0].removesuffix("/chat") + "/models"
            self._vigil = Vigil(after_s, lambda: self.answers(models))
        return self._vigil.waiting()

    async def answers(self, path: str) -> bool:
        """Whether the server says anything at all, on a connection that nobody else waits for."""
        connector = aiohttp.TCPConnector(limit=1)
        try:
            async with (
                aiohttp.ClientSession(headers=self._connections.headers, connector=connector) as session,
                session.get(self.base + path, allow_redirects=False),
            ):
                return True
        except (aiohttp.ClientError, OSError):
            return False

    async def _read(self, path: str, response: aiohttp.ClientResponse) -> bytes:
        """To its end; once it has begun, a whole answer is bytes on their way, and those do not pause for long."""
        if self._vigil is not None:
            self._vigil.heard()
        parts: list[bytes] = []
        size = 0
        while chunk := await self._piece(response, self._retry.between_bytes_s):
            parts.append(chunk)
            size += len(chunk)
            if size > ANSWER_BYTES:
                response.close()
                # The error keeps this frame alive, and with it what was read.
                parts.clear()
                raise self._too_much(path, f"an answer of more than {ANSWER_BYTES} bytes")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def ours(self, path: str, err: BaseException) -> EngineError | None:
        """The one place where the transport's errors become ours; nothing for what is not the transport's."""
        match err:
            case aiohttp.ServerTimeoutError() | TimeoutError():
                late = self._late(path)
                late.reached = not isinstance(err, aiohttp.ConnectionTimeoutError)
                return late
            case aiohttp.InvalidURL():
                return EngineRefused(f"'{self.base}' is not a usable address; wanted http://host:port/v1")
            case aiohttp.ClientPayloadError():
                return self.broken_off(path)
            case aiohttp.ClientConnectorError():
                error = EngineUnreachable(
                    f"no connection to {self._at(path)}: {err.os_error.strerror or err.os_error}; "
                    f"is the server running?"
                )
                error.reached = False
                return error
            case aiohttp.ClientConnectionError() | ConnectionError():
                return EngineUnreachable(
                    f"{self._at(path)} closed the connection ({type(err).__name__}); is the server still running?"
                )
            case aiohttp.ClientError():
                return self.garbled(path, f"broken HTTP ({type(err).__name__})")
            case EventTooLarge():
                return self._too_much(path, str(err))
        return None

    def _at(self, path: str) -> str:
        return f"{self.base}{path}"

    def broken_off(self, path: str) -> EngineUnreachable:
        return EngineUnreachable(
            f"{self._at(path)} stopped in the middle of an answer; what arrived was discarded. Run again"
        )

    def _late(self, path: str) -> EngineTimeout:
        return EngineTimeout(
            f"{self._at(path)} did not answer in time (first byte {self._retry.first_byte_s:g} s, between bytes "
            f"{self._retry.between_bytes_s:g} s, whole call {self._retry.total_s:g} s); raise the timeout or "
            f"lower the concurrency"
        )

    def garbled(self, path: str, what: str) -> EngineGarbled:
        return EngineGarbled(f"{self._at(path)} sent {self.mask(what)}; is it an OpenAI-compatible server?")

    def _too_much(self, path: str, what: str) -> EngineGarbled:
        """No use in asking again for what never ends."""
        error = self.garbled(path, what)
        error.retriable = False
        return error

    def refusal(self, path: str, status: int, words: str, retry_after: str | None) -> EngineRefused:
        hint = {
            401: "; put the key into OPENAI_API_KEY or THINKCAP_API_KEY",
            403: "; the key in the environment may not use this model",
            404: "; does the address end in /v1, and is the model name right?",
            429: "; lower the concurrency",
        }.get(status, "")
        words = sentence(words)
        reason = find_template_error(status, words)
        if reason is not None:
            return TemplateRefused(self.mask(reason))
        said = self.mask(words)
        error = EngineRefused(f"{self._at(path)} said {status}: {said}{hint}", status, _seconds(retry_after))
        # llama-server's 500 for an image it cannot read: no use in trying again.
        error.retriable = error.retriable and "not supported" not in said
        return error


class _OneCall:
    """One call to a server, its errors ours, told to whoever looks on."""

    __slots__ = ("_began", "_context", "_link", "_path")

    def __init__(self, link: Link, path: str) -> None:
        self._link = link
        self._path = path

    def __enter__(self) -> None:
        self._context = CALL_CONTEXT.get()
        self._began = time.perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ours = None if error is None else self._link.ours(self._path, error)
        if self._context is not None:
            self._context.told(self._link.base, time.perf_counter() - self._began, ours or error)
        if ours is not None:
            raise ours from error


def _a_little_at_a_time(held: bytes) -> Sequence[bytes]:
    if len(held) <= _AT_ONCE_BYTES:
        return (held,)
    return [held[at : at + _AT_ONCE_BYTES] for at in range(0, len(held), _AT_ONCE_BYTES)]


async def _to_the_end(response: aiohttp.ClientResponse) -> None:
    """After the last event only the end of the body is missing; with it the connection can be used again."""
    if response.content.at_eof():
        return
    try:
        async with asyncio.timeout(_TAIL_S):
            size = 0
            while size < _ERROR_BYTES and (rest := await response.content.readany()):
                size += len(rest)
    except (aiohttp.ClientError, OSError):
        # Whatever breaks behind a whole answer harms nobody (a TimeoutError is an OSError).
        return


def start(raw: bytes) -> str:
    return repr(raw[:120].decode("utf-8", "replace"))


def _seconds(retry_after: str | None) -> float | None:
    """`Retry-After` in seconds or as a date; nonsense counts as absent."""
    if not retry_after:
        return None
    try:
        return min(86400.0, max(0.0, float(retry_after)))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None
