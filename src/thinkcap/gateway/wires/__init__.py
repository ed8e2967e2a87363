"""The formats clients speak, one file each. A wire reads bytes into a Call and writes answers and errors; which
policy answers, what it may cost and how it is driven is the same for all of them.

    wire = WIRES["/v1/chat/completions"]
    call = wire.read(body, forward_unknown=False)
    wire.encoder(call, fields=("reasoning_content",)).whole(done, about)
"""

from collections.abc import Mapping

from thinkcap.gateway.replies import Wire
from thinkcap.gateway.wires import chat, messages, responses

WIRES: Mapping[str, Wire] = {
    chat.PATH: chat.WIRE,
    responses.PATH: responses.WIRE,
    messages.PATH: messages.WIRE,
}
_ROOT = "/v1"
_BARE = frozenset(("/completions", "/embeddings", "/models", f"{messages.PATH}/count_tokens".removeprefix(_ROOT)))


def canonical(path: str) -> str:
    """The path as it is known here, for base URLs with `/v1`, without it, and with it twice."""
    if path in WIRES:
        return path
    bare = path
    while bare.startswith(_ROOT + "/"):
        bare = bare[len(_ROOT) :]
    known = bare in _BARE or _ROOT + bare in WIRES or bare.startswith("/models/")
    return _ROOT + bare if known else path


__all__ = ["WIRES", "Wire", "canonical"]
