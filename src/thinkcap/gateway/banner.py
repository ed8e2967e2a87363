"""What an operator reads when the gateway has started: where, which model, which policy from which cap, limits.

banner("http://127.0.0.1:8080/v1", service)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from thinkcap.engines.served.running import Serving
from thinkcap.gateway.models import Served
from thinkcap.gateway.pages.overview import asked, steps
from thinkcap.gateway.service import Service


def banner(address: str, service: Service, servers: Sequence[Serving] = ()) -> str:
    """`servers` are those that were started for this gateway."""
    config = service.config
    # The address stands alone, as people and programs copy it.
    lines = [f"thinkcap serves at {address}"]
    lines += [f"  page: {address.removesuffix('/v1')}/"] if config.page else []
    lines += [_model(one, config.threshold) for one in service.models.served.values()]
    lines += [
        f"  {one.name}: not ready, its server does not answer yet; retrying" for one in service.models.pending
    ]
    lines += [f"  {one.name}: {one.backend} at {one.base}, log {one.log}" for one in servers]
    keys = f"{len(config.keys)} keys" if config.keys else "no keys"
    lines.append(
        f"  limits: {service.admission.most} calls at a time, {config.queue} requests waiting, "
        f"at most {config.default_max_tokens} tokens if no max_tokens is sent, "
        f"{config.request_timeout_s:g} s per request, {keys}"
    )
    return "\n".join(lines)


def _model(served: Served, threshold: int) -> str:
    card = served.engine.card
    dialect = f"dialect {card.dialect or 'of its own'}"
    context = f", context {card.context} tokens" if card.context else ""
    context += f", {len(served.fleet.members)} servers" if served.fleet else ""
    return f"  {served.name}: {_policies(served, threshold)}; {dialect}; asked {asked(served)}{context}"


def _policies(served: Served, threshold: int) -> str:
    runs = [next(run) for _, run in groupby(steps(served, threshold), key=lambda step: step["policy"])]
    first, *later = runs
    found = [first["policy"], *(f"{step['policy']} from {step['from']} tokens" for step in later)]
    return "policy " + ", ".join(found) + (" (profile)" if served.profile else "")
