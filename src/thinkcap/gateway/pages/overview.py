"""What this gateway is right now, in plain values: models, the policy of every cap, limits, counts.

overview(service)["models"][0]["steps"]        # [{"from": 1, "policy": "nothink", ...}, ...]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thinkcap.calibrate.choice import chosen
from thinkcap.calibrate.profile import CapRule
from thinkcap.gateway.choose import Choice
from thinkcap.gateway.models import Served
from thinkcap.gateway.service import Service
from thinkcap.policies.methods import summary
from thinkcap.policies.registry import POLICIES, PolicySpec, facts, wants_other

_MEASURED = ("accuracy", "lower_bound", "n", "tokens")


def overview(service: Service) -> dict[str, Any]:
    config = service.config
    return {
        "models": [_model(one, config.threshold) for one in service.models.served.values()],
        "methods": _methods(),
        "limits": {
            "calls": service.admission.most,
            "queue": config.queue,
            "default_max_tokens": config.default_max_tokens,
            "tokens": config.tokens_limit,
            "seconds": config.request_timeout_s,
        },
        "counts": {
            "in_flight": service.admission.active,
            "queued": service.admission.waiting,
            **service.metrics.totals(),
        },
    }


def steps(served: Served, threshold: int) -> list[dict[str, Any]]:
    """As chosen for requests that name no policy: at every cap the profile measured, and wherever it changes."""
    rules = {rule.at_least: rule for rule in served.profile.rules} if served.profile else {}
    found: list[dict[str, Any]] = []
    for cap in sorted({1, threshold, *rules}):
        spec, by, budget = chosen(cap, None, served.engine.card, served.profile, threshold)
        label = Choice(spec, by).label
        if cap in rules or not found or label != found[-1]["policy"]:
            less = {"budget": budget} if budget < cap else {}
            found.append({"from": cap, "policy": label, "by": by, **less, **_measured(rules.get(cap), spec)})
    return found


def _measured(rule: CapRule | None, spec: PolicySpec) -> Mapping[str, float]:
    """What the study saw of this policy at this cap. People edit profiles, so only numbers are told."""
    if rule is None or rule.policy.label != spec.label:
        return {}
    known = {name: rule.evidence.get(name) for name in _MEASURED}
    return {name: value for name, value in known.items() if isinstance(value, (int, float))}


def _model(served: Served, threshold: int) -> dict[str, Any]:
    card = served.engine.card
    return {
        "name": served.name,
        "dialect": card.dialect,
        "dialect_by": card.dialect_by,
        "asked": asked(served),
        "context": card.context,
        "thinks": [card.open_tag, card.close_tag],
        "steps": steps(served, threshold),
    }


def asked(served: Served) -> str:
    return "by token ids" if served.engine.card.transport == "ids" else "over chat"


def _methods() -> list[dict[str, Any]]:
    """Those a request may name."""
    specs = [spec for name in POLICIES if not wants_other(spec := PolicySpec(name))]
    return [
        {"name": spec.name, "does": summary(spec.name), "needs_kind": facts(spec).needs_kind} for spec in specs
    ]
