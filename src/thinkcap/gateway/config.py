"""Everything an operator can set, from `serve.toml`, the command line, or both; nothing is taken from requests.

config = ServeConfig.from_mapping({"model": "bundled", "port": 8080})
"""

from __future__ import annotations

import ipaddress
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_args

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest
from thinkcap.gateway.auth import Keys
from thinkcap.gateway.call import ReasoningField

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

    model: str
    """`bundled`, a .gguf file, or http://host/v1#name."""
    name: str = ""
    """What clients call it; the model's own name where empty."""
    profile: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """For the engine: concurrency, context, nothink_by, transport ..."""


@dataclass(frozen=True)
class ServeConfig:
    models: tuple[ModelConfig, ...] = (ModelConfig("bundled"),)
    host: str = "127.0.0.1"
    port: int = 8080
    default_cap: int = 1024
    """Used where a request names none."""
    threshold: int = 256
    """Without a profile: no thinking for caps below it."""
    temperature: float = 0.0
    """Used where a request names none."""
    reasoning_field: ReasoningField = "upstream"
    keys: Mapping[str, str] = field(default_factory=dict)
    anyone: bool = False
    """Allow an address beyond the loopback without keys."""
    hosts: tuple[str, ...] = ()
    """Host names this gateway answers to. Empty: without keys the loopback's and `host`, otherwise any."""
    concurrency: int = 0
    """Calls to models at a time; 0: what the models advise. A request with n=5 or five samples counts as five."""
    queue: int = 1024
    calls_limit: int = 256
    """Calls one request may make, over all its choices."""
    tokens_limit: int = 2**20
    """Tokens one request may ask for: n times its cap."""
    body_limit_bytes: int = 4 * 2**20
    header_limit_bytes: int = 32 * 2**10
    arrival_timeout_s: float = 20.0
    """For a request's headers, then for its body, to arrive."""
    request_timeout_s: float = 600.0
    stall_timeout_s: float = 120.0
    """Longest silence of the model server inside an answer."""
    connect_timeout_s: float = 5.0
    attempts: int = 3
    """Upstream calls before the first byte, the first try included."""
    ping_s: float = 15.0
    """A stream that shows nothing for so long gets an SSE comment, so that no proxy cuts it off."""
    drain_s: float = 60.0
    """How long a shutdown waits for answers under way."""
    forward: tuple[str, ...] = ()
    forward_unknown: bool = False
    """Hand fields nobody here knows to the model server (chat transport only) instead of refusing them."""
    log_requests: bool = False
    """Write requests, each with its status and policy, to the log."""

    @classmethod
    def from_file(cls, path: Path) -> ServeConfig:
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as err:
            raise ConfigError(f"cannot read '{path}': {err.strerror}") from err
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
            raise ConfigError(f"'{path}' is not TOML: {err}") from err
        try:
            return cls.from_mapping(table)
        except ConfigError as err:
            raise ConfigError(f"'{path}': {err}") from err

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> ServeConfig:
        return cls().changed(table)

    def changed(self, table: Mapping[str, Any]) -> ServeConfig:
        """A copy with these settings; `model` is a name or a list of names, `models` a list of tables."""
        known = [f.name for f in fields(self)] + ["model", "profile", "dialect"]
        given = dict(table)
        for key in given:
            if key not in known:
                raise ConfigError(f"unknown setting '{key}'{nearest(key, known)}")
        plain = {name: _READERS[name](name, value) for name, value in given.items() if name in _READERS}
        models = self.models
        if "model" in given:
            words = (
                given["model"]
                if isinstance(given["model"], Sequence) and not isinstance(given["model"], str)
                else [given["model"]]
            )
            models = tuple(ModelConfig(_text("model", word)) for word in words)
        if "models" in given:
            models = _models(given["models"])
        if "profile" in given:
            if len(models) != 1:
                raise ConfigError("`profile` is for one model; with several, give each its own under [[models]]")
            models = (replace(models[0], profile=Path(_text("profile", given["profile"]))),)
        if "dialect" in given:
            if len(models) != 1:
                raise ConfigError("`dialect` is for one model; with several, give each its own under [[models]]")
            said = {**models[0].options, "dialect": _text("dialect", given["dialect"])}
            models = (replace(models[0], options=said),)
        return replace(self, models=models, **plain)._checked()

    def _checked(self) -> ServeConfig:
        Keys(self.keys)
        for path in self.forward:
            if path not in OTHER_PATHS:
                raise ConfigError(f"cannot forward '{path}'{nearest(path, OTHER_PATHS)}")
        if self.forward and not any(m.model.startswith("http") for m in self.models):
            raise ConfigError("`forward` needs a model server to forward to; the embedded engine has only chat")
        if not _loopback(self.host) and not self.keys and not self.anyone:
            raise ConfigError(
                f"host '{self.host}' is open to others and no key is set; make one with "
                f"`thinkcap serve --new-key NAME`, or say --anyone"
            )
        return self


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _models(value: Any) -> tuple[ModelConfig, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise ConfigError("`models` must be a list of tables, each with a `model`")
    found = []
    for entry in value:
        if not isinstance(entry, Mapping) or "model" not in entry:
            raise ConfigError(f"[[models]] needs a `model`, saw {entry!r}")
        known = ("model", "name", "profile", "options")
        for key in entry:
            if key not in known:
                raise ConfigError(f"unknown setting '{key}' in [[models]]{nearest(key, known)}")
        options = entry.get("options", {})
        if not isinstance(options, Mapping):
            raise ConfigError(f"options of a model must be a table, saw {options!r}")
        profile = Path(_text("profile", entry["profile"])) if "profile" in entry else None
        found.append(ModelConfig(_text("model", entry["model"]), str(entry.get("name", "")), profile, options))
    return tuple(found)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"setting '{name}' must be a text, saw {value!r}")
    return value


def _whole(low: int, high: int = 2**31 - 1) -> Any:
    def read(name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ConfigError(f"setting '{name}' must be a whole number from {low} to {high}, saw {value!r}")
        return value

    return read


def _number(low: float, high: float = 1e9) -> Any:
    def read(name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise ConfigError(f"setting '{name}' must be a number from {low:g} to {high:g}, saw {value!r}")
        return float(value)

    return read


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"setting '{name}' must be true or false, saw {value!r}")
    return value


def _keys(name: str, value: Any) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"[keys] must be a table of names and hashes, saw {value!r}")
    return dict(value)


def _words(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(v, str) for v in value):
        raise ConfigError(f"setting '{name}' must be a list of texts, saw {value!r}")
    return tuple(value)


def _field(name: str, value: Any) -> str:
    if value not in get_args(ReasoningField):
        raise ConfigError(f"setting '{name}' is {value!r}{nearest(str(value), get_args(ReasoningField))}")
    return str(value)


_READERS: Mapping[str, Any] = {
    "host": _text,
    "port": _whole(0, 65535),
    "default_cap": _whole(1),
    "threshold": _whole(1),
    "temperature": _number(0, 2),
    "reasoning_field": _field,
    "keys": _keys,
    "anyone": _flag,
    "hosts": _words,
    "concurrency": _whole(0),
    "queue": _whole(0),
    "calls_limit": _whole(1),
    "tokens_limit": _whole(1),
    "body_limit_bytes": _whole(1024),
    "header_limit_bytes": _whole(1024),
    "arrival_timeout_s": _number(0.1),
    "request_timeout_s": _number(0.1),
    "stall_timeout_s": _number(0.1),
    "connect_timeout_s": _number(0.1),
    "attempts": _whole(1, 20),
    "ping_s": _number(0.1),
    "drain_s": _number(0),
    "forward": _words,
    "forward_unknown": _flag,
    "log_requests": _flag,
}
