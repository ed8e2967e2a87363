"""The page for people at `/` and the interface at `/docs`: files held in memory, no network but this gateway.

The files hold nothing of this gateway; what it serves and counts comes from `/page.json`, with a key where keys
are set. Questions typed there go through the same doors as any client's.

    Starlette(routes=routes(service))
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from thinkcap.gateway.pages.interface import described
from thinkcap.gateway.pages.openapi import description
from thinkcap.gateway.pages.overview import overview
from thinkcap.gateway.service import Service
from thinkcap.report.assets import PAGE_HEADERS, asset, one_script

_SCRIPTS = ("ask.js", "lane.js", "playground.js", "now.js", "start.js")


def routes(service: Service) -> list[Route]:
    script = one_script(asset("dom.js"), *map(_ours, _SCRIPTS))
    files = {
        "/": (_ours("page.html"), "text/html"),
        "/page.css": (asset("look.css") + _ours("page.css"), "text/css"),
        "/page.js": (script, "text/javascript"),
    }

    @cache
    def interface() -> str:
        return _ours("docs.html").replace("%%API%%", described(description(bool(service.keys))))

    async def docs(_: Request) -> Response:
        return Response(interface(), media_type="text/html", headers=PAGE_HEADERS)

    async def now(request: Request) -> Response:
        service.authorise(request.scope["headers"])
        return JSONResponse(overview(service), headers=PAGE_HEADERS)

    made = [Route("/docs", docs, methods=["GET"]), Route("/page.json", now, methods=["GET"])]
    return [_file(path, *found) for path, found in files.items()] + made


def _file(path: str, text: str, kind: str) -> Route:
    async def give(_: Request) -> Response:
        return Response(text, media_type=kind, headers=PAGE_HEADERS)

    return Route(path, give, methods=["GET"])


def _ours(name: str) -> str:
    return resources.files("thinkcap.gateway").joinpath("assets", name).read_text(encoding="utf-8")
