"""Gateways as replicas of a Ray Serve deployment: Ray's proxies take requests, Ray starts and replaces replicas.

    thinkcap serve http://10.0.0.5:8000/v1 --cluster auto --max-replicas 8

A replica is a whole gateway, as `thinkcap serve` makes one, without a port. It tells Ray how many tokens the caps
of its requests allow, and Ray has one replica for every `replica_tokens` of them.
"""

from __future__ import annotations

import logging
import math
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from thinkcap.core.errors import ConfigError
from thinkcap.engines.ray import connect, disconnect
from thinkcap.gateway.app import Gateway
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.models import open_models
from thinkcap.gateway.telemetry.metrics import Metrics

APPLICATION = "thinkcap"
_TOKENS = "tokens_in_flight"
_PLACES = 4096
"""Requests a replica takes, at work and in its own queue; Ray's default of five is meant for models."""


class GatewayReplica:
    """What runs inside a replica. Ray calls every method."""

    # Ray awaits it.
    async def __init__(self, config: ServeConfig) -> None:  # type: ignore[misc]
        metrics = Metrics()
        self._models = await open_models(config, metrics, may_wait=config.models)
        self._gateway = Gateway(config, self._models, metrics)

    def __serve_build_asgi_app__(self) -> ASGIApp:
        return _unnamed(self._gateway)

    async def record_autoscaling_stats(self) -> dict[str, float]:
        return {_TOKENS: float(self._gateway.service.visits.tokens_in_flight)}

    async def __del__(self) -> None:
        await self._models.aclose()


def _unnamed(gateway: Gateway) -> ASGIApp:
    """Without the request's id on its answer: Ray's proxy makes or takes it, hands it on, and adds it itself."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async def without_id(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [(n, v) for n, v in message["headers"] if n != b"x-request-id"]
            await send(message)

        await gateway(scope, receive, without_id)

    return app


class ByTokens:
    """Ray's question how many replicas there should be; delays, limits and smoothing are Ray's."""

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens

    def __call__(self, context: Any) -> tuple[int, dict[str, Any]]:
        told: Mapping[Any, float] = context.aggregated_metrics.get(_TOKENS, {})
        return max(1, math.ceil(sum(told.values()) / self._tokens)), {}


def run_on_cluster(config: ServeConfig, tell: Callable[[str], None] = lambda _: None) -> None:
    """Deploys the gateway, waits to be told to stop, and takes it away again."""
    _check(config)
    _import_serve()
    stop = threading.Event()
    started = connect(config.cluster)
    try:
        begun = _begin_serve(config)
        try:
            _deploy(config)
            # Only now: joining a cluster sets handlers of Ray's own, which would end this at once.
            for sort in (signal.SIGINT, signal.SIGTERM):
                signal.signal(sort, lambda *_: stop.set())
            tell(
                f"thinkcap serves at http://{config.host}:{config.port}/v1 on Ray cluster '{config.cluster}': "
                f"{config.min_replicas} to {config.max_replicas} gateways, one per {config.replica_tokens} "
                f"tokens in progress"
            )
            stop.wait()
        finally:
            _remove(begun)
    finally:
        if started:
            disconnect()


def _import_serve() -> None:
    """Before anything is started: without its packages nothing else makes sense."""
    try:
        import ray.serve  # noqa: F401
    except ImportError as err:
        raise ConfigError(
            f"serving on a cluster needs an extra: pip install 'thinkcap[ray-serve]' ({err})"
        ) from err


def _begin_serve(config: ServeConfig) -> bool:
    """Has Ray's proxies listen where the gateway is to be; False where they do so already, for others too."""
    from ray import serve
    from ray.serve.config import HTTPOptions, ProxyLocation
    from ray.serve.context import _get_global_client

    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    running = _get_global_client(raise_if_no_controller_running=False)
    if running is not None:
        # Asked for another address Ray goes on listening at the old one, and says so in its log only.
        old, wanted = (f"{one.host}:{one.port}" for one in (running.http_config, config))
        if old != wanted:
            raise ConfigError(
                f"Ray Serve is already running on cluster '{config.cluster}' and listens at {old}, not at "
                f"{wanted}; use that host and port, or end it there (Ray's command: serve shutdown)"
            )
        return False
    with _told_plainly(config):
        serve.start(
            proxy_location=ProxyLocation.EveryNode,
            http_options=HTTPOptions(host=config.host, port=config.port, keep_alive_timeout_s=75),
        )
    return True


def _deploy(config: ServeConfig) -> None:
    from ray import serve
    from ray.serve.config import AutoscalingConfig, AutoscalingPolicy

    replicas = serve.deployment(
        serve.ingress()(GatewayReplica),
        name="gateway",
        max_ongoing_requests=_PLACES,
        ray_actor_options={"num_cpus": config.replica_cpus},
        graceful_shutdown_timeout_s=max(1.0, config.drain_s),
        autoscaling_config=AutoscalingConfig(
            min_replicas=config.min_replicas,
            max_replicas=config.max_replicas,
            upscale_delay_s=config.grow_after_s,
            downscale_delay_s=config.shrink_after_s,
            look_back_period_s=3 * config.grow_after_s,
            policy=AutoscalingPolicy(policy_function=ByTokens, policy_kwargs={"tokens": config.replica_tokens}),
        ),
    )
    with _told_plainly(config):
        serve.run(replicas.bind(config), name=APPLICATION, route_prefix="/")


@contextmanager
def _told_plainly(config: ServeConfig) -> Iterator[None]:
    from ray.exceptions import RayError

    try:
        yield
    except (RuntimeError, RayError) as err:
        said = [line.strip() for line in str(err).splitlines() if line.strip()]
        raise ConfigError(
            f"the gateway could not be deployed on Ray cluster '{config.cluster}': {said[-1] if said else err}; "
            f"the logs of Ray Serve say more"
        ) from err


def _remove(begun: bool) -> None:
    """Leaves the cluster as it was found, unless others have come to use it meanwhile."""
    from ray import serve

    if APPLICATION in serve.status().applications:
        serve.delete(APPLICATION)
    if begun and not serve.status().applications:
        serve.shutdown()


def _check(config: ServeConfig) -> None:
    if config.watch:
        raise ConfigError("--watch keeps a journal on one machine, and replicas come and go; leave out --cluster")
    if config.port == 0:
        raise ConfigError("port 0 is any free port, and all of Ray's proxies need the same one; name a port")
    if config.min_replicas > config.max_replicas:
        raise ConfigError(
            f"min_replicas of {config.min_replicas} is more than max_replicas of {config.max_replicas}"
        )
    if any(one.serve_with for one in config.models):
        raise ConfigError(
            "serve_with starts a server beside the gateway, and there may be many gateways; start it yourself, "
            "and name its address"
        )
