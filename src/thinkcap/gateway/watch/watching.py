"""Watch mode: requests go to the model server as they came, bytes come back as they were sent, a journal looks on.

    thinkcap serve http://localhost:8000 --watch
    thinkcap diagnose thinkcap-journal

A request is in the journal before its last byte goes to the client. By default no text is kept: model, cap,
tokens, end, times and the name of the key. With --shadow or --hold a gateway stands beside it (`arms.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from starlette.types import Message, Receive, Scope, Send
from yarl import URL

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import resolve
from thinkcap.gateway.admission.auth import Keys
from thinkcap.gateway.admission.limits import LOOPBACK, Headers, check_host, check_origin
from thinkcap.gateway.app import Gateway
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.refusal import Refusal
from thinkcap.gateway.watch.arms import ArmCounts, Arms
from thinkcap.gateway.watch.journal import WatchJournal
from thinkcap.gateway.watch.onlooker import Onlooker
from thinkcap.logs.answered import SeenAnswer

log = logging.getLogger("thinkcap.gateway")

OWN = "/thinkcap/"
"""Paths that the gateway answers itself; all others are the server's."""
_HOPS = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"),
        *(b"expect", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    )
)
"""Headers meant for the next hop only, not for whoever is behind it."""
_IDLE_S = 3.0
"""Shorter than servers keep a connection that nobody uses (5 s): a request on one that closes is lost."""

_Texts = Mapping[str, str]


class Watch:
    """An ASGI application in front of one server. Opened inside a running loop.

    `beside` is a gateway in front of the same server, for what is shadowed or held; whoever opened it closes it.
    """

    def __init__(self, config: ServeConfig, beside: Gateway | None = None) -> None:
        self.config = config
        self.draining = False
        self.server = server_of(config)
        self._journal = WatchJournal(Path(config.watch_journal), config.watch_bytes)
        self._redact = redaction(config.watch_redact)
        self._keys = Keys(config.keys)
        self._own = LOOPBACK | {config.host.lower()} | {host.lower() for host in config.hosts}
        self._registry = beside.metrics.registry if beside else CollectorRegistry()
        self._counts = ArmCounts(self._registry)
        self.arms = Arms(config, beside, self.note, self._counts) if beside else None
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
        if self.arms:
            await self.arms.aclose()
        await self._session.close()
        self._journal.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        one = _Passing(self, scope, receive, send)
        try:
            self._check(scope["headers"])
            if scope["path"].startswith(OWN):
                await one.say(200, *self._told(scope))
            elif not await self._held(one, send):
                await self._pass(one)
        except Refusal as err:
            await one.refuse(err)
        except (aiohttp.ClientError, TimeoutError, OSError) as err:
            log.warning("%s: %s", self.server, type(err).__name__)
            one.seen.broken = True
            await one.refuse(_unreachable(err))
        finally:
            # Who left, or what failed in the middle, has not been written yet.
            one.note()
            if one.seen.wire:
                (self.arms or self._counts).seen(one.seen)

    def _check(self, headers: Headers) -> None:
        if not self.config.anyone:
            check_host(headers, self._own)
            check_origin(headers, self.config.origins, self._own)

    async def _held(self, one: _Passing, send: Send) -> bool:
        """Whether the request was answered by a policy, which is known only once all of it has come."""
        if not self.arms or not self.arms.holding or not one.seen.wire:
            return False
        await one.read_ahead()
        if not self.arms.holds(one.seen):
            return False
        await self.arms.hold(one.seen, one.receive, send, one.note)
        return True

    async def _pass(self, one: _Passing) -> None:
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
            data=one.body() if has_body else None,
            allow_redirects=False,
        )
        async with one.until_hung_up(), asked as response:
            await one.hand_on(response)

    def note(self, one: Onlooker, more: Mapping[str, Any]) -> None:
        """One line a request that asked for an answer."""
        entry = one.entry(self._keys.name_of(one.scope["headers"])) | dict(more)
        if self.config.watch_texts:
            entry |= self._texts(one)
        self._journal.write(entry)

    def _texts(self, one: Onlooker) -> dict[str, Any]:
        first = one.answers[0] if one.answers else SeenAnswer()
        texts: dict[str, str] = {"question": one.asked.question, "answer": first.text, "thought": first.thought}
        try:
            kept = self._redact(texts)
        except Exception as err:
            log.error("the redaction failed (%s); no text of this request is kept", type(err).__name__)
            return {}
        return {name: str(kept[name]) for name in texts if kept and name in kept}

    def _told(self, scope: Scope) -> tuple[bytes, bytes]:
        """What this gateway says of itself."""
        name = scope["path"].removeprefix(OWN)
        self._keys.check(scope["headers"])
        if name == "metrics":
            return b"text/plain; version=0.0.4", generate_latest(self._registry)
        if name != "healthz":
            raise Refusal(
                f"'{OWN}{name[:80]}' is not offered here, only {OWN}healthz and {OWN}metrics",
                status=404,
                code="path_not_found",
            )
        told = {"status": "ok", "journal_lines_lost": self._journal.lost, **self._counts.told()}
        return b"application/json", msgspec.json.encode(told | (self.arms.told() if self.arms else {}))


class _Passing:
    """One request on its way to the server and back."""

    def __init__(self, watch: Watch, scope: Scope, receive: Receive, send: Send) -> None:
        self._watch, self.scope, self._receive, self._send = watch, scope, receive, send
        self.seen = Onlooker(scope)
        self.arrived = asyncio.Event()
        """All of the request has been taken on."""
        self._ahead: deque[Message] = deque()
        self._ended = self._started = self._noted = False

    async def read_ahead(self) -> None:
        """To the request's end, unless it is too long to be read at all; `receive` gives it all the same."""
        more = True
        while more and not self.seen.unread:
            self._ahead.append(message := await self._arriving())
            more = message.get("more_body", False)

    async def receive(self) -> Message:
        message = self._ahead.popleft() if self._ahead else await self._arriving()
        if message["type"] == "http.request" and not message.get("more_body"):
            self.arrived.set()
        return message

    async def _arriving(self) -> Message:
        message = await self._receive()
        self.seen.request(message.get("body", b""))
        return message

    async def body(self) -> AsyncIterator[bytes]:
        """The request's body as it comes."""
        while not self.arrived.is_set():
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError("the client left before its request was complete")
            if piece := message.get("body", b""):
                yield piece

    @asynccontextmanager
    async def until_hung_up(self) -> AsyncIterator[None]:
        """A client that hangs up hangs up upstream too."""
        task = asyncio.current_task()
        assert task is not None

        async def wait() -> None:
            await self.arrived.wait()
            while (await self.receive())["type"] != "http.disconnect":
                continue

        gone = asyncio.ensure_future(wait())
        gone.add_done_callback(lambda done: None if done.cancelled() or self._ended else task.cancel())
        try:
            yield
        except asyncio.CancelledError:
            if not gone.done() or gone.cancelled():
                raise
            task.uncancel()
        finally:
            self._ended = True
            gone.cancel()

    async def hand_on(self, response: aiohttp.ClientResponse) -> None:
        headers = [(n.lower(), v) for n, v in response.raw_headers if n.lower() not in _HOPS]
        seen = self.seen
        seen.start(response.status, headers)
        await self._send({"type": "http.response.start", "status": response.status, "headers": headers})
        self._started = True
        held = b""
        async for chunk in response.content.iter_any():
            if seen.take(chunk):
                seen.end()
                self.note()
            if not seen.streamed:
                # One piece stays behind, so that the last goes out only when the journal has the request.
                chunk, held = held, chunk
            if chunk:
                await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
        seen.end()
        self.note()
        self._ended = True
        await self._send({"type": "http.response.body", "body": held})

    def note(self) -> None:
        """Into the journal, once."""
        if self.seen.wire and not self._noted:
            self._noted = True
            self._watch.note(self.seen, {})

    async def refuse(self, err: Refusal) -> None:
        if self._started:
            # Half a reply cannot be taken back. Returning without its end cuts the connection, as it was upstream.
            return
        self.seen.status = err.status
        self.note()
        kind, *more = err.headers
        await self.say(err.status, kind[1], err.body(), *more)

    async def say(self, status: int, kind: bytes, body: bytes, *more: tuple[bytes, bytes]) -> None:
        headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *more]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
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
        raise ConfigError(
            f"redaction '{name}' is not a function; wanted one that takes and returns a dict of texts"
        )
    kept: Callable[[dict[str, str]], _Texts | None] = found
    return kept


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
