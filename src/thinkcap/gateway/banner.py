"""What an operator reads when the gateway has started: where, which model, which policy from which cap, limits.

banner("http://127.0.0.1:8080/v1", service)
"""

from __future__ import annotations

from thinkcap.calibrate.choice import chosen
from thinkcap.gateway.models import Served
from thinkcap.gateway.service import Service


def banner(address: str, service: Service) -> str:
    config = service.config
    lines = [f"thinkcap serves at {address}"]
    lines += [_model(one, config.threshold) for one in service.models.served.values()]
    keys = f"{len(config.keys)} keys" if config.keys else "no keys"
    lines.append(
        f"  limits: {service.admission.most} calls at a time, {config.queue} requests waiting, "
        f"cap {config.default_cap} where none is sent, {config.request_timeout_s:g} s a request, {keys}"
    )
    return "\n".join(lines)


def _model(served: Served, threshold: int) -> str:
    card = served.engine.card
    asked = "by token ids" if card.transport == "ids" else "over chat"
    context = f", context {card.context} tokens" if card.context else ""
    return f"  {served.name}: {_policies(served, threshold)}; asked {asked}{context}"


def _policies(served: Served, threshold: int) -> str:
    """As chosen for a request that names none, at every cap where the choice may change."""
    rules = served.profile.rules if served.profile else ()
    found: list[str] = []
    before = ""
    for cap in sorted({1, threshold, *(rule.at_least for rule in rules)}):
        label = chosen(cap, None, served.engine.card, served.profile, threshold)[0].label
        if label != before:
            found.append(f"{label} from {cap} tokens" if found else label)
            before = label
    by = " (profile)" if served.profile else ""
    return "policy " + ", ".join(found) + by
