"""How many tokens one answer may cost if its request sets no `max_tokens`.

It gets what the context leaves after the prompt, at most `default_max_tokens`, and never more than the operator or
the key's quota allows for one request. Before the prompt is counted, `bound_tokens` is the most that this can be.

    bound_tokens(None, config, limits, choices=2, context=32768)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thinkcap.gateway.admission.quota import Limits
from thinkcap.gateway.config import ServeConfig

_BYTES_PER_TOKEN = 3
"""Of UTF-8; English and code have four, Chinese three."""
_MEDIA = ("image_url", "input_audio", "file")
_MEDIA_TOKENS = 2048
_LEAST_TOKENS = 1024
"""A request whose prompt only seems to fill the context still gets this much."""


def bound_tokens(asked: int | None, config: ServeConfig, limits: Limits, choices: int, context: int) -> int:
    """Return the most tokens that one answer may cost; quotas reserve this many per choice."""
    if asked is not None:
        return asked
    most = min(config.default_max_tokens, context or config.default_max_tokens)
    allowed = min((config.tokens_limit, *limits.tokens))
    return max(1, min(most, allowed // choices))


def estimate_room(context: int, *prompt: Any) -> int:
    """Estimate what a context leaves where the prompt cannot be counted; the server has the last word."""
    left = context - -(-_count_bytes(prompt) // _BYTES_PER_TOKEN)
    return max(left, min(_LEAST_TOKENS, context // 4))


def _count_bytes(value: Any) -> int:
    if isinstance(value, str):
        return len(value.encode("utf-8", "replace"))
    if isinstance(value, Mapping):
        if value.get("type") in _MEDIA:
            return _MEDIA_TOKENS * _BYTES_PER_TOKEN
        return sum(_count_bytes(key) + _count_bytes(part) + 2 for key, part in value.items())
    if isinstance(value, Sequence):
        return sum(_count_bytes(part) + 2 for part in value)
    return 1
