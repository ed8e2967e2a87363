"""Who may use the gateway: keys kept only as hashes, compared in constant time.

Keys are made here with 256 random bits, so a plain SHA-256 is enough: there is nothing to guess that a slow hash
would protect. The key itself is shown once and never stored.

    key, line = new_key("alice")         # give the key to Alice, put the line under [keys]
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping

from thinkcap.core.errors import ConfigError
from thinkcap.gateway.refusal import Refusal

_HASH = re.compile(r"sha256:[0-9a-f]{64}")


def new_key(name: str) -> tuple[str, str]:
    key = "tc-" + secrets.token_urlsafe(32)
    return key, f'{name} = "{hashed(key)}"'


def hashed(key: str) -> str:
    return "sha256:" + hashlib.sha256(key.encode()).hexdigest()


class Keys:
    """Without any key everybody may ask, which is why the gateway then stays on the loopback."""

    def __init__(self, hashes: Mapping[str, str]) -> None:
        for name, value in hashes.items():
            if not isinstance(value, str) or not _HASH.fullmatch(value):
                raise ConfigError(
                    f"key '{name}' is not a hash; wanted sha256: and 64 hexadecimal digits; "
                    f"make one with `thinkcap serve --new-key {name}`"
                )
        self._hashes = [value.removeprefix("sha256:").encode() for value in hashes.values()]
        self._names = list(hashes)

    def __bool__(self) -> bool:
        return bool(self._hashes)

    def check(self, headers: list[tuple[bytes, bytes]]) -> str:
        """The name of the key that was sent; a refusal where a key is wanted and none of ours came."""
        name = self.name_of(headers) if self._hashes else ""
        if self._hashes and not name:
            raise Refusal(
                "no key or a wrong one; send Authorization: Bearer KEY",
                status=401,
                kind="authentication_error",
                code="invalid_api_key",
            )
        return name

    def name_of(self, headers: list[tuple[bytes, bytes]]) -> str:
        """What the key that was sent is called here; empty for no key or one that is not known."""
        sent = next((value for name, value in headers if name == b"authorization"), b"")
        if not sent:
            # Anthropic's clients send the key alone.
            sent = next((b"Bearer " + value for name, value in headers if name == b"x-api-key"), b"")
        scheme, _, key = sent.partition(b" ")
        mine = hashlib.sha256(key.strip()).hexdigest().encode()
        # Every hash is compared, so that the time says nothing about which one matched.
        found = [hmac.compare_digest(mine, one) for one in self._hashes]
        return self._names[found.index(True)] if scheme.lower() == b"bearer" and any(found) else ""
