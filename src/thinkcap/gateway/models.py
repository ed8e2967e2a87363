"""The models behind the gateway: each an engine, a profile where there is one, and the short way where it exists.

models = await open_models(config, metrics)
served, forced = models.find("pebble+iris")
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from thinkcap.calibrate.profile import Profile, profile_of
from thinkcap.core.engine import Engine
from thinkcap.core.errors import ConfigError, EngineError, ThinkcapError
from thinkcap.core.names import nearest
from thinkcap.core.types import Mode, Question, Request
from thinkcap.doctor.probe import Probe
from thinkcap.engines import open_engine
from thinkcap.engines.answers import REASONING
from thinkcap.engines.client import Client
from thinkcap.engines.fleet import Fleet, Route, routed
from thinkcap.engines.retry import RetryPolicy, key_for
from thinkcap.gateway.answering.relay import Relay
from thinkcap.gateway.call import Call
from thinkcap.gateway.choose import Choice
from thinkcap.gateway.config import ModelConfig, ServeConfig
from thinkcap.gateway.pending import PendingModel
from thinkcap.gateway.refusal import Refusal
from thinkcap.gateway.telemetry.metrics import Metrics
from thinkcap.gateway.upstreams import fleet_of, listed_names

log = logging.getLogger("thinkcap.gateway")

_HTTP_CONCURRENCY = 1024
_NEVER = 10**9
_LOOK_S = 2.0
_SEEN_ASKED = "What is 17 + 25?"
_SEEN_TOKENS, _SEEN_BUDGET = 16, 4
_BUDGET_FIELDS = ("thinking_token_budget", "reasoning_budget_tokens")
"""vLLM's name and llama.cpp's."""


@dataclass(frozen=True)
class Served:
    name: str
    engine: Engine
    profile: Profile | None = None
    relay: Relay | None = None
    reasoning_field: str = "reasoning_content"
    """What the server itself calls a thought."""
    tools: bool = True
    """Whether tools a client sends would reach the model."""
    budget_field: str = ""
    """By which the server itself was seen to bound a thought; found out where thoughts are not held by ids."""
    fleet: Fleet | None = None
    """Its servers, where there are several."""

    @property
    def passes_media(self) -> bool:
        """Whether images would reach a server; by token ids alone they are refused by name."""
        return self.relay is not None or self.engine.card.transport == "chat"

    def short_way(self, call: Call, choice: Choice) -> bool:
        """One call, nothing to count but what the server counts, nothing our passes would add."""
        if self.relay is None or call.raw is None or call.n > 1 or choice.spec.options:
            return False
        card = self.engine.card
        if card.switch == "prompt":
            # No-think is a sentence in the caller's message here: only who asked for a policy gets it.
            return choice.by not in ("request", "profile")
        by_grammar = card.tools and call.forces_call if call.tools else call.format
        if by_grammar and card.transport == "ids" and not (call.media or "logprobs" in call.options):
            # A grammar of ours bounds the blanks and keeps room for the end; the server's own may do neither.
            return False
        if call.stops and call.names_stop and card.transport == "ids" and not (call.media or call.tools):
            # llama.cpp's server says over chat that a word ended the answer, and not which.
            return False
        if choice.spec.name == "nothink":
            return "nothink" in card.modes
        # By ids the thought is counted exactly; over chat only the server can.
        return choice.spec.name == "think" and (card.transport == "chat" or bool(call.tools))


Opened = Sequence[tuple[ModelConfig, Served]]
Pending = Iterable[tuple[PendingModel[Served], ModelConfig]]


class Models:
    def __init__(self, served: Sequence[Served], opened: Opened = (), pending: Pending = ()) -> None:
        """`opened` has the settings of each model that is up, `pending` those of each that is not."""
        self.served = {one.name: one for one in served}
        self.opened = list(opened)
        self.pending = dict(pending)
        _check_unique([*(one.name for one in served), *(one.name for one in self.pending)])
        for one in self.pending:
            one.on_open(self._add)

    def _add(self, pending: PendingModel[Served], served: Served) -> None:
        others = [one.name for one in self.pending if one is not pending]
        _check_unique([*self.served, *others, served.name])
        self.opened.append((self.pending.pop(pending), served))
        self.served[served.name] = served

    def find(self, name: str) -> tuple[Served, str | None]:
        """A model and the policy after `+`; names may hold a `+` of their own."""
        if name in self.served:
            return self.served[name], None
        for known in sorted(self.served, key=len, reverse=True):
            if name.startswith(known + "+"):
                return self.served[known], name[len(known) + 1 :]
        for pending, wanted in self.pending.items():
            # A model that only its server can name may be the one that is wanted.
            if not _own_name(wanted) or name == pending.name or name.startswith(pending.name + "+"):
                raise pending.not_ready()
        known_names = ", ".join(sorted([*self.served, *(one.name for one in self.pending)]))
        raise Refusal(
            f"no model '{name[:80]}' here; known: {known_names}, each also as NAME+POLICY",
            status=404,
            code="model_not_found",
            param="model",
        )

    @property
    def relay(self) -> Relay | None:
        return next((one.relay for one in self.served.values() if one.relay), None)

    @property
    def concurrency(self) -> int:
        waiting = sum(_HTTP_CONCURRENCY * max(1, len(wanted.upstreams)) for wanted in self.pending.values())
        return waiting + sum(_calls(one) for one in self.served.values())

    async def stop_pending(self) -> None:
        """Open no further model."""
        for one in self.pending:
            await one.aclose()

    async def aclose(self) -> None:
        await self.stop_pending()
        for one in self.served.values():
            await close(one)


async def close(one: Served) -> None:
    if one.relay:
        await one.relay.aclose()
    await one.engine.aclose()


def _calls(one: Served) -> int:
    if one.relay is None:
        return one.engine.card.concurrency
    return _HTTP_CONCURRENCY * (len(one.fleet.members) if one.fleet else 1)


async def open_models(
    config: ServeConfig, metrics: Metrics, known: Opened = (), may_wait: Collection[ModelConfig] = ()
) -> Models:
    """Open every model. One of `known` with the same settings stays open, and its profile is read again.

    A model of `may_wait` whose server is down is opened in the background once the server answers.
    """
    opened: list[tuple[ModelConfig, Served]] = []
    pending: dict[PendingModel[Served], ModelConfig] = {}
    new: list[Served] = []
    try:
        for place, one in enumerate(config.models, 1):
            served = next((served for before, served in known if before == one), None)
            if served is not None:
                served = replace(served, profile=_measured(profile_of(one.address, one.profile), served.engine))
            else:
                waiting = PendingModel(
                    _own_name(one) or f"model-{place}", partial(_open, one, config, metrics), close
                )
                if not one.remote or one not in may_wait:
                    served = await _open(one, config, metrics)
                else:
                    served = await waiting.try_first()
                if served is None:
                    pending[waiting] = one
                    continue
                new.append(served)
            opened.append((one, served))
        return Models([served for _, served in opened], opened, pending.items())
    except BaseException:
        for waiting in pending:
            await waiting.aclose()
        for served in new:
            await close(served)
        raise


def _own_name(wanted: ModelConfig) -> str:
    """The name that clients use, as far as the settings say."""
    return wanted.name or (wanted.address.partition("#")[2] if wanted.remote else "")


def _check_unique(names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        raise ConfigError(
            f"two models have the same name: {', '.join(names)}; name them under [[models]], "
            f"or, if they are servers of one model, add its name to each address: http://host/v1#NAME"
        )


def _measured(profile: Profile | None, engine: Engine) -> Profile | None:
    """The profile, if it was measured on this model."""
    if profile and profile.fingerprint and profile.fingerprint != engine.card.fingerprint:
        raise ConfigError(
            f"the profile was measured on '{profile.fingerprint}', this model is "
            f"'{engine.card.fingerprint}'; calibrate again, or remove the line `fingerprint` from the profile"
        )
    return profile


async def _open(wanted: ModelConfig, config: ServeConfig, metrics: Metrics) -> Served:
    address, remote = wanted.address, wanted.remote
    profile = profile_of(address, wanted.profile)
    options: dict[str, Any] = dict(wanted.options)
    fleet = fleet_of(wanted.upstreams) if wanted.upstreams else None
    if remote:
        # A gateway answers whoever asks: it holds more connections than a study, and waits less.
        options.setdefault("concurrency", _HTTP_CONCURRENCY * max(1, len(wanted.upstreams)))
        options |= {
            "fleet": fleet,
            "retry": _retry(config),
            "cuts_overrun": True,
            "canary_every": _NEVER,
            "canary_s": float(_NEVER),
        }
    # One of several servers is looked at; all of them are then asked whether they have the model.
    with routed(Route()):
        return await _opened(wanted, address, profile, fleet, options, config, metrics)


async def _opened(
    wanted: ModelConfig,
    address: str,
    profile: Profile | None,
    fleet: Fleet | None,
    options: Mapping[str, Any],
    config: ServeConfig,
    metrics: Metrics,
) -> Served:
    engine = await open_engine(address, **options)
    remote = wanted.remote
    # A file's own name is what its owner calls it; the name inside may be anything.
    name = wanted.name or (
        Path(wanted.model).stem if wanted.model.lower().endswith(".gguf") else engine.card.model
    )
    async with AsyncExitStack() as undo:
        undo.push_async_callback(engine.aclose)
        _measured(profile, engine)
        if remote:
            _name_upstreams(wanted, name, metrics)
        relay = await _relay(address, name, engine, config, metrics, fleet) if remote else None
        if relay is not None:
            undo.push_async_callback(relay.aclose)
        if fleet is not None:
            await _check_names(address, engine.card.model, config, fleet)
        card = engine.card
        tools = await relay.takes_tools() if relay else card.tools
        field, budget_field = card.reasoning_field, ""
        if remote:
            by_ids = card.transport == "ids" and card.tools
            field, budget_field = await _seen_thinking(address, engine, config, tools and not by_ids, fleet)
        undo.pop_all()
    return Served(name, engine, profile, relay, field, tools, budget_field, fleet)


def _name_upstreams(wanted: ModelConfig, name: str, metrics: Metrics) -> None:
    """In counts a model's only server is called as the model is, one of several by its place in the settings."""
    if not wanted.upstreams:
        metrics.name_upstream(wanted.address, name)
    for place, one in enumerate(wanted.upstreams, 1):
        metrics.name_upstream(one.url, f"{name}/{place}")


def _retry(config: ServeConfig) -> RetryPolicy:
    return RetryPolicy(
        connect_s=config.connect_timeout_s,
        first_byte_s=config.stall_timeout_s,
        between_bytes_s=config.stall_timeout_s,
        asks_after_s=config.stall_timeout_s,
        # A little longer: that a request took too long is the gateway's to say.
        total_s=config.request_timeout_s + 1,
        attempts=config.attempts,
        pause_s=0.1,
        pause_max_s=2.0,
        waits_out=False,
    )


async def _check_names(address: str, model: str, config: ServeConfig, fleet: Fleet) -> None:
    """Every server that answers and lists its models must list this one; who does not answer may come later."""
    base = address.partition("#")[0].rstrip("/")
    client = Client(base, retry=_retry(config), fleet=fleet)
    try:
        lists = await client.listed("/models", _LOOK_S)
    finally:
        await client.aclose()
    for one, found in zip(fleet.upstreams, lists, strict=True):
        if isinstance(found, EngineError):
            log.warning("%s does not answer yet", one.address)
            continue
        names = listed_names(found)
        if names and model not in names:
            raise ConfigError(f"{one.address} does not serve '{model}'{nearest(model, names)}")


async def _relay(
    model: str, name: str, engine: Engine, config: ServeConfig, metrics: Metrics, fleet: Fleet | None
) -> Relay | None:
    """None if every request needs an empty block from us."""
    card = engine.card
    if card.switch == "block":
        return None
    found: dict[Mode, Mapping[str, Any]] = {"think": {}, "nothink": {}}
    for mode in card.modes if card.switch != "prompt" else ():
        found[mode] = await _switches(engine, mode)
    address = urlsplit(model.partition("#")[0].rstrip("/"))
    client = Client(
        f"{address.scheme}://{address.netloc}",
        key_for(model),
        _retry(config),
        connections=0,
        on_retry=metrics.retries.add,
        fleet=fleet,
    )
    return Relay(client, address.path, card.model, name, found, metrics, config.temperature, card.turn_rules)


async def _seen_thinking(
    model: str, engine: Engine, config: ServeConfig, bounds: bool, fleet: Fleet | None
) -> tuple[str, str]:
    """What the server calls a thought and, where `bounds`, by which field it bounds one: seen in a few tokens."""
    card, name = engine.card, engine.card.reasoning_field
    async with Probe(model, card.model, config.request_timeout_s, card.marks, fleet) as probe:
        asked: dict[str, Any] = {"max_tokens": _SEEN_TOKENS, **await _switches(engine, "think")}
        try:
            free = await probe.ask(_SEEN_ASKED, **asked)
        except EngineError:
            return name, ""
        if free.place in REASONING:
            name = free.place
        if not bounds or free.content or not free.thinks:
            return name, ""
        for field in _BUDGET_FIELDS:
            try:
                held = await probe.ask(_SEEN_ASKED, **asked, **{field: _SEEN_BUDGET})
            except EngineError:
                continue
            if held.content.strip() and len(held.thought) < len(free.thought) / 2:
                return name, field
    return name, ""


async def _switches(engine: Engine, mode: Mode) -> Mapping[str, Any]:
    """The fields the engine itself would send; by ids it sends none, and the template's are what works."""
    if engine.card.transport == "ids":
        arguments = engine.card.switches.get(mode)
        return {"chat_template_kwargs": dict(arguments)} if arguments else {}
    greeting = Question("switch", ({"role": "user", "content": "Hi"},))
    prompt = await engine.prompt(Request(greeting, mode, 1, stage="switch"))
    return {k: v for k, v in prompt.body.items() if k != "messages"}


async def is_ready(served: Served) -> bool:
    """Whether the model can be asked now: the server answers, or the embedded one renders a prompt."""
    if served.relay is not None:
        return await served.relay.ready()
    greeting = Question("ready", ({"role": "user", "content": "Hi"},))
    try:
        await served.engine.prompt(Request(greeting, served.engine.card.modes[0], 1, stage="ready"))
    except ThinkcapError:
        return False
    return True
