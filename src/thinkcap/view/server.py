"""The server behind `thinkcap view`: on this machine only, GET only, the files of one folder only.

await serve(Path("runs"), port=8378, opened=print)
"""

from __future__ import annotations

import asyncio
import errno
import html
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

from aiohttp import web

from thinkcap.core.errors import ConfigError, ThinkcapError
from thinkcap.report.assets import PAGE_HEADERS, asset, one_script
from thinkcap.report.explorer.page import SHARD
from thinkcap.report.explorer.shell import safe_json, script, served, style
from thinkcap.view.searching import among, search
from thinkcap.view.shelf import NoRun, Shelf, place_of

PORT = 8378
_LOCAL = ("127.0.0.1", "localhost")
_MOST_LETTERS = 200
_COUNT = re.compile(r"[0-9]{1,9}")
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def _guard(request: web.Request, handler: _Handler) -> web.StreamResponse:
    """Only this machine's own pages may ask: a foreign name that leads here (DNS rebinding) is refused."""
    if request.host.rpartition(":")[0] not in _LOCAL or request.headers.get("origin", _origin(request)) != _origin(
        request
    ):
        return _text("this server answers only to its own address on this machine", 403)
    try:
        return await handler(request)
    except NoRun as err:
        return _text(str(err), 404)
    except ThinkcapError as err:
        return _text(str(err), 422)
    except OSError as err:
        return _text(f"a file could not be read: {err.strerror or err}", 503)
    except web.HTTPNotFound:
        return _text("there is no such page", 404)
    except web.HTTPMethodNotAllowed:
        return _text("this server is read-only; use GET", 405)


def _origin(request: web.Request) -> str:
    return f"http://{request.host}"


def app(root: Path) -> web.Application:
    pages = _Pages(Shelf(root))
    made = web.Application(middlewares=[_guard])
    made.router.add_get("/", pages.runs)
    for path in ("/page.css", "/page.js", "/runs.css", "/runs.js"):
        made.router.add_get(path, pages.file)
    made.router.add_get("/runs.json", pages.list)
    made.router.add_get("/search.json", pages.search)
    made.router.add_get("/run/{run}/live.json", pages.live)
    # A comparison is a page of its own, with the same things below it.
    for at in ("/run/{run}", "/run/{run}/with/{other}"):
        made.router.add_get(f"{at}/", pages.run)
        made.router.add_get(f"{at}/search.json", pages.within)
        made.router.add_get(f"{at}/report-data/{{number:[0-9]{{1,9}}}}.json", pages.details)
    made.cleanup_ctx.append(pages.diagnosing)
    return made


class _Pages:
    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        look = asset("look.css")
        self._files = {
            "/page.css": (style() + _ours("served.css"), "text/css"),
            "/page.js": (script(_ours("served.js")), "text/javascript"),
            "/runs.css": (look + _ours("runs.css"), "text/css"),
            "/runs.js": (one_script(asset("dom.js"), _ours("runs.js")), "text/javascript"),
        }

    async def diagnosing(self, _: web.Application) -> Any:
        """Headlines are made one after the other while the list is already shown."""
        task = asyncio.create_task(self._headlines())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def _headlines(self) -> None:
        while True:
            # A run that is moved away at this moment is not there at the next look.
            with suppress(OSError, ThinkcapError):
                for folder in await asyncio.to_thread(self._shelf.without_headline):
                    await asyncio.to_thread(self._shelf.diagnose, folder)
            await asyncio.sleep(3)

    async def runs(self, _: web.Request) -> web.Response:
        return _page(_ours("runs.html"))

    async def file(self, request: web.Request) -> web.Response:
        text, kind = self._files[request.path]
        return web.Response(text=text, content_type=kind, headers=PAGE_HEADERS)

    async def list(self, _: web.Request) -> web.Response:
        found = await asyncio.to_thread(self._shelf.listed)
        return _json({"folder": self._shelf.root.name, "runs": found})

    async def search(self, request: web.Request) -> web.Response:
        text = _wanted(request)
        folders = await asyncio.to_thread(self._shelf.folders)
        return _json(asdict(await asyncio.to_thread(search, folders, text)))

    async def run(self, request: web.Request) -> web.Response:
        name, other = _names(request)
        if other is None and (await asyncio.to_thread(self._shelf.run, name)).state != "finished":
            following = await asyncio.to_thread(self._shelf.following, name)
            data = await asyncio.to_thread(following.data)
        else:
            data = (await asyncio.to_thread(self._shelf.content, name, other)).data
        place = {"inside": [], "shard": SHARD, "beside": "report-data", "served": True}
        brand = f'<a href="/">All runs</a> / {html.escape(name)}'
        return _page(served(data | place, brand=brand))

    async def live(self, request: web.Request) -> web.Response:
        name, _ = _names(request)
        following = await asyncio.to_thread(self._shelf.following, name)
        await asyncio.to_thread(following.look)
        since = request.query.get("since", "0")
        return _json(await asyncio.to_thread(following.news, int(since) if _COUNT.fullmatch(since) else 0))

    async def within(self, request: web.Request) -> web.Response:
        made = await asyncio.to_thread(self._shelf.content, *_names(request))
        return _json({"questions": await asyncio.to_thread(among, made.details, _wanted(request))})

    async def details(self, request: web.Request) -> web.Response:
        name, other = _names(request)
        number = int(request.match_info["number"])
        if other is None and (await asyncio.to_thread(self._shelf.run, name)).state != "finished":
            following = await asyncio.to_thread(self._shelf.following, name)
            return _json(await asyncio.to_thread(following.details, number))
        made = await asyncio.to_thread(self._shelf.content, name, other)
        part = range(number * SHARD, min((number + 1) * SHARD, len(made.details)))
        return _json({at: made.details[at] for at in part})


def _names(request: web.Request) -> tuple[str, str | None]:
    return request.match_info["run"], request.match_info.get("other")


def _wanted(request: web.Request) -> str:
    text = request.query.get("q", "")
    if not 2 <= len(text) <= _MOST_LETTERS:
        raise ConfigError(f"a search takes 2 to {_MOST_LETTERS} letters, not {len(text)}")
    return text


def _page(text: str) -> web.Response:
    return web.Response(text=text, content_type="text/html", headers=PAGE_HEADERS)


def _json(value: Any) -> web.Response:
    return web.Response(text=safe_json(value), content_type="application/json", headers=PAGE_HEADERS)


def _text(words: str, status: int) -> web.Response:
    return web.Response(text=f"thinkcap: {words}\n", status=status, headers=PAGE_HEADERS)


def _ours(name: str) -> str:
    return resources.files("thinkcap.view").joinpath("assets", name).read_text(encoding="utf-8")


async def serve(folder: Path, *, port: int | None = None, opened: Callable[[str], None]) -> None:
    """Until it is cancelled; `opened` gets the address once it answers there."""
    root, first = place_of(folder)
    runner = web.AppRunner(app(root), access_log=None)
    await runner.setup()
    try:
        site = await _started(runner, port)
        address = f"http://127.0.0.1:{site}/"
        opened(address if first is None else f"{address}run/{quote(first, safe='')}/")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


async def _started(runner: web.AppRunner, port: int | None) -> int:
    """The port it listens on: the one wished for, else the usual one, else any that is free."""
    for wanted in (PORT, 0) if port is None else (port,):
        try:
            await web.TCPSite(runner, "127.0.0.1", wanted).start()
            return int(runner.addresses[0][1])
        except OSError as err:
            if err.errno != errno.EADDRINUSE or port is not None:
                raise ConfigError(
                    f"cannot listen on 127.0.0.1:{wanted}: {err.strerror}; choose another --port"
                ) from err
    raise ConfigError("no port on this machine is free")
