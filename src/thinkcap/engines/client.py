"""JSON over HTTP to a model server that may be slow, busy, gone or lying; every failure gets a name.

A call has one deadline that covers all its tries. What may work on a second try is tried again, with a pause
that grows and is never the same for all callers. A stream is tried again only while nobody has seen a piece
of it: half an answer is never taken for a whole one.

    client = Client("http://localhost:8000", key=None)
    models = await client.get("/v1/models")
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import aiohttp

from thinkcap.core.errors import EngineError, EngineGarbled, EngineRefused, EngineTimeout, EngineUnreachable
from thinkcap.engines.masking import Mask, sentence
from thinkcap.engines.sse import events

T = TypeVar("T")
Json = Mapping[str, Any]

_BODY_BYTES = 2**25


@dataclass(frozen=True)
class Patience:
    """How long to wait and how often to try again."""

    connect_s: float = 10.0
    first_byte_s: float = 120.0
    """For a stream's first piece; a whole answer has `total_s`."""
    between_bytes_s: float = 60.0
    total_s: float = 900.0
    """One call with all its tries and pauses."""
    attempts: int = 5
    pause_s: float = 0.5
    """Before the second try; doubles with each, up to `pause_max_s`, half of it by chance."""
    pause_max_s: float = 20.0

    @classmethod
    def within(cls, total_s: float) -> Patience:
        """For someone who will wait this long for one call and no longer."""
        default = cls()
        return cls(
            connect_s=min(default.connect_s, total_s),
            first_byte_s=min(default.first_byte_s, total_s),
            between_bytes_s=min(default.between_bytes_s, total_s),
            total_s=total_s,
        )

    def pause(self, attempt: int, asked_s: float | None) -> float:
        grown = min(self.pause_max_s, self.pause_s * 2.0**attempt)
        drawn = grown * (0.5 + random.random() / 2)
        return drawn if asked_s is None else asked_s + drawn / 10


class Client:
    """One aiohttp session to one server. Opened inside a running loop."""

    def __init__(
        self,
        base: str,
        key: str | None = None,
        patience: Patience | None = None,
        connections: int = 64,
        keepalive_s: float = 15.0,
    ) -> None:
        self.base = base.rstrip("/")
        self.patience = patience or Patience()
        self._mask = Mask(key, base)
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            connector=aiohttp.TCPConnector(limit=connections, keepalive_timeout=keepalive_s),
        )

    async def get(self, path: str, parse: Callable[[Any], T] = lambda j: j) -> T:
        return await self._patiently(lambda left: self._whole("GET", path, None, left, parse))

    async def post(self, path: str, body: Json, parse: Callable[[Any], T] = lambda j: j) -> T:
        """`parse` runs inside the try: an answer that is not what was promised is asked for again."""
        return await self._patiently(lambda left: self._whole("POST", path, body, left, parse))

    async def stream(self, path: str, body: Json, take: Callable[[Any], bool]) -> None:
        """Hands every event to `take`, which says when the answer is complete; ending before that is an error."""
        begun = False

        async def once(left_s: float) -> None:
            nonlocal begun
            complete = False
            timeout = aiohttp.ClientTimeout(
                total=left_s, sock_connect=self.patience.connect_s, sock_read=self.patience.between_bytes_s
            )
            try:
                async with (
                    asyncio.timeout(min(left_s, self.patience.first_byte_s)) as first,
                    self._response("POST", path, body, timeout) as response,
                ):
                    async for data in events(response.content.iter_any()):
                        first.reschedule(None)
                        event = self._event(path, data)
                        begun = True
                        complete = take(event) or complete
            except TimeoutError as err:
                raise self._late(path) from err
            except (KeyError, IndexError, TypeError, AttributeError, ValueError) as err:
                raise self._garbled(path, f"an event without {err!r}") from err
            except EngineError:
                # Once the answer is whole, what breaks behind it (a missing [DONE]) harms nobody.
                if not complete:
                    raise
            if not complete:
                raise EngineUnreachable(
                    f"{self._at(path)} stopped in the middle of an answer; what came is thrown away. Run again"
                )

        await self._patiently(once, again=lambda: not begun)

    async def aclose(self) -> None:
        await self._session.close()

    async def _patiently(
        self, once: Callable[[float], Awaitable[T]], again: Callable[[], bool] = lambda: True
    ) -> T:
        deadline = time.monotonic() + self.patience.total_s
        attempt = 0
        while True:
            left = deadline - time.monotonic()
            try:
                return await once(max(0.001, left))
            except EngineError as err:
                asked = err.retry_after_s if isinstance(err, EngineRefused) else None
                pause = self.patience.pause(attempt, asked)
                attempt += 1
                late = time.monotonic() + pause >= deadline
                if not err.retriable or attempt >= self.patience.attempts or late or not again():
                    raise
            await asyncio.sleep(pause)

    async def _whole(
        self, method: str, path: str, body: Json | None, left_s: float, parse: Callable[[Any], T]
    ) -> T:
        timeout = aiohttp.ClientTimeout(total=left_s, sock_connect=self.patience.connect_s)
        async with self._response(method, path, body, timeout) as response:
            raw = await self._bounded(path, response)
        try:
            return parse(json.loads(raw))
        except (json.JSONDecodeError, RecursionError) as err:
            raise self._garbled(path, f"{raw[:120]!r}, which is no JSON") from err
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as err:
            raise self._garbled(path, f"an answer without {err!r}: {raw[:200]!r}") from err

    async def _bounded(self, path: str, response: aiohttp.ClientResponse) -> bytes:
        raw = bytearray()
        async for piece in response.content.iter_any():
            raw += piece
            if len(raw) > _BODY_BYTES:
                raise self._garbled(path, f"an answer of more than {_BODY_BYTES} bytes")
        return bytes(raw)

    def _event(self, path: str, data: str) -> Any:
        try:
            event = json.loads(data)
        except (ValueError, RecursionError) as err:
            raise self._garbled(path, f"an event {data[:120]!r}, which is no JSON") from err
        if isinstance(event, dict) and event.get("error"):
            raise self._refusal(path, _status(event["error"]), data, None)
        return event

    @asynccontextmanager
    async def _response(
        self, method: str, path: str, body: Json | None, limits: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The one place where the transport's errors become ours."""
        try:
            async with self._session.request(
                method, self.base + path, json=body, timeout=limits, allow_redirects=False
            ) as response:
                if response.status >= 300:
                    words = (await response.content.read(4096)).decode("utf-8", "replace")
                    raise self._refusal(path, response.status, words, response.headers.get("Retry-After"))
                yield response
        except (aiohttp.ServerTimeoutError, TimeoutError) as err:
            raise self._late(path) from err
        except aiohttp.InvalidURL as err:
            raise EngineRefused(f"'{self.base}' is not a usable address; wanted http://host:port/v1") from err
        except aiohttp.ClientPayloadError as err:
            raise EngineUnreachable(f"{self._at(path)} broke off in the middle of an answer; run again") from err
        except aiohttp.ClientConnectorError as err:
            raise EngineUnreachable(
                f"no connection to {self._at(path)}: {err.os_error.strerror or err.os_error}; "
                f"is the server running?"
            ) from err
        except (aiohttp.ClientConnectionError, ConnectionError) as err:
            raise EngineUnreachable(
                f"{self._at(path)} closed the connection ({type(err).__name__}); is the server still running?"
            ) from err
        except aiohttp.ClientError as err:
            raise self._garbled(path, f"broken HTTP ({type(err).__name__})") from err

    def _at(self, path: str) -> str:
        return f"{self.base}{path}"

    def _late(self, path: str) -> EngineTimeout:
        return EngineTimeout(
            f"{self._at(path)} did not answer in time (first byte {self.patience.first_byte_s:g} s, between bytes "
            f"{self.patience.between_bytes_s:g} s, whole call {self.patience.total_s:g} s); raise the time-out or "
            f"lower the concurrency"
        )

    def _garbled(self, path: str, what: str) -> EngineGarbled:
        return EngineGarbled(f"{self._at(path)} sent {self._mask(what)}; is it an OpenAI-compatible server?")

    def _refusal(self, path: str, status: int, words: str, retry_after: str | None) -> EngineRefused:
        hint = {
            401: "; put the key into OPENAI_API_KEY or THINKCAP_API_KEY",
            403: "; the key in the environment may not use this model",
            404: "; does the address end in /v1, and is the model name right?",
            429: "; lower the concurrency",
        }.get(status, "")
        message = f"{self._at(path)} said {status}: {self._mask(sentence(words))}{hint}"
        return EngineRefused(message, status, _seconds(retry_after))


def _status(error: Any) -> int:
    """Errors inside a stream come after a 200; some carry their own code."""
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def _seconds(retry_after: str | None) -> float | None:
    """`Retry-After` in seconds or as a date; nonsense counts as absent."""
    if not retry_after:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None
