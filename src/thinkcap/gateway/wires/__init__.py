"""The formats clients speak, one file each. A wire reads bytes into a Call and writes answers and errors; which
policy answers, what it may cost and how it is driven is the same for all of them.

    wire = WIRES["/v1/chat/completions"]
    call = wire.read(body, forward_unknown=False)
    wire.encoder(call.model, fields=("reasoning_content",)).whole(done, about)
"""

from collections.abc import Mapping

from thinkcap.gateway.replies import Wire
from thinkcap.gateway.wires import chat

WIRES: Mapping[str, Wire] = {chat.PATH: chat.WIRE}

__all__ = ["WIRES", "Wire"]
