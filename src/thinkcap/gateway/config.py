"""Everything an operator can set, from `serve.toml`, the command line, or both; nothing is taken from requests.

config = ServeConfig.from_mapping({"model": "bundled", "port": 8080})
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest
from thinkcap.engines.served import BackendName, ServeWith
from thinkcap.gateway import upstreams
from thinkcap.gateway.admission.auth import KeyConfig, keys_of, read_keys
from thinkcap.gateway.admission.quota import Limits
from thinkcap.gateway.call import ReasoningField
from thinkcap.gateway.upstreams import UpstreamConfig
from thinkcap.settings import FilePath, Read, Text, inside, load, table_of, values

AccessFormat = Literal["off", "plain", "json"]

_ORIGIN = re.compile(r"https?://[^/\s@]+")
_COLLECTOR = re.compile(r"https?://[^/\s]+(/\S*)?")
OTHER_PATHS = (
    "/v1/completions",
    "/v1/embeddings",
    "/v1/moderations",
    "/v1/rerank",
    "/v1/audio/speech",
    "/v1/audio/transcriptions",
    "/v1/images/generations",
)
"""OpenAI's other paths: refused by name, or forwarded where `forward` lists them."""


@dataclass(frozen=True)
class ModelConfig:
    """One model behind the gateway."""

    model: Text
    """`bundled`, a .gguf file, or http://host/v1#name; with `upstreams` the name they all have for it."""
    name: str = ""
    """What clients call it; the model's own name where empty."""
    profile: FilePath | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """For the engine: concurrency, context, nothink_by, transport ..."""
    serve_with: BackendName | None = None
    """The server that is started for the model, and stopped with the gateway."""
    serve_args: str = ""
    upstreams: tuple[UpstreamConfig, ...] = ()
    """Where the model is served, where that is at several servers or one with a key of its own."""

    @property
    def address(self) -> str:
        """What an engine opens."""
        return f"{self.upstreams[0].url}#{self.model}" if self.upstreams else self.model

    @property
    def remote(self) -> bool:
        return self.address.startswith(("http://", "https://"))

    @classmethod
    def of(cls, addresses: Sequence[str]) -> ModelConfig:
        """One model, at one address or at several with the same name after `#`."""
        if len(addresses) == 1:
            return cls(addresses[0])
        bases = [address.partition("#")[0] for address in addresses]
        return cls(addresses[0].partition("#")[2], upstreams=tuple(map(UpstreamConfig, bases)))

    def check(self) -> None:
        ServeWith.wished(self.serve_with, self.serve_args)
        if not self.upstreams:
            return
        if self.serve_with:
            raise ConfigError(
                "`upstreams` names running servers, and `serve_with` starts one; give only one of the two"
            )
        if self.model.startswith(("http://", "https://")):
            raise ConfigError(
                f"with `upstreams`, `model` is the name the servers have for it; saw the address '{self.model}'"
            )
        upstreams.check(self.upstreams)


def _names(value: Any) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, Sequence) or not words or not all(isinstance(w, str) and w for w in words):
        raise ConfigError(f"wanted the name of a model or a list of names, saw {value!r}")
    return tuple(words)


def _share(value: Any) -> float:
    """`10%` on a command line, 0.1 in a file."""
    text = str(value).strip()
    try:
        found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        found = -1.0
    if isinstance(value, bool) or not 0 <= found <= 1:
        raise ConfigError(f"wanted a share such as 10% or 0.1, saw {value!r}")
    return found


@dataclass(frozen=True)
class _Short:
    """Settings of one model without a table of its own."""

    model: Annotated[tuple[str, ...], Read(_names)] = ()
    profile: FilePath | None = None
    dialect: Text | None = None
    serve_with: BackendName | None = None
    serve_args: Text | None = None
    upstreams: tuple[UpstreamConfig, ...] = ()


_SHORT = tuple(f.name for f in fields(_Short))
Natural = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Positive = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Size = Annotated[int, Meta(ge=1024, le=2**31 - 1)]
Share = Annotated[float, Read(_share, "a share such as 10%")]
Seconds = Annotated[float, Meta(ge=0.1, le=1e9)]


@dataclass(frozen=True)
class ServeConfig:
    models: tuple[ModelConfig, ...] = (ModelConfig("bundled"),)
    host: Text = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8080
    default_max_tokens: Positive = 16384
    """Most tokens of a request without `max_tokens`, which gets the rest of the context up to this."""
    threshold: Positive = 256
    """Without a profile: answer without thinking under caps below this."""
    temperature: Annotated[float, Meta(ge=0, le=2)] = 0.0
    """Used where a request names none."""
    reasoning_field: ReasoningField = "upstream"
    keys: Annotated[Mapping[str, KeyConfig], Read(keys_of, "a table of keys")] = field(default_factory=dict)
    """Those of `keys_file` among them, once it is read."""
    keys_file: FilePath | None = None
    limits: Limits = field(default_factory=Limits)
    """Of every key without its own; where there are no keys, of everybody together."""
    redis: Text | None = None
    """redis://host:6379/0, where limits are counted by several gateways together."""
    anyone: bool = False
    """Allow an address beyond the loopback without keys."""
    hosts: tuple[str, ...] = ()
    """Host names this gateway answers to. Empty: without keys the loopback's and `host`, otherwise any."""
    origins: tuple[str, ...] = ()
    """Web pages that may call the gateway from a browser, as `https://host`; `*` is all of them."""
    page: bool = True
    """A page for people at `/`, and the interface described at `/docs`."""
    concurrency: Natural = 0
    """Calls to models at a time; 0: what the models advise. A request with n=5 or five samples counts as five."""
    queue: Natural = 1024
    calls_limit: Positive = 256
    """Calls one request may make, over all its choices."""
    tokens_limit: Positive = 2**20
    """Tokens one request may ask for: n times its cap."""
    body_limit_bytes: Size = 4 * 2**20
    header_limit_bytes: Size = 32 * 2**10
    arrival_timeout_s: Seconds = 20.0
    """For a request's headers, then for its body, to arrive."""
    request_timeout_s: Seconds = 600.0
    stall_timeout_s: Seconds = 120.0
    """Longest silence of the model server inside an answer."""
    connect_timeout_s: Seconds = 5.0
    attempts: Annotated[int, Meta(ge=1, le=20)] = 3
    """Upstream calls before the first byte, the first try included."""
    ping_s: Seconds = 15.0
    """A stream that shows nothing for so long gets an SSE comment, so that no proxy cuts it off."""
    drain_s: Annotated[float, Meta(ge=0, le=1e9)] = 60.0
    """How long a shutdown waits for answers under way."""
    media_hosts: tuple[str, ...] = ()
    """Hosts, with all below them, that addresses of images may name; empty: any that does not look inner."""
    forward: tuple[str, ...] = ()
    forward_unknown: bool = False
    """Hand fields nobody here knows to the model server (chat transport only) instead of refusing them."""
    log_requests: bool = False
    """Write requests, each with its status and policy, to the log."""
    access_log: AccessFormat = "off"
    """One line per request on standard output: when, how it ended, what it spent; none of its words."""
    otlp: str = ""
    """Where spans go: a collector's http://host:4318, or `env` for OTEL_EXPORTER_OTLP_ENDPOINT. Empty: nowhere."""
    otlp_sample: Annotated[float, Meta(ge=0, le=1)] = 1.0
    """Share of the traces begun here that are kept; a client's own trace is kept where the client keeps it."""
    cluster: str = ""
    """`auto`, `local` or the address of a Ray cluster on which gateways are replicas; empty: one, here."""
    min_replicas: Positive = 1
    max_replicas: Positive = 4
    replica_tokens: Positive = 2**16
    """One replica per this many tokens that the caps of requests in progress allow."""
    replica_cpus: Annotated[float, Meta(ge=0, le=4096)] = 1.0
    grow_after_s: Seconds = 10.0
    shrink_after_s: Seconds = 300.0
    watch: bool = False
    """Change nothing: pass everything on to the one model server and keep a journal of it (docs/watch.md)."""
    watch_journal: Text = "thinkcap-journal"
    """The folder of the journal."""
    watch_bytes: Size = 2**28
    """What all files of the journal may take together; the oldest go first."""
    watch_texts: bool = False
    """Keep questions and answers in the journal too."""
    watch_redact: str = ""
    """`module:function` that gets these texts as a dict and returns what may be kept of them, or None."""
    shadow: Share = 0.0
    """With `watch`: the share of requests that the profile's policy answers too, after the server's answer."""
    shadow_at_once: Positive = 1
    """Shadows under way at a time; what comes meanwhile is not shadowed."""
    hold: Share = 0.0
    """With `watch`: the share of requests that the profile's policy answers instead of the server alone."""
    guard_rise: Annotated[float, Meta(gt=0, le=0.9)] = 0.1
    """By how much the share of failed, empty or slow answers may rise in what is held, before holding ends."""
    guard_slower: Annotated[float, Meta(ge=1, le=1000)] = 2.0
    """An answer is slow if it takes this many times longer than 95 of 100 watched answers."""

    @classmethod
    def from_file(cls, path: Path) -> ServeConfig:
        table = table_of(path, "the configuration", "wanted a TOML file of settings")
        with inside(f"'{path}'"):
            return cls.from_mapping(table)

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> ServeConfig:
        return cls().changed(table)

    def changed(self, table: Mapping[str, Any]) -> ServeConfig:
        """A copy with these settings; `model` is a name or a list of names, `models` a list of tables."""
        given = dict(table)
        short = load(_Short, {key: given.pop(key) for key in _SHORT if key in given})
        found = values(type(self), given, also=_SHORT)
        if found.get("models") == ():
            raise ConfigError("models: wanted one or more tables, each with a `model`; saw an empty list")
        named = tuple(map(ModelConfig.of, upstreams.by_name(short.model).values()))
        models = found.pop("models", ()) or named or self.models
        if short.upstreams:
            if len(models) != 1:
                raise ConfigError("`upstreams` are of one model; with several, give each its own under [[models]]")
            models = (replace(models[0], upstreams=short.upstreams),)
        if short.profile:
            if len(models) != 1:
                raise ConfigError("`profile` is for one model; with several, give each its own under [[models]]")
            models = (replace(models[0], profile=short.profile),)
        if short.dialect:
            if len(models) != 1:
                raise ConfigError("`dialect` is for one model; with several, give each its own under [[models]]")
            models = (replace(models[0], options={**models[0].options, "dialect": short.dialect}),)
        if short.serve_with or short.serve_args:
            if len(models) != 1:
                raise ConfigError(
                    "`serve_with` is for one model; with several, give each its own under [[models]]"
                )
            backend = short.serve_with or models[0].serve_with
            args = short.serve_args or models[0].serve_args
            models = (replace(models[0], serve_with=backend, serve_args=args),)
        if found.get("keys_file"):
            found["keys"] = _joined(found.get("keys", self.keys), read_keys(found["keys_file"]))
        return replace(self, models=models, **found)._checked()

    def _checked(self) -> ServeConfig:
        for one in self.models:
            one.check()
        if self.redis and not self.redis.startswith(("redis://", "rediss://", "unix://")):
            raise ConfigError(f"`redis` is no address: '{self.redis}'; wanted redis://host:6379/0")
        for path in self.forward:
            if path not in OTHER_PATHS:
                raise ConfigError(f"cannot forward '{path}'{nearest(path, OTHER_PATHS)}")
        if self.forward and not any(m.serve_with or m.remote for m in self.models):
            raise ConfigError("`forward` needs a model server to forward to; the embedded engine has only chat")
        for origin in self.origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise ConfigError(
                    f"origin '{origin}' is not the address of a page; wanted https://host or https://host:port"
                )
        if self.otlp not in ("", "env") and not _COLLECTOR.fullmatch(self.otlp):
            raise ConfigError(
                f"otlp '{self.otlp}' is not the address of a collector; wanted http://host:4318, or env for the "
                f"one in OTEL_EXPORTER_OTLP_ENDPOINT"
            )
        if "*" in self.origins and not self.keys and not self.anyone:
            raise ConfigError(
                "origins = ['*'] lets every web page in and no key is set; name the pages, or set keys"
            )
        if (self.shadow or self.hold) and not self.watch:
            raise ConfigError("--shadow and --hold are shares of watched traffic; add --watch")
        if self.hold == 1 or self.shadow + self.hold > 1:
            raise ConfigError(
                f"shadow {self.shadow:g} and hold {self.hold:g} leave nothing to compare with; "
                f"to hold every request, leave out --watch"
            )
        if self.watch and not _loopback(self.host) and not self.anyone:
            raise ConfigError(
                f"host '{self.host}' is open to others, and with --watch the model server decides who may ask; "
                f"add --anyone if it checks keys of its own"
            )
        if not _loopback(self.host) and not self.keys and not self.anyone:
            raise ConfigError(
                f"host '{self.host}' is open to others and no key is set; make one with "
                f"`thinkcap serve --new-key NAME`, or add --anyone"
            )
        return self


def _joined(ours: Mapping[str, KeyConfig], more: Mapping[str, KeyConfig]) -> Mapping[str, KeyConfig]:
    for name in more:
        if name in ours:
            raise ConfigError(f"key '{name}' is in both the settings and `keys_file`; keep one of them")
    return {**ours, **more}


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
