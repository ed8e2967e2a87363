"""The servers of one model, as an operator names them: addresses, weights, keys.

    config = ServeConfig.from_mapping({"model": ["http://a:8000/v1#qwen", "http://b:8000/v1#qwen"]})
    config.models[0].upstreams                # two servers of one model
    fleet_of(config.models[0].upstreams)       # as the client calls them

What is under way at each, who is well and whose turn it is: `engines/fleet.py`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Meta

from thinkcap.core.errors import ConfigError
from thinkcap.engines.fleet import Fleet, Route, Upstream
from thinkcap.engines.retry import key_for
from thinkcap.gateway.call import Call
from thinkcap.settings import Text

_BYTES_A_TOKEN = 4


@dataclass(frozen=True)
class UpstreamConfig:
    """One server of a model that has several."""

    url: Text
    """http://host:port/v1"""
    weight: Annotated[float, Meta(ge=0.01, le=1000)] = 1.0
    """Its share of the work beside the others."""
    key_env: Text | None = None
    """The environment variable that holds its key, where it has one of its own."""


def check(upstreams: Sequence[UpstreamConfig]) -> None:
    parts = [_address(one.url) for one in upstreams]
    if len({part.path.rstrip("/") for part in parts}) > 1:
        raise ConfigError(
            "servers of one model must have one path, such as /v1; saw "
            + ", ".join(sorted({part.path or "/" for part in parts}))
        )
    if len({_origin(part) for part in parts}) < len(parts):
        raise ConfigError("a server is named twice; give it a larger `weight` instead")


def _address(url: str) -> SplitResult:
    wanted = "wanted http://host:port/v1"
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError as err:
        raise ConfigError(f"'{url}' is not an address ({err}); {wanted}") from err
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError(f"'{url}' is not an address; {wanted}")
    if parts.fragment:
        raise ConfigError(f"'{url}' names a model; `model` is the name for all servers, {wanted}")
    if parts.username or parts.password:
        raise ConfigError("an address holds a password; keys come from the environment, named by `key_env`")
    if parts.query:
        raise ConfigError(f"'{url}' has a query part; {wanted}")
    return parts


def _origin(parts: SplitResult) -> str:
    return f"{parts.scheme}://{parts.netloc}"


def fleet_of(upstreams: Sequence[UpstreamConfig]) -> Fleet:
    return Fleet([Upstream(_origin(_address(one.url)), one.weight, _key(one)) for one in upstreams])


def _key(one: UpstreamConfig) -> str | None:
    if one.key_env is None:
        return key_for(one.url)
    if not os.environ.get(one.key_env):
        raise ConfigError(f"the key of '{one.url}' should be in {one.key_env}, which is not set")
    return os.environ[one.key_env]


def listed_names(answer: Any) -> list[str]:
    """The models a server lists; none where it has no list that can be read."""
    entries = answer.get("data") if isinstance(answer, dict) else None
    found = [entry.get("id") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return [name for name in found if isinstance(name, str)]


def by_name(addresses: Sequence[str]) -> Mapping[str, list[str]]:
    """Addresses with the same name after `#` are servers of one model; all others stand for themselves."""
    found: dict[str, list[str]] = {}
    for address in addresses:
        base, _, name = address.partition("#")
        http = base.startswith(("http://", "https://"))
        found.setdefault(f"#{name}" if http and name else address, []).append(address)
    return {same[0]: same for same in found.values()}


def route_of(call: Call, cap: int) -> Route:
    """Where the calls of a request go: its conversation, and what one of them may cost in tokens."""
    return Route(conversation_of(call), call.size // _BYTES_A_TOKEN + cap)


def conversation_of(call: Call) -> bytes:
    """The same for all turns: what its client calls it, or how it begins, up to the first words of the user."""
    key: Any = call.bookkeeping.get("prompt_cache_key")
    if isinstance(key, str) and key:
        return key.encode("utf-8", "replace")
    roles = [message.get("role") for message in call.messages]
    first = roles.index("user") + 1 if "user" in roles else len(roles)
    return hashlib.blake2b(msgspec.json.encode(call.messages[:first]), digest_size=16).digest()
