"""Watch mode: requests go to the model server as they came, bytes come back as they were sent, a journal looks on.

    thinkcap serve http://localhost:8000 --watch
    thinkcap diagnose thinkcap-journal

A request is in the journal before its last byte goes to the client. By default no text is kept: model, cap,
tokens, end, times and the name of the key.
"""

from __future__ import annotations

import asyncio
import logging
import time
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from starlette.types import Receive, Scope, Send
from yarl import URL

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import resolve
from thinkcap.gateway.auth import Keys
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.journal import WatchJournal
from thinkcap.gateway.limits import LOOPBACK, Headers, check_host, check_origin
from thinkcap.gateway.refusal import Refusal
from thinkcap.gateway.seen import SeenRequest, StreamSeen, asked_in, decoded
from thinkcap.logs.answered import SeenAnswer, answered

log = logging.getLogger("thinkcap.gateway")

WIRES = ("/chat/completions", "/completions", "/responses", "/messages")
"""Paths whose requests ask for an answer; others pass and are not in the journal."""
_HOPS = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"),
        *(b"expect", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    )
)
"""Headers that are between two neighbours, and not for who stands behind one of them."""
_KEPT_BYTES = 2**24
"""Of a request or a reply, to be read; what is longer passes all the same and is not read."""
_IDLE_S = 3.0
"""Shorter than servers keep a connection that nobody uses (5 s): a request on one that closes is lost."""

_Texts = Mapping[str, str]


class Watch:
    """An ASGI application in front of one server. Opened inside a running loop."""

    def __init__(self, config: ServeConfig) -> None:
        self.config = config
        self.draining = False
        self.server = server_of(config)
        self._journal = WatchJournal(Path(config.watch_journal), config.watch_bytes)
        self._redact = redaction(config.watch_redact)
        self._keys = Keys(config.keys)
        self._own = LOOPBACK | {config.host.lower()} | {host.lower() for host in config.hosts}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=config.connect_timeout_s),
        )

    @property
    def journal(self) -> Path:
        return self._journal.path

    async def aclose(self) -> None:
        await self._session.close()
        self._journal.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        one = _Passing(self, scope, send)
        try:
            self._check(scope["headers"])
            await self._pass(one, receive)
        except Refusal as err:
            await one.refuse(err)
        except (aiohttp.ClientError, TimeoutError, OSError) as err:
            log.warning("%s: %s", self.server, type(err).__name__)
            await one.refuse(_unreachable(err))
        finally:
            # Who left, or what failed in the middle, has not been written yet.
            one.note()

    def _check(self, headers: Headers) -> None:
        if not self.config.anyone:
            check_host(headers, self._own)
            check_origin(headers, self.config.origins, self._own)

    async def _pass(self, one: _Passing, receive: Receive) -> None:
        scope = one.scope
        query = scope["query_string"].decode("latin-1")
        path = scope.get("raw_path", scope["path"].encode()).decode("latin-1").partition("?")[0]
        sent = [(n, v) for n, v in scope["headers"] if n not in _HOPS and n != b"host"]
        has_body = _has_body(scope["headers"])
        if not has_body:
            one.arrived.set()
        asked = self._session.request(
            scope["method"],
            URL(self.server + path + (f"?{query}" if query else ""), encoded=True),
            headers=[(n.decode("latin-1"), v.decode("latin-1")) for n, v in sent],
            data=one.body(receive) if has_body else None,
            allow_redirects=False,
        )
        async with one.until_hung_up(receive), asked as response:
            await one.hand_on(response)

    def entry(self, one: _Passing) -> None:
        """One line a request that asked for an answer."""
        asked, answers = one.asked, one.answers
        entry: dict[str, Any] = {
            "watch": 1,
            "at": round(one.at, 3),
            "wire": one.wire,
            "model": asked.model or (answers[0].model if answers else ""),
            "key": self._keys.name_of(one.scope["headers"]),
            "cap": asked.cap,
            "stream": one.streamed,
            "status": one.status,
            "complete": one.complete,
            "first_s": None if one.first is None else round(one.first - one.began, 4),
            "seconds": round(time.perf_counter() - one.began, 4),
            "tokens_by": "events" if one.by_events else "usage",
            "unread": one.unread,
            "answers": [_answer(a) for a in answers],
        }
        if self.config.watch_texts:
            entry |= self._texts(asked, answers)
        self._journal.write(entry)

    def _texts(self, asked: SeenRequest, answers: list[SeenAnswer]) -> dict[str, Any]:
        first = answers[0] if answers else SeenAnswer()
        texts: dict[str, str] = {"question": asked.question, "answer": first.text, "thought": first.thought}
        try:
            kept = self._redact(texts)
        except Exception as err:
            log.error("the redaction failed (%s); no text is kept of this request", type(err).__name__)
            return {}
        return {name: str(kept[name]) for name in texts if kept and name in kept}


def _answer(one: SeenAnswer) -> dict[str, Any]:
    return {
        "finish": one.finish,
        "tokens": one.tokens,
        "thought_tokens": one.thought_tokens,
        "prompt_tokens": one.prompt_tokens,
        "empty": one.empty,
        "thought": bool(one.thought),
    }


class _Passing:
    """One request on its way, and what has been seen of it."""

    def __init__(self, watch: Watch, scope: Scope, send: Send) -> None:
        self._watch, self.scope, self._send = watch, scope, send
        self.at, self.began = time.time(), time.perf_counter()
        self.wire = next((w for w in WIRES if scope["path"].endswith(w)), "") if scope["method"] == "POST" else ""
        self.status = 0
        self.first: float | None = None
        self.arrived = asyncio.Event()
        """All of the request has come."""
        self.complete = self.ended = self.streamed = False
        self.unread = ""
        self._sent: list[bytes] = []
        self._reply: list[bytes] = []
        self._kept = 0
        self._stream: StreamSeen | None = None
        self._inflate: Callable[[bytes], bytes] | None = lambda chunk: chunk
        self._started = self._noted = False

    @property
    def asked(self) -> SeenRequest:
        return asked_in(b"".join(self._sent))

    @property
    def answers(self) -> list[SeenAnswer]:
        if self.status >= 400:
            return []
        return self._stream.answers() if self._stream else answered(decoded(b"".join(self._reply)))

    @property
    def by_events(self) -> bool:
        return self._stream is not None and self._stream.counted_by_events

    async def body(self, receive: Receive) -> AsyncIterator[bytes]:
        """The request's body as it comes."""
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError("the client left before its request was complete")
            piece, more = message.get("body", b""), message.get("more_body", False)
            size += len(piece)
            if self.wire and size <= _KEPT_BYTES:
                self._sent.append(piece)
            elif self.wire:
                self._sent, self.unread = [], "a long request"
            if not more:
                self.arrived.set()
            if piece:
                yield piece

    @asynccontextmanager
    async def until_hung_up(self, receive: Receive) -> AsyncIterator[None]:
        """A client that hangs up hangs up upstream too."""
        task = asyncio.current_task()
        assert task is not None

        async def wait() -> None:
            await self.arrived.wait()
            while (await receive())["type"] != "http.disconnect":
                continue

        gone = asyncio.ensure_future(wait())
        gone.add_done_callback(lambda done: None if done.cancelled() or self.ended else task.cancel())
        try:
            yield
        except asyncio.CancelledError:
            if not gone.done() or gone.cancelled():
                raise
            task.uncancel()
        finally:
            self.ended = True
            gone.cancel()

    async def hand_on(self, response: aiohttp.ClientResponse) -> None:
        headers = [(n.lower(), v) for n, v in response.raw_headers if n.lower() not in _HOPS]
        self.status = response.status
        kind = response.headers.get("Content-Type", "")
        self.streamed = kind.startswith("text/event-stream")
        if self.wire:
            self._inflate = _inflating(response.headers.get("Content-Encoding", "identity").lower())
            self._stream = StreamSeen() if self.streamed else None
            if self._inflate is None:
                self.unread = f"compressed as {response.headers['Content-Encoding'][:20]}"
        await self._send({"type": "http.response.start", "status": response.status, "headers": headers})
        self._started = True
        held = b""
        async for chunk in response.content.iter_any():
            if self.first is None:
                self.first = time.perf_counter()
            last = self._look(chunk) if self.wire else False
            if last:
                self.complete = True
                self.note()
            if not self.streamed:
                # One piece stays behind, so that the last goes out only when the journal has the request.
                chunk, held = held, chunk
            if chunk:
                await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
        self.complete = True
        self.note()
        self.ended = True
        await self._send({"type": "http.response.body", "body": held})

    def _look(self, chunk: bytes) -> bool:
        if self._inflate is None:
            return False
        try:
            plain = self._inflate(chunk)
        except zlib.error:
            self._inflate, self.unread = None, "broken compression"
            return False
        self._kept += len(plain)
        if self._kept > _KEPT_BYTES:
            self._inflate, self.unread, self._reply = None, "a long reply", []
            return False
        if self._stream is not None:
            return self._stream.take(plain)
        self._reply.append(plain)
        return False

    def note(self) -> None:
        """Into the journal, once."""
        if self.wire and not self._noted:
            self._noted = True
            self._watch.entry(self)

    async def refuse(self, err: Refusal) -> None:
        if self._started:
            # Half a reply cannot be taken back. Returning without its end cuts the connection, as it was upstream.
            return
        self.status = err.status
        self.note()
        body = err.body()
        headers = [*err.headers, (b"content-length", b"%d" % len(body))]
        await self._send({"type": "http.response.start", "status": err.status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})


def server_of(config: ServeConfig) -> str:
    """The one server that is watched: its address without a path, since clients send theirs."""
    if len(config.models) != 1 or not config.models[0].model.startswith(("http://", "https://")):
        raise ConfigError(
            "--watch needs one model server to watch, such as: thinkcap serve http://localhost:8000 --watch"
        )
    address = urlsplit(config.models[0].model.partition("#")[0])
    if not address.netloc:
        raise ConfigError(f"'{config.models[0].model}' is no address; wanted http://host:port")
    return f"{address.scheme}://{address.netloc}" + address.path.rstrip("/").removesuffix("/v1")


def redaction(name: str) -> Callable[[dict[str, str]], _Texts | None]:
    """The function that says what may be kept of the texts; without a name all of it may."""
    if not name:
        return dict
    found = resolve(name, {}, "redaction")
    if not callable(found):
        raise ConfigError(f"redaction '{name}' is no function; wanted one that takes and returns a dict of texts")
    kept: Callable[[dict[str, str]], _Texts | None] = found
    return kept


def _inflating(encoding: str) -> Callable[[bytes], bytes] | None:
    """Reads what a server packs for the client; None for what is not unpacked here."""
    if encoding == "identity":
        return lambda chunk: chunk
    if encoding not in ("gzip", "x-gzip", "deflate"):
        return None
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32)
    return lambda chunk: unpack.decompress(chunk, _KEPT_BYTES)


def _has_body(headers: Headers) -> bool:
    return any(n == b"transfer-encoding" or (n == b"content-length" and v != b"0") for n, v in headers)


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def _unreachable(err: Exception) -> Refusal:
    return Refusal(
        f"the model server did not answer ({type(err).__name__})",
        status=502,
        kind="upstream_error",
        code="unreachable",
    )
