"""Who may use the gateway, until when, and how much: keys kept only as hashes, compared in constant time.

Keys are made here with 256 random bits, so a plain SHA-256 is enough: there is nothing to guess that a slow hash
would protect. The key itself is shown once and never stored.

    key, line = new_key("alice")         # give the key to Alice, put the line under [keys]
    Keys(keys_of({"alice": {"key": hashed(key), "expires": "2027-01-31"}})).holder(headers)
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any

from thinkcap.core.errors import ConfigError
from thinkcap.gateway.admission.quota import Holder, Limits
from thinkcap.gateway.refusal import Refusal
from thinkcap.settings import Read, inside, load, table_of

_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_WANTED = "sha256: and 64 hexadecimal digits, from `thinkcap serve --new-key NAME`"


def new_key(name: str) -> tuple[str, str]:
    key = "tc-" + secrets.token_urlsafe(32)
    return key, f'{name} = "{hashed(key)}"'


def hashed(key: str) -> str:
    return "sha256:" + hashlib.sha256(key.encode()).hexdigest()


def _hashes(value: Any) -> tuple[str, ...]:
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list | tuple) or not found:
        raise ConfigError(f"wanted {_WANTED}, or a list of such")
    for one in found:
        if not isinstance(one, str) or not _HASH.fullmatch(one):
            # The value is not repeated: it may be the key itself.
            raise ConfigError(f"is not a hash; wanted {_WANTED}")
    return tuple(found)


def _moment(value: Any) -> datetime:
    """A day lasts until its end, in UTC; a time without a zone is UTC too."""
    try:
        found = value if isinstance(value, date) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ConfigError(f"wanted a day such as 2027-01-31, or a time, saw {value!r}") from None
    day = not isinstance(found, datetime) or (isinstance(value, str) and len(value) == len("2027-01-31"))
    if day:
        return datetime.combine(found, time(), UTC) + timedelta(days=1)
    assert isinstance(found, datetime)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


@dataclass(frozen=True)
class KeyConfig:
    """One holder of a key, or of several while one takes another's place."""

    key: Annotated[tuple[str, ...], Read(_hashes, _WANTED)]
    expires: Annotated[datetime, Read(_moment, "a day or a time")] | None = None
    limits: Limits | None = None
    """Instead of those that hold for everybody."""


def keys_of(table: Any) -> Mapping[str, KeyConfig]:
    """The table `[keys]` of the settings, or a whole file of keys."""
    if not isinstance(table, Mapping):
        raise ConfigError('wanted a table, NAME = "sha256:..." for each key')
    found: dict[str, KeyConfig] = {}
    for name, value in table.items():
        with inside(f"key '{name}'"):
            if isinstance(value, KeyConfig):
                found[name] = value
            else:
                found[name] = load(KeyConfig, value if isinstance(value, Mapping) else {"key": value})
    return found


def read_keys(path: Path) -> Mapping[str, KeyConfig]:
    table = table_of(path, "the keys", 'wanted a TOML file with NAME = "sha256:..." for each key')
    with inside(f"'{path}'"):
        return keys_of(table)


class Keys:
    """Without any key everybody may ask, which is why the gateway then stays on the loopback."""

    def __init__(
        self,
        keys: Mapping[str, KeyConfig],
        limits: Limits | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`limits` hold for keys that have none of their own, and for everybody together where there is no key."""
        self._everybody = Holder("", limits or Limits())
        self._now = now
        self._hashes: list[bytes] = []
        self._holders: list[tuple[Holder, datetime | None]] = []
        for name, one in keys.items():
            holder = Holder(name, one.limits or limits or Limits())
            for value in one.key:
                self._hashes.append(bytes.fromhex(value.removeprefix("sha256:")))
                self._holders.append((holder, one.expires))

    def __bool__(self) -> bool:
        return bool(self._hashes)

    def check(self, headers: list[tuple[bytes, bytes]]) -> Holder:
        """Who asks; refused where a key is needed and missing, wrong or expired."""
        if not self._hashes:
            return self._everybody
        found = self._found(headers)
        if found is None:
            raise _refused("missing or wrong key; send Authorization: Bearer KEY", "invalid_api_key")
        holder, expires = found
        if expires is not None and self._now() >= expires:
            raise _refused(f"this key expired on {expires:%Y-%m-%d %H:%M} UTC; ask for another", "expired_api_key")
        return holder

    def name_of(self, headers: list[tuple[bytes, bytes]]) -> str:
        """What the key that was sent is called here; empty for no key or one that is not known."""
        found = self._found(headers)
        return found[0].name if found else ""

    def _found(self, headers: list[tuple[bytes, bytes]]) -> tuple[Holder, datetime | None] | None:
        sent = next((value for name, value in headers if name == b"authorization"), b"")
        if not sent:
            # Anthropic's clients send the key alone.
            sent = next((b"Bearer " + value for name, value in headers if name == b"x-api-key"), b"")
        scheme, _, key = sent.partition(b" ")
        mine = hashlib.sha256(key.strip()).digest()
        # Every hash is compared, so that the time says nothing about which one matched.
        found = [hmac.compare_digest(mine, one) for one in self._hashes]
        return self._holders[found.index(True)] if scheme.lower() == b"bearer" and any(found) else None


def _refused(words: str, code: str) -> Refusal:
    return Refusal(words, status=401, kind="authentication_error", code=code)
