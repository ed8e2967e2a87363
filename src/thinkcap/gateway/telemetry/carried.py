"""What is handed on of a client's headers: the id it gave its request, and the trace it belongs to.

carried(scope)        # {"x-request-id": "order-66", "traceparent": "00-0af7...-01"}
"""

from __future__ import annotations

import re

from starlette.types import Scope

_ID = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,127}")
_PARENT = re.compile(rb"(?!ff)[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_STATE = re.compile(rb"[\x20-\x7e]{1,512}")
_PASSED_ON = {b"x-request-id": _ID, b"traceparent": _PARENT, b"tracestate": _STATE}
"""What is handed on of a client's headers, and what each must look like; anything else counts as not sent."""


def carried(scope: Scope) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        wanted = _PASSED_ON.get(name)
        if wanted is not None and wanted.fullmatch(value):
            found[name.decode()] = value.decode()
    if "traceparent" not in found:
        found.pop("tracestate", None)
    return found
