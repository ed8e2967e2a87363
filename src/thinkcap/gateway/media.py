"""Addresses of images in a request are fetched by the model server, from where it stands: none may point inside.

check_media(call.messages, allowed=())            # a 400 for http://169.254.169.254/, file:///etc/passwd ...

A name that looks public may still lead inside; who must exclude that names the hosts (`media_hosts`).
"""

from __future__ import annotations

import ipaddress
import re
import socket
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from thinkcap.gateway.refusal import Refusal

_INNER = ("localhost", "local", "internal", "intranet", "lan", "home.arpa", "localdomain", "corp", "private")
_ODD = re.compile(r"[\s\\\x00-\x20\x7f]")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def check_media(messages: Sequence[Mapping[str, Any]], allowed: Sequence[str]) -> None:
    """Refuses the first address that a model server must not be sent to. `allowed`: hosts, with all below them."""
    for at, message in enumerate(messages):
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if isinstance(part, Mapping) and part.get("type") != "text":
                for url in _addresses(part):
                    _check(url, allowed, f"messages[{at}]")


def _addresses(part: Any, name: str = "") -> Iterator[str]:
    if isinstance(part, Mapping):
        for key, value in part.items():
            yield from _addresses(value, str(key))
    elif isinstance(part, list):
        for value in part:
            yield from _addresses(value, name)
    elif (
        isinstance(part, str) and not part.startswith("data:") and (name.endswith(("url", "uri")) or "://" in part)
    ):
        yield part


def _check(url: str, allowed: Sequence[str], where: str) -> None:
    host = "" if _ODD.search(url) else _host(url)
    if not host:
        raise _refused("wanted a data: URL or http(s)://host/...", where)
    if allowed:
        if not any(host == one.lower() or host.endswith("." + one.lower()) for one in allowed):
            raise _refused("the operator does not allow its host", where)
    elif _inside(host):
        raise _refused("it points inside the model server's network; send the image as a data: URL", where)


def _refused(why: str, where: str) -> Refusal:
    return Refusal(f"the address of an image is not passed on: {why}", code="media_address", param=where)


def _host(url: str) -> str:
    """Empty where it is no plain http(s) address."""
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or parts.username is not None or "%" in host:
        return ""
    # Full-width digits and dots are digits and dots to whoever resolves them.
    return unicodedata.normalize("NFKC", host).lower().rstrip(".")


def _inside(host: str) -> bool:
    address = _address(host)
    if address is not None:
        return not address.is_global or address.is_multicast
    return "." not in host or host.endswith(tuple("." + name for name in _INNER))


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is in any of the notations resolvers know; None for a name."""
    try:
        found = ipaddress.IPv6Address(host)
    except ValueError:
        try:
            # Takes 127.1, 0x7f.0.0.1 and 2130706433 too, as most programs do.
            return ipaddress.IPv4Address(socket.inet_aton(host))
        except (OSError, ValueError):
            return None
    within = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
    if found in _NAT64:
        within = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
    return within or found
