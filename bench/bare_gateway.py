"""The least a gateway can be: bytes from clients to one model server and back, nothing read, nothing checked.

    python bench/bare_gateway.py http://127.0.0.1:8000/v1/chat/completions PORT

One process, aiohttp on both sides, pooled connections, uvloop.
"""

from __future__ import annotations

import asyncio
import sys

import aiohttp
import uvloop
from aiohttp import web

SESSION = web.AppKey("session", aiohttp.ClientSession)


async def chat(request: web.Request) -> web.StreamResponse:
    body = await request.read()
    headers = {"content-type": "application/json"}
    async with request.app[SESSION].post(sys.argv[1], data=body, headers=headers) as upstream:
        if b'"stream": true' not in body:
            return web.Response(body=await upstream.read(), content_type="application/json")
        answer = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await answer.prepare(request)
        async for piece in upstream.content.iter_any():
            await answer.write(piece)
        await answer.write_eof()
        return answer


async def opened() -> web.Application:
    app = web.Application()
    app[SESSION] = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
    app.router.add_post("/v1/chat/completions", chat)
    return app


if __name__ == "__main__":
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    web.run_app(opened(), host="127.0.0.1", port=int(sys.argv[2]), access_log=None, backlog=4096, print=None)
