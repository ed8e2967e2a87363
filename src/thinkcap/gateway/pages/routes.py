"""Everything beside the wires: models, health, metrics, the description of the interface, the page, other paths.

Starlette(routes=routes(service), exception_handlers=HANDLERS)
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from thinkcap.core.errors import ThinkcapError
from thinkcap.gateway import completions
from thinkcap.gateway.admission.limits import Slot
from thinkcap.gateway.admission.quota import Reserved
from thinkcap.gateway.answering import job
from thinkcap.gateway.config import OTHER_PATHS
from thinkcap.gateway.models import Served
from thinkcap.gateway.pages import page
from thinkcap.gateway.pages.openapi import description
from thinkcap.gateway.refusal import Refusal, late, refusal_of
from thinkcap.gateway.service import Service
from thinkcap.gateway.telemetry.visit import Visit
from thinkcap.gateway.wires import WIRES, messages
from thinkcap.policies.registry import POLICIES, PolicySpec, wants_other

Handler = Callable[[Request], Awaitable[Response]]
_STARTED = int(time.time())


def routes(service: Service) -> list[Route]:
    pages = _Pages(service)
    return [
        # Posts to a wire never get here; other methods learn which one is wanted.
        *(Route(path, pages.other, methods=["POST"]) for path in WIRES),
        Route("/v1/messages/count_tokens", pages.count_tokens, methods=["POST"]),
        Route("/v1/models", pages.models, methods=["GET"]),
        Route("/v1/models/{name:path}", pages.model, methods=["GET"]),
        Route("/healthz", pages.healthz, methods=["GET"]),
        Route("/readyz", pages.readyz, methods=["GET"]),
        Route("/metrics", pages.metrics, methods=["GET"]),
        Route("/openapi.json", pages.openapi, methods=["GET"]),
        *(Route(path, pages.other, methods=["POST"]) for path in OTHER_PATHS),
        *(page.routes(service) if service.config.page else ()),
    ]


class _Pages:
    def __init__(self, service: Service) -> None:
        self._service = service

    async def models(self, request: Request) -> Response:
        self._service.authorise(request.scope["headers"])
        data = [_entry(one) for one in self._service.models.served.values()]
        return JSONResponse({"object": "list", "data": data})

    async def model(self, request: Request) -> Response:
        self._service.authorise(request.scope["headers"])
        served, _ = self._service.models.find(request.path_params["name"])
        return JSONResponse(_entry(served))

    async def count_tokens(self, request: Request) -> Response:
        """Anthropic's question how long a prompt is, answered where prompts are counted here."""
        try:
            self._service.authorise(request.scope["headers"])
            body = await self._service.body(request.scope, request.receive)
            call = messages.read_count(body)
            served, _ = self._service.models.find(call.model)
            async with Slot(self._service.admission):
                tokens = await job.prompt_tokens(call, served.engine)
        except (Refusal, ThinkcapError) as err:
            refusal = refusal_of(err)
            headers = {k.decode(): v.decode() for k, v in refusal.headers}
            return Response(messages.WIRE.error(refusal), status_code=refusal.status, headers=headers)
        return JSONResponse({"input_tokens": tokens})

    async def healthz(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(self, request: Request) -> Response:
        """Ready: not shutting down, and at least one model, or the one of `?model=`, can be asked."""
        if self._service.draining:
            return JSONResponse({"status": "draining"}, status_code=503)
        found = await self._service.readiness.now()
        name = request.query_params.get("model")
        if name is not None and name not in found:
            raise Refusal(
                f"no model '{name[:80]}' here; known: {', '.join(sorted(found))}",
                status=404,
                code="model_not_found",
                param="model",
            )
        states = found if name is None else {name: found[name]}
        ready = "ready" in states.values()
        body = {"status": "ready" if ready else "waiting", "models": states}
        return JSONResponse(body, status_code=200 if ready else 503)

    async def metrics(self, request: Request) -> Response:
        self._service.authorise(request.scope["headers"])
        return Response(self._service.metrics.text(), media_type="text/plain; version=0.0.4")

    async def openapi(self, _: Request) -> Response:
        return JSONResponse(description(bool(self._service.keys)))

    async def other(self, request: Request) -> Response:
        service, path = self._service, request.url.path
        holder = service.authorise(request.scope["headers"])
        relay, pending = service.models.relay, list(service.models.pending)
        if relay is None and pending and (path == completions.PATH or path in service.config.forward):
            raise pending[0].not_ready()
        if path == completions.PATH and relay is not None and path not in service.config.forward:
            return await completions.answered(request, service, holder)
        if path not in service.config.forward or relay is None:
            raise Refusal(
                f"'{path}' is not offered here, only {', '.join(WIRES)}; the operator can forward it to the "
                f'model server with forward = ["{path}"]',
                status=404,
                code="path_not_offered",
            )
        config = service.config
        body = await service.body(request.scope, request.receive)
        kind = request.headers.get("content-type", "application/json")
        try:
            # Its tokens do not count here, but the request does.
            async with (
                Reserved(service.quota, holder, 0),
                Slot(service.admission),
                asyncio.timeout(config.request_timeout_s),
            ):
                status, found, reply = await relay.forward(path, body, kind)
        except TimeoutError:
            raise late(config.request_timeout_s) from None
        return Response(reply, status_code=status, headers={"content-type": found})


def _entry(served: Served) -> dict[str, Any]:
    card = served.engine.card
    return {
        "id": served.name,
        "object": "model",
        "created": _STARTED,
        # As Anthropic's clients read them.
        "type": "model",
        "display_name": served.name,
        "created_at": datetime.fromtimestamp(_STARTED, UTC).isoformat(),
        "owned_by": "thinkcap",
        "max_model_len": card.context or None,
        "thinkcap": {
            "policies": [name for name in POLICIES if not wants_other(PolicySpec(name))],
            "profile": served.profile is not None,
            "modes": list(card.modes),
            "tools": served.tools and (card.tools or served.relay is not None),
            "formats": card.formats,
            "reasoning_field": served.reasoning_field,
        },
    }


async def _refused(request: Request, error: Exception) -> Response:
    err = refusal_of(error)
    visit: Visit | None = request.scope.get("thinkcap.visit")
    if visit is not None:
        err.request_id, visit.code = visit.id, err.code or ""
    return Response(err.body(), status_code=err.status, headers={k.decode(): v.decode() for k, v in err.headers})


async def _http(request: Request, err: Exception) -> Response:
    assert isinstance(err, HTTPException)
    known = f"POST {', '.join(WIRES)}, GET /v1/models, /healthz, /readyz, /metrics, /openapi.json"
    code = "method_not_allowed" if err.status_code == 405 else "path_not_found"
    words = f"{request.method} {request.url.path[:200]} is not offered here; known: {known}"
    found = await _refused(request, Refusal(words, status=err.status_code, code=code))
    found.headers.update(err.headers or {})
    return found


HANDLERS: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
    Refusal: _refused,
    ThinkcapError: _refused,
    HTTPException: _http,
}
